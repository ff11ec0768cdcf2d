"""The command line as a user runs it: in a process of its own, or in this one, which spares a start of Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ticdc_emit.cli.main import main

__all__ = ["command", "exit_code"]

_ROOT = Path(__file__).parents[1]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``ticdc-emit`` from the root of the repository and return its end and what it has printed."""
    program = [sys.executable, "-m", "ticdc_emit", *arguments]
    return subprocess.run(program, capture_output=True, text=True, cwd=_ROOT, timeout=240)


def exit_code(*arguments: str) -> int | str | None:
    """Run ``ticdc-emit`` here and return how it ends."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return end.value.code
