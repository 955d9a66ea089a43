"""The cache of what was built: one folder for each product, named by a hash over everything that went into it.

In: a product's name, its inputs (files, bytes, text) and a function that makes it. Out: the folder that holds it.
A folder that exists is complete: it is made under another name beside its place and renamed. The same inputs give the
same folder, so every checkout on a machine shares it and nothing is ever stale.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
from pathlib import Path

DIGEST_LETTERS = 16
"""Letters of the sha256 that name a folder: 64 bits, plenty for a handful of products."""


def cache_folder():
    """COXSWAIN_CACHE, else XDG_CACHE_HOME/coxswain, else ~/.cache/coxswain, as the rest of the tests have it."""
    own = os.environ.get("COXSWAIN_CACHE")
    if own:
        return Path(own).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "coxswain"


KEPT = 3
"""Folders of one product that stay: for this checkout, another one, and the one before. An operator's is 30 MB."""


def folder(name, inputs):
    """Where the product `name` made of `inputs` is, or will be. An input is a Path (its content counts) or text."""
    digest = hashlib.sha256()
    for part in inputs:
        content = part.read_bytes() if isinstance(part, Path) else str(part).encode()
        digest.update(len(content).to_bytes(8, "big"))
        digest.update(content)
    return cache_folder() / "images" / f"{name}-{digest.hexdigest()[:DIGEST_LETTERS]}"


def made(place, make):
    """`place`, after `make(unfinished_folder)` where it does not exist yet. Two builds of one product take turns."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        return place
    with locked(place.with_name(place.name + ".lock")):
        if place.exists():
            return place
        unfinished = place.with_name(place.name + ".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        try:
            make(unfinished)
            unfinished.rename(place)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return place


def forget_old(name):
    """Removes all but the KEPT youngest folders of a product. What was made just now is the youngest."""
    digest = "[0-9a-f]" * DIGEST_LETTERS
    folders = sorted((cache_folder() / "images").glob(f"{name}-{digest}"), key=lambda one: one.stat().st_mtime)
    for old in folders[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
        old.with_name(old.name + ".lock").unlink(missing_ok=True)


@contextlib.contextmanager
def locked(path):
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
