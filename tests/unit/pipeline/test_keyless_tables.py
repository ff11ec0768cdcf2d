"""Tables without a handle key, which TiCDC replicates with ``force-replicate`` only."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.errors import SchemaError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.plan.table_plans import KeylessTableWarning
from ticdc_emit.pipeline.run import Changefeed

TS = 450_000_000_262_144_000
URI = "memory://keyless?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
KEYLESS = "create table s.log (a int, b int)"
KEYED = "create table s.t (id int primary key)"
IMAGE = pa.map_(pa.string(), pa.string())

_WITHOUT_KEY = [
    "a int, b int",
    "a int, b int, unique key (a)",
    "a int not null, b int, unique key (a, b)",
    "a int not null, b int, key (a)",
]
_WITH_KEY = ["a int primary key, b int", "a int not null, b int, unique key (a)", "a int not null unique, b int"]


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    clear("keyless")


def rows(*given: tuple[str, int, dict[str, str] | str]) -> pa.Table:
    columns: dict[str, list[Any]] = {name: [] for name in ("schema", "table", "op", "commit_ts", "query", "after")}
    for table, step, content in given:
        is_ddl = isinstance(content, str)
        values: list[Any] = ["s", table, "ddl" if is_ddl else "c", TS + step, content if is_ddl else None]
        values.append(None if isinstance(content, str) else list(content.items()))
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
    kinds = {"commit_ts": pa.int64(), "after": IMAGE}
    return pa.table({name: pa.array(values, kinds.get(name, pa.string())) for name, values in columns.items()})


def sent(schema: str, table: pa.Table, **options: Any) -> list[tuple[str, str]]:
    clear("keyless")
    Changefeed(load_changefeed(URI, **options), MemorySink("keyless"), schema).run(ArrowBatch(table), 0, final=True)
    found = []
    for message in messages("keyless"):
        content = json.loads(message.value or b"")
        if content["type"] != "TIDB_WATERMARK":
            what = content["sql"] if content["isDdl"] else next(iter(content["data"][0].values()))
            found.append((content["table"], what))
    return found


@pytest.mark.parametrize("columns", _WITHOUT_KEY)
def test_an_encoder_refuses_them(columns: str) -> None:
    with pytest.raises(SchemaError, match="no primary key") as caught:
        Encoder(URI, f"create table s.log ({columns})")
    assert "force-replicate" in caught.value.remedy
    assert caught.value.context["table"] == "s.log"
    encoder = Encoder(URI, f"create table s.log ({columns})", force_replicate=True)
    assert encoder.encode([{"op": "c", "commit_ts": TS, "after": {"a": 1, "b": 2}}]).num_rows == 1
    Encoder(URI, f"create table s.log ({columns})", changefeed="force-replicate = true")


@pytest.mark.parametrize("columns", _WITH_KEY)
def test_tables_with_a_handle_key_are_taken(columns: str) -> None:
    encoder = Encoder(URI, f"create table s.log ({columns})")
    assert encoder.encode([{"op": "c", "commit_ts": TS, "after": {"a": 1, "b": 2}}]).num_rows == 1


def test_an_encoder_of_many_tables_refuses_their_rows() -> None:
    encoder = Encoder(URI, f"{KEYED}; {KEYLESS}")
    assert encoder.encode([{"op": "c", "commit_ts": TS, "after": {"id": 1}}], table="s.t").num_rows == 1
    with pytest.raises(SchemaError, match="force-replicate"):
        encoder.encode([{"op": "c", "commit_ts": TS, "after": {"a": 1, "b": 2}}], table="s.log")


def test_an_encoder_sends_no_ddl_of_them() -> None:
    encoder = Encoder(URI, KEYED)
    assert encoder.ddl("create table s.log (a int)", TS + 1).num_rows == 0
    assert encoder.ddl("alter table s.log add column b int", TS + 2).num_rows == 0
    assert encoder.ddl("alter table s.log add primary key (a)", TS + 3).num_rows == 1
    row = {"op": "c", "commit_ts": TS + 4, "after": {"a": 1, "b": 2}}
    assert encoder.encode([row], table="s.log").num_rows == 1
    with pytest.raises(SchemaError, match="force-replicate"):
        encoder.encode([row | {"commit_ts": TS + 2, "after": {"a": 1}}], table="s.log")


@pytest.mark.parametrize("table", [None, "s.log"])
def test_a_changefeed_of_one_table_refuses_it(table: str | None) -> None:
    schema = KEYLESS if table is None else f"{KEYED}; {KEYLESS}"
    with pytest.raises(SchemaError, match="force-replicate"):
        Changefeed(load_changefeed(URI), MemorySink("keyless"), schema, table=table)
    Changefeed(load_changefeed(URI, force_replicate=True), MemorySink("keyless"), schema, table=table)


def test_a_changefeed_of_many_leaves_their_rows_and_ddl_out_with_one_warning() -> None:
    given = rows(
        ("t", 1, {"id": "1"}),
        ("log", 2, {"a": "1", "b": "2"}),
        ("log", 3, "alter table s.log add column c int"),
        ("t", 4, {"id": "4"}),
        ("log", 5, {"a": "1", "b": "2", "c": "3"}),
    )
    with pytest.warns(KeylessTableWarning, match=r"s\.log.*force-replicate") as warned:
        assert sent(f"{KEYED}; {KEYLESS}", given) == [("t", "1"), ("t", "4")]
    assert len([each for each in warned if each.category is KeylessTableWarning]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", KeylessTableWarning)
        forced = sent(f"{KEYED}; {KEYLESS}", given, force_replicate=True)
    assert [table for table, _ in forced] == ["t", "log", "log", "t", "log"]


def test_no_topic_is_made_for_them() -> None:
    rules = "[[sink.dispatchers]]\nmatcher = ['*.*']\ntopic = '{schema}_{table}'\n"
    sink = MemorySink("keyless")
    with pytest.warns(KeylessTableWarning):
        feed = Changefeed(load_changefeed(URI, rules), sink, f"{KEYED}; {KEYLESS}")
    assert "s_t" in feed.outline.router.partitions
    assert "s_log" not in feed.outline.router.partitions
