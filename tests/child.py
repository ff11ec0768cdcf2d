"""The command line as a user runs it: in a process of its own, or in this one, which spares a start of Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ticdc_emit.cli.main import main

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


class Shown(NamedTuple):
    """What a command has printed."""

    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def objects(self) -> list[Any]:
        """The JSON of each line."""
        return [json.loads(line) for line in self.out.splitlines()]


class Cli:
    """Runs a command, checks its exit code, and returns what it has printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object, code: int = 0) -> Shown:
        self._capsys.readouterr()
        ended = exit_code(*map(str, arguments))
        shown = Shown(*self._capsys.readouterr())
        assert ended == code, shown
        return shown
