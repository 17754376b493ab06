"""The command-line program ``pcr99``, run in this process."""

from __future__ import annotations

import signal
import sys

from . import _core
from ._batch import PROGRAM


def main() -> int:
    """Runs the program with the arguments of this process and returns its exit status."""
    # The program handles Ctrl-C itself; until then, Ctrl-C ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.main(["pcr99", *sys.argv[1:]], PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
