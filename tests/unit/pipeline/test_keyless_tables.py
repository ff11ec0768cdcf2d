"""Tables without a handle key, which TiCDC replicates with ``force-replicate`` only."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from arrow_feeds import generic, sent

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.memory import MemorySink
from ticdc_emit.errors import SchemaError
from ticdc_emit.pipeline.plan.table_plans import KeylessTableWarning
from ticdc_emit.pipeline.run import Changefeed

TS = 450_000_000_262_144_000
URI = "memory://keyless?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
KEYLESS = "create table s.log (a int, b int)"
KEYED = "create table s.t (id int primary key)"

_WITHOUT_KEY = [
    "a int, b int",
    "a int, b int, unique key (a)",
    "a int not null, b int, unique key (a, b)",
    "a int not null, b int, key (a)",
]
_WITH_KEY = ["a int primary key, b int", "a int not null, b int, unique key (a)", "a int not null unique, b int"]


def row(table: str, step: int, **image: int) -> dict[str, Any]:
    return {"schema": "s", "table": table, "op": "c", "commit_ts": TS + step, "after": image}


def sent_of(schema: str, rows: list[dict[str, Any]], **options: Any) -> list[tuple[str, str]]:
    found, _ = sent(load_changefeed(URI, **options), schema, generic(rows))
    contents = [json.loads(message.value or b"") for message in found]
    return [
        (content["table"], content["sql"] if content["isDdl"] else next(iter(content["data"][0].values())))
        for content in contents
        if content["type"] != "TIDB_WATERMARK"
    ]


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
    ddl = {"schema": "s", "op": "ddl", "commit_ts": TS + 3, "query": "alter table s.log add column c int"}
    given = [row("t", 1, id=1), row("log", 2, a=1, b=2), ddl, row("t", 4, id=4), row("log", 5, a=1, b=2, c=3)]
    with pytest.warns(KeylessTableWarning, match=r"s\.log.*force-replicate") as warned:
        assert sent_of(f"{KEYED}; {KEYLESS}", given) == [("t", "1"), ("t", "4")]
    assert len([each for each in warned if each.category is KeylessTableWarning]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", KeylessTableWarning)
        forced = sent_of(f"{KEYED}; {KEYLESS}", given, force_replicate=True)
    assert [table for table, _ in forced] == ["t", "log", "log", "t", "log"]


def test_no_topic_is_made_for_them() -> None:
    rules = "[[sink.dispatchers]]\nmatcher = ['*.*']\ntopic = '{schema}_{table}'\n"
    with pytest.warns(KeylessTableWarning):
        feed = Changefeed(load_changefeed(URI, rules), MemorySink("keyless"), f"{KEYED}; {KEYLESS}")
    assert "s_t" in feed.outline.router.partitions
    assert "s_log" not in feed.outline.router.partitions
