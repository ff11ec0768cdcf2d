"""Transactions: which updates are split, in what order rows of one transaction go out, and where each goes."""

from __future__ import annotations

import json
from typing import Any

from ticdc_emit import Encoder
from ticdc_emit.schema.catalog import catalog_from_sql

URI = "memory://x?protocol=canal-json&enable-tidb-extension=true"
SCHEMA = (
    "create table test.t (id int primary key, u varchar(10), n decimal(9,2), v int, unique key (u), unique key (n, v))"
)
TS = 450_000_000_262_144_000
RAW = "[sink.kafka-config]\noutput-raw-change-event = true\n"


def row(key: int, u: str | None = "u", n: Any = "1.00", v: int | None = 1) -> dict[str, Any]:
    return {"id": key, "u": u, "n": n, "v": v}


def update(before: dict[str, Any], ts: int = TS, **after: Any) -> dict[str, Any]:
    return {"op": "u", "commit_ts": ts, "before": before, "after": {**before, **after}}


def insert(image: dict[str, Any], ts: int = TS, **more: Any) -> dict[str, Any]:
    return {"op": "c", "commit_ts": ts, "after": image, **more}


def delete(image: dict[str, Any], ts: int = TS, **more: Any) -> dict[str, Any]:
    return {"op": "d", "commit_ts": ts, "before": image, **more}


def story(changes: list[dict[str, Any]], changefeed: str | None = None, **options: Any) -> list[tuple[str, int]]:
    encoder = Encoder(URI, SCHEMA, changefeed=changefeed, **options)
    messages = [json.loads(value) for value in encoder.encode(changes).column("value").to_pylist()]
    return [(message["type"], int(message["data"][0]["id"])) for message in messages]


def test_the_columns_of_the_primary_key_and_of_every_unique_key_split() -> None:
    table = catalog_from_sql(
        "create table t (a int, b int not null, c int, d int as (a + 1) virtual, primary key (b) nonclustered,"
        " unique key (c, d), key (a))"
    ).table("test", "t")
    assert [column.name for column in table.splitting_columns] == ["b", "c"]


def test_a_seq_is_kept_unless_an_update_of_its_transaction_is_split() -> None:
    kept = [
        {**insert(row(3, "x")), "seq": 1},
        {**update(row(1, "y"), v=None), "seq": 2},
        {**delete(row(2, "z")), "seq": 3},
    ]
    assert story(kept, RAW) == [("INSERT", 3), ("UPDATE", 1), ("DELETE", 2)]
    assert story(kept) == [("DELETE", 1), ("DELETE", 2), ("INSERT", 3), ("INSERT", 1)]
    apart = [{**each, "start_ts": TS - 1 - place % 2} for place, each in enumerate(kept)]
    assert story(apart) == [("DELETE", 1), ("INSERT", 1), ("INSERT", 3), ("DELETE", 2)]


def test_the_partitions_of_a_table_are_separate_transactions() -> None:
    changes = [
        {**insert(row(1, "a")), "seq": 1, "physical_table_id": 20},
        {**delete(row(2, "b")), "seq": 2, "physical_table_id": 20},
        {**update(row(3, "c"), u="d"), "seq": 3, "physical_table_id": 10},
    ]
    assert story(changes) == [("DELETE", 3), ("INSERT", 3), ("INSERT", 1), ("DELETE", 2)]


def test_the_next_release_appends_the_inserted_halves() -> None:
    changes = [
        {**insert(row(3, "x")), "seq": 1},
        {**update(row(1, "y"), v=None), "seq": 2},
        {**delete(row(2, "z")), "seq": 3},
    ]
    assert story(changes, release="next") == [("INSERT", 3), ("DELETE", 1), ("DELETE", 2), ("INSERT", 1)]
