"""The command line: ``metatok``, or ``python -m metatok``."""

from __future__ import annotations

import os
import signal
import sys

from metatok import _metatok


def run() -> int:
    """Runs the command line with the arguments of the process, and returns its exit code."""
    # Python would only notice Ctrl-C when the program is done. Whoever started it may have it ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    for descriptor in range(3):
        # What is opened next would be taken for a closed standard input or output.
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    return _metatok.main(["metatok", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(run())
