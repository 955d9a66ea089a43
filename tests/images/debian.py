"""A folder with the files of Debian packages, as the source that the images' base is cut from.

In: package names. Out: a file tree with those packages and all they depend on, unpacked and not configured: no
maintainer script runs, as only files are taken from it. Half the time of a full debootstrap, and no device nodes.
"""

import os
import shutil
import subprocess
from pathlib import Path

from command import run
from progress import Failure

SUITE = "bookworm"
"""Debian 12: its glibc 2.36 is older than that of the distributions the programs are compiled on, or equal."""

PUBLIC_MIRROR = "http://deb.debian.org/debian"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

MERGED = ("bin", "sbin", "lib", "lib64")
"""Folders that are links into /usr on every Debian since 12 (usrmerge)."""


def packages_unpacked(packages, work):
    """Fetches `packages` with their dependencies and unpacks them; returns the tree, a folder inside `work`."""
    root, fetched = work / "root", work / "fetched"
    for mirror in mirrors():
        shutil.rmtree(fetched, ignore_errors=True)
        try:
            run("debootstrap", "--download-only", "--variant=minbase", f"--include={','.join(packages)}",
                *([f"--keyring={KEYRING}"] if KEYRING.exists() else []), SUITE, fetched, mirror)
            break
        except Failure as why:
            failure = why
    else:
        raise failure
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in sorted((fetched / "var/cache/apt/archives").glob("*.deb")):
        unpack(package, root)
    shutil.rmtree(fetched)
    return root


def unpack(package, root):
    """tar and not `dpkg-deb --extract`, which would put a folder where the link `/lib` is."""
    content = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
    run("tar", "-C", root, "--keep-directory-symlink", "-xf", "-", stdin=content.stdout)
    content.stdout.close()
    if content.wait() != 0:
        raise Failure(f"{package.name} cannot be unpacked")


def mirrors():
    """Mirrors to try in order: the one this machine's apt uses for Debian itself, then the public one."""
    own = [uri for uri in apt_uris() if uri.rstrip("/").endswith("/debian")]
    return list(dict.fromkeys([*own[:1], PUBLIC_MIRROR]))


def apt_uris():
    """The addresses in apt's sources, both formats, in file order; only http(s), which debootstrap can fetch."""
    folder = Path("/etc/apt/sources.list.d")
    files = [Path("/etc/apt/sources.list"), *sorted(folder.glob("*.list")), *sorted(folder.glob("*.sources"))]
    for file in files:
        if not file.exists() or not os.access(file, os.R_OK):
            continue
        for line in file.read_text().splitlines():
            words = line.split()
            if words and words[0] in ("deb", "URIs:"):
                yield from (word for word in words[1:] if word.startswith(("http://", "https://")))
