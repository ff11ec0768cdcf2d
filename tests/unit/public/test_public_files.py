"""Files as people have them: dumps of Dumpling and mysqldump, set-up scripts, schemas with changes among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ticdc_emit import Encoder, History, catalog_from_sql

INPUTS = Path(__file__).parent / "inputs"


def text_of(name: str) -> str:
    (path,) = INPUTS.glob(f"{name}-*.sql")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "rows", "statements"),
    [
        ("01", {("1",): {"id": "1", "name": "anna"}, ("2",): {"id": "2", "name": "Zürich"}}, 1),
        ("02", {("1",): {"id": "1", "name": "anna"}}, 1),
        ("03", {("1",): {"id": "1"}}, 1),
        ("04", {("1",): {"id": "1", "seen": "2024-03-01 18:00:00"}}, 1),
        ("07", {("1",): {"id": "1"}}, 2),
    ],
)
def test_a_file_runs_as_a_change_script_and_is_read_as_a_schema(
    name: str, rows: dict[Any, Any], statements: int
) -> None:
    history = History.from_sql(text_of(name), time_zone="Asia/Shanghai")
    assert list(history.tables().values()) == [rows]
    assert len(history.ddl) == statements
    (table,) = catalog_from_sql(text_of(name), time_zone="Asia/Shanghai").tables()
    assert table.name == "boats"


def test_messages_show_the_timestamps_of_a_dump_in_the_time_zone_of_the_changefeed() -> None:
    encoder = Encoder("kafka://unused/boats?protocol=canal-json", time_zone="Asia/Shanghai")
    messages = encoder.execute(text_of("04")).to_pylist()
    assert b'"seen":"2024-03-01 18:00:00"' in messages[-1]["value"]


def test_a_schema_file_may_change_rows() -> None:
    encoder = Encoder("kafka://unused/boats?protocol=canal-json", text_of("22"))
    assert [table.name for table in encoder.catalog.tables()] == ["boats", "trips"]
