"""The entry point of ``ticdc-emit``: run the commands, turn what goes wrong into one readable line and an exit code.

Exit codes: 0 done, 1 a check found a difference, 2 wrong usage, configuration or data, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from ticdc_emit.errors import MissingDependencyError, TicdcEmitError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit; ``arguments`` default to the process's own."""
    try:
        from ticdc_emit.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        _fail(str(MissingDependencyError("the command line needs typer and rich", extra="cli")))
    try:
        app(args=arguments, prog_name="ticdc-emit")
    except TicdcEmitError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader of a pipe has gone; the interpreter must not complain about it once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _fail(text: str) -> NoReturn:
    print(f"ticdc-emit: error: {text}", file=sys.stderr)
    sys.exit(2)
