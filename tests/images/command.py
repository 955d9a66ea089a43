"""Running a program and explaining its failure."""

import shutil
import subprocess

from progress import Failure

LAST_LINES = 20
"""Lines of a failed program's output that are shown: the reason is at the end."""


def run(*words, **options):
    """Runs `words` and returns what it printed. Not found or failed: a Failure with the end of its output."""
    words = [str(word) for word in words]
    if shutil.which(words[0]) is None:
        raise Failure(f"{words[0]} is not installed: run tests/setup.sh")
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        end = "\n".join(done.stdout.splitlines()[-LAST_LINES:])
        raise Failure(f"{' '.join(words)} failed with {done.returncode}:\n{end}")
    return done.stdout
