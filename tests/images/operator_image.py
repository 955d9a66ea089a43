"""The operator's image for tests and the demo: one static binary and the plugin components, nothing else.

In: the binary and a folder with *.wasm files. Out: the file tree of the image.
"""

import shutil
import struct
from pathlib import Path

import store
from progress import Failure, step

HERE = Path(__file__).parent

ELF_INTERPRETER = 3
"""Program header type PT_INTERP: present in a program that needs a loader and shared libraries."""


def place(binary, plugins):
    components = components_of(plugins)
    named = [part for file in components for part in (file.name, file)]
    return store.folder("operator", [HERE / "operator_image.py", binary, *named])


def make_tree(binary, plugins, target):
    """/coxswain, /plugins/*.wasm, and /opt/mpi-operator for manifests that name the MPI Operator's binary."""
    check_static(binary)
    with step(f"operator: {binary.name} and {len(components_of(plugins))} plugins"):
        (target / "plugins").mkdir(parents=True)
        (target / "opt").mkdir()
        shutil.copyfile(binary, target / "coxswain")
        (target / "coxswain").chmod(0o755)
        (target / "opt/mpi-operator").symlink_to("/coxswain")
        for component in components_of(plugins):
            shutil.copyfile(component, target / "plugins" / component.name)
            (target / "plugins" / component.name).chmod(0o644)


def components_of(plugins):
    components = sorted(Path(plugins).glob("*.wasm"))
    if not components:
        raise Failure(f"{plugins} holds no *.wasm: build the plugins first")
    return components


def check_static(binary):
    """The image has no loader: a dynamically linked binary would fail there with `no such file or directory`."""
    content = binary.read_bytes()
    if content[:5] != b"\x7fELF\x02":
        raise Failure(f"{binary} is not a 64-bit Linux program")
    offset, = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    kinds = [struct.unpack_from("<I", content, offset + index * size)[0] for index in range(count)]
    if ELF_INTERPRETER in kinds:
        raise Failure(f"{binary} is dynamically linked: build it with RUSTFLAGS='-C target-feature=+crt-static'")
