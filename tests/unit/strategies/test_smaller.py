"""Smaller histories: what is left still fails, and is one that TiCDC could send."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.strategies import histories, names
from ticdc_emit.strategies.smaller import smaller
from ticdc_emit.traffic.history import History

FIRST = 450_000_000_262_144_000
SCHEMA = """
SET NAMES utf8mb4;
create table shop.t (id int primary key, a varchar(9), b int not null, unique key (b));
create table shop.other (id int primary key, note text);
"""


def change(step: int, before: Any, after: Any, table: str = "t", **more: Any) -> dict[str, Any]:
    op = "insert" if before is None else "delete" if after is None else "update"
    return {"schema": "shop", "table": table, "op": op, "commit_ts": FIRST + step, "before": before, "after": after,
            **more}  # fmt: skip


def row(key: int, a: str | None = "x", b: int | None = None) -> dict[str, str | None]:
    return {"id": str(key), "a": a, "b": str(key if b is None else b)}


LIFE = [row(1), row(1, "y"), row(2, "y"), row(3, "z")]  # the key changes twice
ROWS = [
    change(0, None, LIFE[0], seq=1),
    change(0, None, {"id": "1", "note": "n"}, table="other", seq=2),
    change(1, LIFE[0], LIFE[1]),
    change(2, None, row(7)),
    change(3, LIFE[1], LIFE[2]),
    change(4, LIFE[2], LIFE[3]),
    change(6, {"id": "1", "note": "n"}, None, table="other"),
]
HISTORY = History(SCHEMA, ROWS, ((FIRST + 5, "alter table shop.other add column c int"),))


def some(history: History, which: Callable[[Any], Any]) -> bool:
    return any(which(each) for each in history.rows)


T, OTHER = "CREATE TABLE `shop`.`t` (`id` INT PRIMARY KEY)", "CREATE TABLE `shop`.`other` (`id` INT PRIMARY KEY)"
AB = "CREATE TABLE `shop`.`t` (`a` VARCHAR(9),`b` INT NOT NULL,UNIQUE(`b`))"
CASES: dict[str, tuple[Callable[[History], Any], str, list[str]]] = {
    "a life whose key changes is one insert": (
        lambda each: ("3",) in each.tables().get(("shop", "t"), {}), T, ["INSERT INTO shop.t VALUES (3)"]
    ),
    "an update keeps the row before it": (
        lambda each: some(each, lambda row: row["before"] and row["after"] and row["after"]["id"] == "2"),
        T, ["INSERT INTO shop.t VALUES (1)", "UPDATE shop.t SET id = 2 WHERE id = 1"],
    ),
    "another table": (
        lambda each: some(each, lambda row: row["op"] == "delete"),
        OTHER, ["INSERT INTO shop.other VALUES (1)", "DELETE FROM shop.other WHERE id = 1"],
    ),
    "the columns that it needs": (
        lambda each: some(each, lambda row: {"a", "b"} <= {*(row["after"] or {})}),
        AB, ["INSERT INTO shop.t VALUES ('x', 7)"],
    ),
    "a statement": (lambda each: each.ddl, OTHER, ["alter table shop.other add column c int"]),
}  # fmt: skip


@pytest.mark.parametrize(("fails", "schema", "script"), CASES.values(), ids=CASES)
def test_what_is_left(fails: Callable[[History], Any], schema: str, script: list[str]) -> None:
    found = smaller(HISTORY, lambda each: bool(fails(each)), seconds=60)
    assert found.schema == schema
    assert [
        re.sub(r"^/[*] ticdc-emit: commit_ts=\d+ [*]/ |;$", "", line) for line in found.to_sql().splitlines()
    ] == script


def test_nothing_is_tried_twice_and_time_ends_it() -> None:
    tried: list[str] = []
    assert smaller(HISTORY, lambda each: bool(tried.append(each.to_json())), seconds=60) == HISTORY
    assert len(tried) == len(set(tried)) > 5
    assert smaller(HISTORY, lambda _: True, seconds=-1) is HISTORY


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories(names=names(allow_odd=False), allow_virtual=False), st.randoms(use_true_random=False))
def test_each_one_that_is_tried_is_valid(history: History, random: Any) -> None:
    config = load_changefeed("memory://any/?protocol=simple&partition-num=1")

    def fails(each: History) -> bool:
        try:
            sent = each.messages(config)
        except InvalidValueError:  # of a value for which a MODIFY COLUMN had made room
            return False
        consumer = ReferenceConsumer(config, each.catalog(), partitions={message.topic: 1 for message in sent})
        consumer.take_all(sent)
        consumer.finish()
        assert consumer.tables == each.tables()
        return random.random() < 0.4

    smaller(history, fails, seconds=60)
