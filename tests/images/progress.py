"""What a person sees while images are built: one line a step, with the seconds it took. Goes to standard error, so
that standard output holds results alone."""

import contextlib
import sys
import time


class Failure(Exception):
    """Something a person can act on: said without a stack trace."""


def say(text):
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def step(text):
    """Names the step when it begins, as it may take a while, and says how long it took when it ends."""
    start = time.monotonic()
    print(f"images: {text} ... ", end="", file=sys.stderr, flush=True)
    try:
        yield
    except BaseException:
        say("failed")
        raise
    say(f"{time.monotonic() - start:.1f} s")
