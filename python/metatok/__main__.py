"""The command line: ``metatok``, or ``python -m metatok``."""

from __future__ import annotations

import signal
import sys

from metatok import _metatok


def run() -> int:
    """Runs the command line with the arguments of the process, and returns its exit code."""
    # Python would only notice Ctrl-C when the program is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _metatok.main(["metatok", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(run())
