"""Progress of rows: a bar on a terminal, one line elsewhere."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from rich.console import Console

from ticdc_emit.cli import console as module
from ticdc_emit.spark.worker import SETTING, count_rows


class _Session:
    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.conf = self

    def set(self, name: str, value: str) -> None:
        self.settings[name] = value

    def unset(self, name: str) -> None:
        del self.settings[name]


def test_a_terminal_shows_rows_and_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(module, "Console", lambda **_: Console(file=screen, force_terminal=True, width=120))
    monkeypatch.setattr(module, "_EVERY_S", 0.01)
    session = _Session()
    with module.row_progress("sending", session, 20):  # type: ignore[arg-type]
        batches = (pa.record_batch({"n": list(range(size))}) for size in (12, 30))
        for _ in count_rows(batches, session.settings[SETTING]):
            pass
        while "20 of 20 rows encoded" not in screen.getvalue():
            pass
    assert session.settings == {}
    assert "rows/s" in screen.getvalue()


def test_elsewhere_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    session = _Session()
    with module.row_progress("sending", session, 20):  # type: ignore[arg-type]
        assert session.settings == {}
    assert capsys.readouterr().err.startswith("sending: ")
