"""Cutting programs out of a file tree: files with every shared library they load.

In: a source tree, a destination tree, paths. Out: the paths in the destination, with the links on the way to them
and, for programs and libraries, what the source tree's own loader says they need.
"""

import os
import shutil
import subprocess
from pathlib import Path

ELF = b"\x7fELF"


class Cut:
    """Copies from the tree `source` to the tree `target`. Both are folders; paths are absolute inside the trees."""

    def __init__(self, source, target):
        self.source, self.target, self.done = Path(source), Path(target), set()

    def take(self, path):
        """Copies a file, link or folder, and all that it needs. A path taken before is left alone."""
        path = self.in_real_folder(path)
        if path in self.done:
            return
        self.done.add(path)
        here, there = self.at(self.source, path), self.at(self.target, path)
        there.parent.mkdir(parents=True, exist_ok=True)
        if here.is_symlink():
            self.link(path, os.readlink(here))
        elif here.is_dir():
            there.mkdir(exist_ok=True)
            for name in sorted(os.listdir(here)):
                self.take(os.path.join(path, name))
        else:
            shutil.copy2(here, there)
            for library in self.libraries(path):
                self.take(library)

    def in_real_folder(self, path):
        """`path` with the links among its folders resolved inside the tree, each of which is copied as a link."""
        real = "/"
        for name in Path(path).parts[1:-1]:
            real = os.path.join(real, name)
            here = self.at(self.source, real)
            if here.is_symlink():
                link = os.readlink(here)
                self.at(self.target, real).parent.mkdir(parents=True, exist_ok=True)
                if not self.at(self.target, real).is_symlink():
                    self.at(self.target, real).symlink_to(link)
                real = os.path.normpath(os.path.join(os.path.dirname(real), link))
        return os.path.join(real, os.path.basename(path))

    def link(self, path, to):
        there = self.at(self.target, path)
        if not there.is_symlink():
            there.symlink_to(to)
        self.take(os.path.normpath(os.path.join(os.path.dirname(path), to)))

    def libraries(self, path):
        """Absolute paths that the loader names for a program or library; none for other files."""
        with open(self.at(self.source, path), "rb") as file:
            if file.read(len(ELF)) != ELF:
                return []
        # ldd fails on what is statically linked: that needs nothing.
        told = subprocess.run(["chroot", self.source, "ldd", path], capture_output=True, text=True).stdout
        return [word for word in told.split() if word.startswith("/") and self.at(self.source, word).exists()]

    @staticmethod
    def at(tree, path):
        return tree / path.lstrip("/")
