"""The command line as a user runs it: in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["command"]

_ROOT = Path(__file__).parents[1]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``ticdc-emit`` from the root of the repository and return its end and what it has printed."""
    program = [sys.executable, "-m", "ticdc_emit", *arguments]
    return subprocess.run(program, capture_output=True, text=True, cwd=_ROOT, timeout=240)
