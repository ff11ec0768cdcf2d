"""One changefeed of many tables over micro-batches: tables come, change their names and go, and a restart goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ticdc_emit.delivery.files import read_files
from ticdc_emit.spark import TicdcSink

URI = "protocol=simple&partition-num=2&topic=rest"
RULES = '[sink]\ndispatchers = [{matcher = ["shop.*"], topic = "{schema}_{table}", partition = "index-value"}]'
SCHEMA = "create table shop.a (id int primary key, v varchar(20)); create table other.x (id int primary key)"
KIND = "schema string, table string, op string, commit_ts long, query string, after map<string,string>"
TS = 450_000_000_262_144_000
SECOND = 1000 << 18


def rows(table: str, second: float, *keys: int, **more: str) -> list[tuple[Any, ...]]:
    schema, _, name = table.partition(".")
    stamp = TS + round(second * SECOND)
    return [(schema, name, "c", stamp + key, None, {"id": str(key), **more}) for key in keys]


def ddl(second: float, query: str) -> list[tuple[Any, ...]]:
    return [("shop", None, "ddl", TS + round(second * SECOND), query, None)]


BATCHES = [
    [*rows("shop.a", 1, 1, 2, 3, v="first"), *rows("other.x", 1, 1)],
    [
        *ddl(2, "create table shop.b (id int primary key)"),
        *rows("shop.b", 3, 1, 2, 3),
        *rows("shop.a", 3, 4, v="second"),
    ],
    [
        *ddl(4, "rename table shop.b to shop.c"),
        *ddl(4.5, "alter table shop.a add column w int"),
        *rows("shop.c", 5, 4, 5),
    ],
    [*rows("shop.a", 6, 5, v="third", w="7"), *ddl(7, "drop table shop.c"), *rows("other.x", 8, 2)],
]


def sent(folder: Path) -> dict[tuple[str, int], list[tuple[str, Any]]]:
    """What each topic-partition received: type, and what tells messages of one type apart."""
    found: dict[tuple[str, int], list[tuple[str, Any]]] = {}
    for message in read_files(str(folder)):
        assert message.value is not None
        value = json.loads(message.value)
        what = value.get("sql") or (value["data"]["id"] if "data" in value else value["commitTs"])
        found.setdefault((message.topic, message.partition), []).append((value["type"], what))
    return found


def test_tables_come_and_go_across_restarts(spark: Any, tmp_path: Path) -> None:
    for number, batch in enumerate(BATCHES):  # each batch by a process that knows the state store only
        sink = TicdcSink(f"jsonl://{tmp_path}/out?{URI}", SCHEMA, changefeed=RULES, state_uri=f"{tmp_path}/state")
        sink(spark.createDataFrame(batch, KIND).repartition(3), number)
    sink.finish()
    found = sent(tmp_path / "out")
    assert {topic for topic, _ in found} == {"rest", "shop_a", "shop_b", "shop_c"}
    for partition in (0, 1):
        made, dropped = (
            [what for kind, what in found[topic, partition] if kind in ("CREATE", "RENAME", "ERASE")]
            for topic in ("shop_b", "shop_c")
        )
        assert [sql.split()[0] for sql in made] == ["CREATE", "RENAME"]
        assert [sql.split()[0] for sql in dropped] == ["DROP"]
        # DDL of the old name's topic, the new topic from its first row on, none of the dropped one behind its drop
        marks = {topic: _watermarks(found[topic, partition]) for topic in ("rest", "shop_a", "shop_b", "shop_c")}
        assert max(marks["rest"]) == max(marks["shop_a"]) > TS + 7 * SECOND
        assert min(marks["shop_b"]) >= TS + 2 * SECOND
        assert max(marks["shop_b"]) < TS + 4 * SECOND
        assert min(marks["shop_c"]) >= TS + 4 * SECOND
        assert max(marks["shop_c"]) < TS + 7 * SECOND
        for topic in ("rest", "shop_a", "shop_b"):  # TiCDC shows a renamed table's schema to its old topic alone
            _judge_order(found[topic, partition])
    ids = {topic: sorted(_ids(found, topic)) for topic in ("rest", "shop_a", "shop_b", "shop_c")}
    assert ids == {
        "rest": ["1", "2"],
        "shop_a": ["1", "2", "3", "4", "5"],
        "shop_b": ["1", "2", "3"],
        "shop_c": ["4", "5"],
    }


def _watermarks(story: list[tuple[str, Any]]) -> list[int]:
    found = [what for kind, what in story if kind == "WATERMARK"]
    assert found == sorted(set(found))
    return found


def _judge_order(story: list[tuple[str, Any]]) -> None:
    assert story[0][0] in ("BOOTSTRAP", "CREATE", "RENAME", "WATERMARK"), story[:2]
    for place, (kind, _) in enumerate(story):
        if kind == "INSERT":
            assert any(before in ("BOOTSTRAP", "CREATE") for before, _ in story[:place])


def _ids(found: dict[tuple[str, int], list[tuple[str, Any]]], topic: str) -> list[str]:
    return [what for (name, _), story in found.items() if name == topic for kind, what in story if kind == "INSERT"]
