"""Packing a file tree as a docker-archive, with the bed's own image writer.

In: the image's name, its tree and its settings. Out: a tar that `bed load`, `ctr images import` and `docker load` take.
"""

import json
import os
import shutil
from pathlib import Path

from command import run
from progress import Failure, step

REPOSITORY = Path(__file__).absolute().parent.parent.parent

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def bed():
    """The bed's program: COXSWAIN_BED, else where the Makefile builds it, else the one on PATH."""
    for found in (os.environ.get("COXSWAIN_BED"), REPOSITORY / "target/bed/bin/bed", shutil.which("bed")):
        if found and os.access(found, os.X_OK):
            return Path(found)
    raise Failure("target/bed/bin/bed is missing, which packs images: run `make bed` first")


def pack_mpi(name, tree, out):
    pack(name, tree, out, "--workdir", "/home/mpiuser", "--env", f"PATH={PATH}")


def pack_operator(name, tree, out):
    """User 65532 as usual for images without a user database: the pod may demand runAsNonRoot."""
    pack(name, tree, out, "--user", "65532:65532", "--entrypoint", json.dumps(["/coxswain"]))


def pack_mpi_operator(name, tree, out):
    pack(name, tree, out, "--entrypoint", json.dumps(["/opt/mpi-operator"]))


def pack(name, tree, out, *settings):
    with step(f"{out.stem}: packing as {name}"):
        run(bed(), "image", "--name", name, "--root", tree, "--out", out, *settings)
