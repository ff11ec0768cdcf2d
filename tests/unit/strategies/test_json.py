"""Histories, changefeeds and deliveries as a line of JSON: nothing is lost, and an error names the wrong member."""

from __future__ import annotations

import json
import pickle
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ticdc_emit.errors import JsonError
from ticdc_emit.strategies import Delivery, FeedOptions, changefeeds, deliveries, histories, names
from ticdc_emit.traffic.history import History

SOME = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(SOME, max_examples=10)
ROW = {"schema": "a", "table": "t", "op": "c", "commit_ts": 450_000_000_262_144_001, "before": None, "after": {"id": 1}}
HISTORY = History("create table a.t (id int primary key)", [ROW], ((450_000_000_262_144_002, "drop table a.t"),))


@SOME
@given(histories(names=names(allow_odd=True), time_zone="Asia/Shanghai"))
def test_a_history_returns(history: History) -> None:
    line = history.to_json()
    assert line.isascii()
    assert "\n" not in line
    assert History.from_json(line) == history
    assert History.from_json(json.loads(line)) == History.from_json(line.encode()) == history


@SOME
@given(changefeeds(compression=True, releases=["classic", "next", "8.1"]))
def test_a_changefeed_returns(feed: FeedOptions) -> None:
    assert FeedOptions.from_json(feed.to_json()) == feed


@pytest.mark.parametrize("protocol", ["canal-json", "avro"])
@FEW
@given(data=st.data())
def test_a_delivery_returns(protocol: str, data: st.DataObject) -> None:
    told = histories(names=names(allow_odd=False), allow_virtual=False, max_commits=4)
    drawn = data.draw(deliveries(told, changefeeds(protocols=protocol)))
    again = Delivery.from_json(drawn.to_json())
    assert again == drawn
    assert [type(number) for number in again.schemas] == [type(number) for number in drawn.schemas]


def test_what_rows_may_hold_returns() -> None:
    row = {
        **ROW, "op": "u", "seq": 3, "start_ts": 1, "physical_table_id": 2**63 - 1, "row_key": b"\x00\xfft",
        "checksum": {"corrupted": False, "current": 1, "previous": None, "version": 1},
        "before": {"id": np.int64(7), "v": None}, "after": {"id": 2**64, "v": '\ud800 "\u2028\n'},
    }  # fmt: skip
    history = History("", [row], begins_empty=False, time_zone="America/New_York")
    again = History.from_json(history.to_json())
    assert again == history
    assert type(again.rows[0]["before"]["id"]) is int


def test_the_form_of_a_history() -> None:
    assert json.loads(HISTORY.to_json()) == {
        "version": 1,
        "schema": "create table a.t (id int primary key)",
        "rows": [ROW],
        "ddl": [{"commit_ts": 450_000_000_262_144_002, "query": "drop table a.t"}],
        "time_zone": "UTC",
        "begins_empty": True,
    }


@pytest.mark.parametrize(
    ("change", "member", "message"),
    [
        ({"version": 2}, "version", "version 2 of a history is unknown"),
        ({"version": True}, "version", "True is not a whole number"),
        ({"schema": 1}, "schema", "1 is not text"),
        ({"rows": {}}, "rows", "{} is not a list"),
        ({"rows": [ROW, 3]}, "rows[1]", "3 is not an object"),
        ({"rows": [{**ROW, "row_key": "?"}]}, "rows[0].row_key", "'?' is not base64"),
        ({"ddl": [{"commit_ts": 1.5, "query": ""}]}, "ddl[0].commit_ts", "1.5 is not a whole number"),
        ({"ddl": [{"commit_ts": 1, "qurey": ""}]}, "ddl[0].query", "a statement has no query"),
        ({"ddl": [{"commit_ts": 1, "query": "", "at": 3}]}, "ddl[0].at", "the member is unknown"),
        ({"time_zone": None}, "time_zone", "None is not text"),
        ({"begins_empty": 1}, "begins_empty", "1 is not true or false"),
        ({"row": []}, "row", "the member is unknown"),
    ],
)
def test_a_wrong_member_is_named(change: dict[str, Any], member: str, message: str) -> None:
    with pytest.raises(JsonError) as raised:
        History.from_json({**HISTORY.to_dict(), **change})
    assert (raised.value.member, raised.value.message) == (member, message)
    assert raised.value.remedy
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_missing_member_is_named() -> None:
    with pytest.raises(JsonError, match=r"a history has no schema \[member='schema'\]. Did you mean shcema\? Give"):
        History.from_json({"version": 1, "shcema": ""})


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", '{"version":1,"version":1}', '{"version":NaN}', "[" * 100_000, b"\xff", '{"a":%s}' % ("9" * 5000)],
)
def test_a_text_that_is_not_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(JsonError):
        History.from_json(text)


def test_the_place_of_a_wrong_part_of_a_delivery() -> None:
    feed = FeedOptions("memory://t/?protocol=canal-json", {})
    whole = Delivery(HISTORY, feed.load(), feed, [], {"ticdc": 3}, {}).to_dict()
    for change, member in [
        ({"history": {**whole["history"], "rows": [1]}}, "history.rows[0]"),
        ({"feed": {**whole["feed"], "sink_uri": 1}}, "feed.sink_uri"),
        ({"messages": [{"topic": "t"}]}, "messages[0].partition"),
        ({"partitions": {"t": "3"}}, "partitions.t"),
        ({"schemas": [{"id": None, "schema": ""}]}, "schemas[0].id"),
    ]:
        with pytest.raises(JsonError) as raised:
            Delivery.from_json({**whole, **change})
        assert raised.value.member == member


@pytest.mark.parametrize(
    ("value", "member"),
    [
        (date(2024, 1, 1), "changefeed.sink.at[0]"),
        (float("inf"), "changefeed.sink.at[0]"),
        (b"x", "changefeed.sink.at[0]"),
    ],
)
def test_what_json_does_not_have_is_refused(value: Any, member: str) -> None:
    with pytest.raises(JsonError) as raised:
        FeedOptions("memory://t/", {"sink": {"at": [value]}}).to_json()
    assert raised.value.member == member


def test_keys_that_are_not_text_are_refused() -> None:
    with pytest.raises(JsonError, match="1 is of the Python type int"):
        History("", [{**ROW, "after": {1: "x"}}]).to_json()
