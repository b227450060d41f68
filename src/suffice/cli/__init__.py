"""The command line: fit, predict, inspect, and the algebra of models, from files to files."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program's name; by default what the process was started with.

    Notes
    -----
    The exit codes: 0 done, 1 a fault of the program, 2 bad input, 130 interrupted, 141 nobody
    reads the output any more.
    """
    try:
        # Imported here: even while Python imports, Ctrl-C gets one line and no traceback.
        from suffice.cli.running import run

        code = run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        code = 130
    sys.exit(code)


def program() -> NoReturn:
    """Run the command that this process was started for.

    The process ends at once: after an error in a file, one of Arrow's threads may still be
    reading ahead, and Python would abort if it were taken down under that thread.
    """
    code = 1
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
