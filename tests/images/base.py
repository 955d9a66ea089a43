"""What all MPI images have in common: ssh both ways, a shell and the tools of a shell script, and user 1000.

In: nothing but Debian packages. Out: a folder with the base's file tree, 26 MB.
"""

import os
from pathlib import Path

import debian
import store
from closure import Cut
from command import run
from progress import step

HERE = Path(__file__).parent

PACKAGES = ["openssh-server", "openssh-client", "procps", "libstdc++6"]

PROGRAMS = """sh bash env cat ls cp mv rm mkdir chmod chown ln echo printf test true false sleep date hostname getent
ssh ssh-keygen cut head tail wc sort uniq tr seq id whoami uname dirname basename readlink touch kill ps grep sed mawk
expr tee timeout nproc stat mktemp""".split()

SYSTEM_FILES = ["/usr/sbin/sshd", "/usr/sbin/ldconfig", "/usr/lib/openssh/sftp-server", "/etc/ld.so.conf",
                "/etc/ld.so.conf.d"]

LIBRARIES = ["libnss_files.so.2", "libnss_dns.so.2", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libm.so.6",
             "libutil.so.1", "libz.so.1", "libstdc++.so.6", "libgcc_s.so.1"]
"""Libraries that no program above loads, but the name service and the MPI wheels do."""

USER = 1000

# Without PAM sshd takes `!` in shadow for a locked account and refuses its key; `*` is only "no password".
# Port 2222 needs no capability. The name service reads files first, as the kubelet writes /etc/hosts.
# StrictModes no: the key is a mounted Secret, whose folder belongs to root.
TEXTS = {
    "etc/passwd": """root:x:0:0:root:/root:/bin/bash
sshd:x:100:65534::/run/sshd:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
mpiuser:x:1000:1000::/home/mpiuser:/bin/bash
""",
    "etc/group": "root:x:0:\nmpiuser:x:1000:\nnogroup:x:65534:\n",
    "etc/shadow": "root:*:19000:0:99999:7:::\nsshd:*:19000::::::\nmpiuser:*:19000:0:99999:7:::\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n",
    "etc/ssh/ssh_config": """Host *
    Port 2222
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
""",
    "etc/ssh/sshd_config": """Port 2222
StrictModes no
UsePAM no
PidFile /run/sshd.pid
Subsystem sftp /usr/lib/openssh/sftp-server
""",
    "home/mpiuser/.sshd_config": """Port 2222
StrictModes no
PidFile /home/mpiuser/sshd.pid
HostKey /home/mpiuser/.ssh/id_rsa
""",
}

EMPTY_FOLDERS = ["tmp", "run/sshd", "proc", "sys", "dev", "root/.ssh", "home/mpiuser/.ssh", "var/tmp", "usr/local/bin"]


def inputs():
    """What the base depends on: a change of any of it makes a new one."""
    return [HERE / "base.py", HERE / "closure.py", HERE / "debian.py"]


def tree():
    """The folder with the base's file tree, built where the cache has none."""
    place = store.made(store.folder("base", inputs()), make)
    store.forget_old("base")
    return place / "tree"


def make(folder):
    with step("base: fetching openssh and a shell as Debian packages"):
        source = debian.packages_unpacked(PACKAGES, folder)
    with step("base: cutting out what the images need"):
        target = folder / "tree"
        target.mkdir()
        cut(source, target)
        configure(target)
        run("rm", "-rf", source)


def cut(source, target):
    taken = Cut(source, target)
    for program in PROGRAMS:
        taken.take(f"/usr/bin/{program}" if (source / "usr/bin" / program).exists() else f"/bin/{program}")
    for path in SYSTEM_FILES:
        taken.take(path)
    for library in LIBRARIES:
        found = next((source / "usr/lib").glob(f"*-linux-gnu*/{library}"))
        taken.take("/" + str(found.relative_to(source)))


def configure(target):
    for name in EMPTY_FOLDERS:
        (target / name).mkdir(parents=True, exist_ok=True)
    for name, text in TEXTS.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text)
    for name in debian.MERGED:
        if not (target / name).is_symlink():
            (target / name).symlink_to(f"usr/{name}")
    (target / "var/run").symlink_to("../run")
    (target / "usr/bin/awk").symlink_to("mawk")
    (target / "etc/shadow").chmod(0o640)
    for folder, mode in {"tmp": 0o1777, "var/tmp": 0o1777, "root": 0o700, "root/.ssh": 0o700}.items():
        (target / folder).chmod(mode)
    for kind in ("rsa", "ecdsa", "ed25519"):
        run("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "sshd", "-f", target / f"etc/ssh/ssh_host_{kind}_key")
    for folder, names, files in os.walk(target / "home/mpiuser"):
        for path in [folder, *(os.path.join(folder, name) for name in names + files)]:
            os.chown(path, USER, USER)
