"""Rows are counted where they are read, and shown against their number."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

from ticdc_emit.cli import console as module
from ticdc_emit.spark.worker import SETTING, count_rows, total_rows


def _batches(*sizes: int) -> list[pa.RecordBatch]:
    return [pa.record_batch({"n": list(range(size))}) for size in sizes]


def test_rows_are_noted_behind_each_batch(tmp_path: Path) -> None:
    batches = _batches(3, 4)
    reading = count_rows(iter(batches), str(tmp_path))
    assert next(reading) is batches[0]
    assert total_rows(tmp_path) == 0
    assert next(reading) is batches[1]
    assert total_rows(tmp_path) == 3
    assert list(reading) == []
    (tmp_path / "another process").write_text("5\n")
    assert total_rows(tmp_path) == 12
    assert list(count_rows(iter(batches), None)) == batches


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
        for batch in count_rows(iter(_batches(12, 30)), session.settings[SETTING]):
            del batch
        while "20 of 20 rows encoded" not in screen.getvalue():
            pass
    assert session.settings == {}
    assert "rows/s" in screen.getvalue()


def test_elsewhere_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    session = _Session()
    with module.row_progress("sending", session, 20):  # type: ignore[arg-type]
        assert session.settings == {}
    assert capsys.readouterr().err.startswith("sending: ")
