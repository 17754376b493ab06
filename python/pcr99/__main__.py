"""The program ``pcr99``, in this process."""

from __future__ import annotations

import signal
import sys

from . import _core


def main() -> int:
    """Runs the program with the arguments of this process, and returns its exit status."""
    # The program sees to Ctrl-C itself, and before there is work to stop it simply ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.main(["pcr99", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
