"""The command line in this process."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from child import exit_code


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


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)
