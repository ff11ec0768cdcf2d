"""A change script becomes a history, and a history printed as a change script makes the same messages again."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis_profiles import examples

from ticdc_emit.errors import HistoryError, StatementError
from ticdc_emit.strategies import histories
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.library import scenario, scenarios

URI = "memory://sql?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
SCRIPT = """
create table test.orders (id int primary key auto_increment, amount decimal(8,2));
insert into orders (amount) values (9.5), (3);
begin; update orders set amount = amount * 2; delete from orders where id = 1; commit;
alter table orders add column paid tinyint not null default 1;
begin; delete from orders
"""
ROW: dict[str, Any] = {"schema": "test", "table": "t", "op": "insert", "commit_ts": 450_000_000_262_144_000}


def test_a_script_is_a_history() -> None:
    history = History.from_sql(SCRIPT, start=dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc))
    assert history.tables() == {("test", "orders"): {("2",): {"id": "2", "amount": "6.00", "paid": "1"}}}
    assert [(row["op"], row["commit_ts"] >> 18) for row in history.rows] == [
        ("insert", 1_704_067_201_000),
        ("insert", 1_704_067_201_000),
        ("delete", 1_704_067_205_000),
        ("update", 1_704_067_205_000),
    ]
    assert [message.value for message in history.messages(URI) if b'"isDdl":true' in (message.value or b"")]


def test_tables_that_exist_before_are_not_sent() -> None:
    history = History.from_sql("insert into t values (1)", schema="create table shop.t (id int primary key)")
    assert (history.ddl, history.rows[0]["schema"]) == ((), "shop")


def test_ddl_runs_in_its_own_database() -> None:
    script = "create database shop; use shop; create table t (id int primary key); insert into t values (1)"
    history = History.from_sql(script)
    assert history.ddl[-1][1:] == ("create table t (id int primary key)", "shop")
    assert history.tables() == {("shop", "t"): {("1",): {"id": "1"}}}
    assert History.from_json(history.to_json()) == history
    assert History.from_sql(history.to_sql()).messages(URI) == history.messages(URI)


def test_an_error_has_its_place_in_the_script() -> None:
    with pytest.raises(StatementError) as caught:
        History.from_sql("create table t (id int primary key);\n\ninsert into t values (1),\n(1)")
    assert (caught.value.number, caught.value.place) == (1062, "line 3, column 1")


@settings(max_examples=examples(800, share=32))
@given(histories())
def test_a_history_as_sql_makes_the_same_messages(history: History) -> None:
    again = History.from_sql(history.to_sql(), schema=history.schema, time_zone=history.time_zone)
    assert again.tables() == history.tables()
    assert [each[:2] for each in again.ddl] == [each[:2] for each in history.ddl]
    assert again.messages(URI) == history.messages(URI)


@pytest.mark.parametrize("name", [kind.name for kind in scenarios()])
def test_scenarios_are_sql(name: str) -> None:
    history = scenario(name).history
    if any(row.get("physical_table_id") for row in history.rows):
        with pytest.raises(HistoryError, match="physical_table_id"):
            history.to_sql()
        return
    again = History.from_sql(history.to_sql(), schema=history.schema, time_zone=history.time_zone)
    assert again.tables() == history.tables()


@pytest.mark.parametrize(
    ("history", "why"),
    [
        (History("create table test.t (a int)", [{**ROW, "op": "delete", "before": {"a": "1"}}]), "key"),
        (History("create table test.t (a int primary key)", begins_empty=False), "before it"),
        (
            History("create table test.t (a int primary key)", [{**ROW, "after": {"a": "1"}, "physical_table_id": 7}]),
            "physical_table_id",
        ),
    ],
)
def test_what_sql_does_not_tell_is_refused(history: History, why: str) -> None:
    with pytest.raises(HistoryError, match=why):
        history.to_sql()
