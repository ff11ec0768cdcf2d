"""Transactions: which updates are split, in what order rows of one transaction go out, and where each goes."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from ticdc_emit import Encoder
from ticdc_emit.errors import DispatcherError, DuplicateChangeError
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
    """What went out: kind and id of each message."""
    encoder = Encoder(URI, SCHEMA, changefeed=changefeed, **options)
    messages = [json.loads(value) for value in encoder.encode(changes).column("value").to_pylist()]
    return [(message["type"], int(message["data"][0]["id"])) for message in messages]


def test_the_columns_of_the_primary_key_and_of_every_unique_key_split() -> None:
    table = catalog_from_sql(
        "create table t (a int, b int not null, c int, d int as (a + 1) virtual, primary key (b) nonclustered,"
        " unique key (c, d), key (a))"
    ).table("test", "t")
    assert [column.name for column in table.splitting_columns] == ["b", "c"]


@pytest.mark.parametrize(
    ("changed", "split"),
    [
        ({"id": 2}, True),
        ({"u": "U"}, True),  # case counts, whatever the collation
        ({"u": None}, True),
        ({"n": "1.01"}, True),
        ({"v": None}, True),
        ({"n": "1.0"}, False),  # another form of the same value
        ({"n": "+1"}, False),
        ({}, False),
    ],
)
def test_a_changed_key_splits_an_update(changed: dict[str, Any], split: bool) -> None:
    kinds = [kind for kind, _ in story([update(row(1), **changed)])]
    assert kinds == (["DELETE", "INSERT"] if split else ["UPDATE"])


def test_null_and_the_text_null_are_one_to_ticdc() -> None:
    assert story([update(row(1, u=None), u="null")]) == [("UPDATE", 1)]


def test_raw_change_events_are_not_split() -> None:
    assert story([update(row(1), id=2)], RAW) == [("UPDATE", 2)]


def test_without_seq_a_transaction_goes_out_as_ticdc_sorts_it() -> None:
    changes = [
        insert(row(1, "a")),
        update(row(5, "b"), v=9),
        delete(row(7, "c")),
        delete(row(6, "d")),
        insert(row(0, "e")),
    ]
    expected = [("DELETE", 6), ("DELETE", 7), ("INSERT", 0), ("INSERT", 1)]
    for seed in range(4):
        shuffled = random.Random(seed).sample(changes, len(changes))
        assert story(shuffled, RAW) == [*expected[:2], ("UPDATE", 5), *expected[2:]]


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


@pytest.mark.parametrize(
    "changes",
    [
        [insert(row(1)), update(row(1), v=2)],
        [insert(row(1)), insert(row(2)), delete(row(1))],
        [update(row(1), v=2), insert(row(9)), delete(row(1))],
    ],
)
def test_two_changes_of_a_key_are_refused_however_far_apart_they_sort(changes: list[dict[str, Any]]) -> None:
    with pytest.raises(DuplicateChangeError) as refused:
        story(changes, RAW)
    assert refused.value.context["row"] == {"id": 1}


def test_the_next_release_appends_the_inserted_halves() -> None:
    changes = [
        {**insert(row(3, "x")), "seq": 1},
        {**update(row(1, "y"), v=None), "seq": 2},
        {**delete(row(2, "z")), "seq": 3},
    ]
    assert story(changes, release="next") == [("INSERT", 3), ("DELETE", 1), ("DELETE", 2), ("INSERT", 1)]


def test_each_half_goes_to_the_partition_of_its_own_key() -> None:
    toml = "[sink]\ndispatchers = [{matcher = ['*.*'], partition = 'index-value', topic = '{schema}_{table}'}]"
    encoder = Encoder(URI, SCHEMA, changefeed=toml, partitions=16)
    alone = {}
    for key in (1, 2, 3):
        made = encoder.encode([insert(row(key))])
        assert made.column("topic").to_pylist() == ["test_t"]
        alone[key] = made.column("partition")[0].as_py()
    assert len(set(alone.values())) > 1
    halves = encoder.encode([update(row(1), id=2), update(row(3), v=7)])
    assert halves.column("partition").to_pylist() == [alone[1], alone[3], alone[2], alone[3]]


def test_a_dispatcher_that_does_not_fit_is_refused_with_the_row() -> None:
    toml = "[sink]\ndispatchers = [{matcher = ['*.*'], partition = 'columns', columns = ['nope']}]"
    with pytest.raises(DispatcherError, match="columns not found"):
        Encoder(URI, SCHEMA, changefeed=toml).encode([insert(row(1))])
