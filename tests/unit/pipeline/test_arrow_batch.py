"""A changefeed over Arrow batches: the encoder's messages, whatever the order, the batches and the memory limit."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pytest
from arrow_feeds import by_target, generic

from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.errors import (
    ConfigError,
    DuplicateChangeError,
    InvalidValueError,
    MissingColumnError,
    SchemaError,
    StateError,
    UnknownTableError,
)
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.registry.base import MemoryRegistry

FIRST = 450_000_000_262_144_000
SCHEMA = """
create table shop.orders (id int primary key, code varchar(20), note text, unique key (code));
create table shop.items (a int, b varchar(20), n int, primary key (a, b));
"""
CANAL = "canal-json&enable-tidb-extension=true"
COLUMNS = {"orders": ("id", "code", "note"), "items": ("a", "b", "n")}
Row = dict[str, Any]


def tso(step: int) -> int:
    return FIRST + step * (100 << 18)


def content(store: str) -> dict[tuple[str, int], Any]:
    found = by_target(messages(store))
    clear(store)
    return found


def feed(
    store: str, changefeed: str | None = None, protocol: str = CANAL, schema: str = SCHEMA, **given: Any
) -> Changefeed:
    uri = f"memory://{store}/?protocol={protocol}&partition-num=3"
    config = load_changefeed(uri, changefeed, schema_registry="http://nowhere.invalid")
    return Changefeed(config, MemorySink(store), schema, **given)


def history(seed: int, *, seq: bool = False) -> list[Row]:
    dice = random.Random(seed)
    rows: list[Row] = []
    for step in range(30):
        table = dice.choice(["orders", "items"])
        for place, key in enumerate(dice.sample(range(step * 40, step * 40 + 20), dice.randint(1, 6))):
            names = COLUMNS[table]
            old = dict(zip(names, (str(key), f"k{key}", str(dice.randint(0, 9))), strict=True))
            new = old | {names[2]: "7"} | ({names[1]: f"m{key}"} if dice.random() < 0.4 else {})
            op = dice.choice("cuud")
            row: Row = {"schema": "shop", "table": table, "op": op, "commit_ts": tso(step)}
            row |= {"before": None if op == "c" else old, "after": None if op == "d" else new}
            rows.append(row | ({"seq": dice.choice([place, 9 - place])} if seq else {}))
    return rows


RULES = {
    "table": None,
    "index-value": "[[sink.dispatchers]]\nmatcher = ['*.*']\npartition = 'index-value'",
    "ts": "[[sink.dispatchers]]\nmatcher = ['*.*']\npartition = 'ts'",
    "topics": "[[sink.dispatchers]]\nmatcher = ['*.*']\ntopic = '{schema}_{table}'\npartition = 'columns'\n"
    "columns = ['n']\n[[sink.dispatchers]]\nmatcher = ['shop.orders']\npartition = 'index-value'",
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seq", [False, True], ids=["plain", "seq"])
def test_neither_order_nor_batches_nor_the_limit_change_a_byte(store: str, rule: str, seq: bool) -> None:
    changefeed = RULES[rule]
    if rule == "topics":
        changefeed = RULES[rule].replace("matcher = ['*.*']", "matcher = ['shop.items']")  # type: ignore[union-attr]
    rows = history(11, seq=seq)
    feed(store, changefeed).run(ArrowBatch(generic(rows)), 0, final=True)
    expected = content(store)
    assert len(expected) > 1
    for dice, size, limit in ((random.Random(1), 30, 1), (random.Random(2), 5, 9000)):
        shuffled = dice.sample(rows, len(rows))
        feed(store, changefeed).run(ArrowBatch(generic(shuffled).to_batches(size), memory_limit=limit), 0, final=True)
        assert content(store) == expected


def test_ddl_stands_in_its_place_among_the_rows_or_beside_them(store: str) -> None:
    rows, query = [row for row in history(3) if row["table"] == "orders"], "alter table orders add column extra int"
    for row in (row for row in rows if row["commit_ts"] > tso(15)):
        for name in ("before", "after"):
            row[name] = row[name] and row[name] | {"extra": "5"}
    add = {"schema": "shop", "op": "DDL", "commit_ts": tso(15), "query": query}
    sent = []
    for given, options in (
        ([*rows, add], {}),
        ([*rows, add], {"memory_limit": 1}),
        (rows, {"ddl": [(tso(15), query, "shop")]}),
    ):
        batch = ArrowBatch(generic(given).to_batches(10), **options)
        assert feed(store, RULES["index-value"]).run(batch, 0, final=True).ddl_events == 1
        assert "ddl" in options or batch.ddl_rows("test") == [(tso(15), "shop", query)]
        sent.append(content(store))
    assert sent[0] == sent[1] == sent[2]
    held = [json.loads(value or b"") for part in sent[0].values() for _, value in part]
    shown = [each for each in held if each["type"] in ("INSERT", "UPDATE", "DELETE")]
    assert shown
    assert all(("extra" in each["data"][0]) == (each["_tidb"]["commitTs"] > tso(15)) for each in shown)


def test_the_typed_form_needs_its_table_named(store: str) -> None:
    image = {"id": 2, "code": "b", "note": None}
    rows = [
        {"op": "c", "commit_ts": tso(1), "before": None, "after": image},
        {"op": "u", "commit_ts": tso(1) + 1, "before": image, "after": image | {"id": 10}},
    ]
    typed = pa.Table.from_pylist(rows)
    with pytest.raises(SchemaError, match="2 tables"):
        feed(store).run(ArrowBatch(typed), 0, final=True)
    report = feed(store).run(ArrowBatch(typed, "shop.orders"), 0, final=True)
    assert report.rows == 3
    clear(store)


def test_a_bootstrap_schedule_of_other_tables_is_refused_before_a_batch_begins(store: str) -> None:
    rows = history(4)
    simple = feed(store, None, "simple")
    simple.run(ArrowBatch(generic(rows[:5])), 0, final=False)
    record = simple._store.load(0)
    (table, *_) = record.end_bootstraps["tables"]
    table["table"] = ["shop", "gone", 1, 1, 1]
    simple._store.save(record)
    content(store)
    with pytest.raises(StateError, match="gone"):
        simple.run(ArrowBatch(generic(rows[5:])), 1, final=False)
    assert not content(store)
    assert simple._store.load(1) is None


def test_what_cannot_be_a_batch(store: str) -> None:
    row = {"schema": "shop", "table": "orders", "op": "c", "commit_ts": tso(1)}
    row |= {"after": {"id": "1", "code": "a", "note": "n"}}

    def run(batches: Any, **options: Any) -> None:
        feed(store).run(ArrowBatch(batches, **options), 0, final=True)

    with pytest.raises(DuplicateChangeError):
        run(generic([row, row]))
    with pytest.raises(UnknownTableError, match="no such table"):
        run(generic([row | {"table": "nowhere"}]))
    with pytest.raises(InvalidValueError, match="DDL row"):
        run(generic([row, {"op": "ddl", "commit_ts": None, "query": "drop table shop.orders"}]))
    for name in ("op", "after", "commit_ts"):
        with pytest.raises(MissingColumnError) as caught:
            run(generic([row]).drop_columns([name]))
        assert caught.value.column == name
    with pytest.raises(SchemaError, match="different columns"):
        run([*generic([row]).to_batches(), *generic([row | {"seq": 1}]).to_batches()])
    with pytest.raises(ConfigError, match="iterator"):
        run(iter(generic([row]).to_batches()))
    with pytest.raises(ConfigError, match="memory_limit"):
        run([], memory_limit=0)
    assert content(store) == {}


@pytest.mark.parametrize("protocol", [CANAL, "simple", "avro", "open-protocol"])
@pytest.mark.parametrize("apart", [True, False], ids=["DDL first", "DDL among the rows"])
def test_a_changefeed_of_an_empty_cluster_learns_its_tables_from_rows(store: str, protocol: str, apart: bool) -> None:
    statements = [(tso(1), "create database shop"), (tso(2), "create table shop.orders (id int primary key)")]
    none = {"table": None, "after": None}
    ddl = [{"op": "ddl", "commit_ts": at, "query": query, "schema": "shop"} | none for at, query in statements]
    rows = [
        {"op": "c", "commit_ts": tso(10 + n), "schema": "shop", "table": "orders", "after": {"id": str(n)}}
        for n in range(5)
    ]
    feed(store, protocol=protocol, schema="", ddl=statements, registry=MemoryRegistry()).run(
        ArrowBatch(generic(rows)), 0, final=True
    )
    expected = content(store)
    changefeed = feed(store, protocol=protocol, schema="", registry=MemoryRegistry())
    batches = [ddl, rows] if apart else [ddl + rows]
    for number, batch in enumerate(batches):
        changefeed.run(ArrowBatch(generic(batch)), number, final=number == len(batches) - 1)
    sent = content(store)
    if not apart:
        assert sent == expected
    assert [value for value in sent["ticdc", 0] if value in expected["ticdc", 0]] == expected["ticdc", 0]


def test_rows_of_a_changefeed_that_has_no_tables_yet(store: str) -> None:
    row = {"op": "c", "commit_ts": tso(1), "schema": "shop", "table": "orders", "after": {"id": "1"}}
    with pytest.raises(UnknownTableError, match=r"Known tables: none .*rows with op = 'ddl'"):
        feed(store, schema="").run(ArrowBatch(generic([row])), 0, final=True)
    typed = pa.table({"op": ["c"], "commit_ts": [tso(1)], "after": [{"id": 1}]})
    with pytest.raises(SchemaError, match="no table yet"):
        feed(store, schema="").run(ArrowBatch(typed), 0, final=True)
