"""``Encoder.execute``: SQL in, messages out, over rows that the encoder keeps."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.encoder import Encoder
from ticdc_emit.errors import MessageTooLargeError, StateError, StatementError

URI = "kafka://unused/t?protocol=canal-json&partition-num=2"
SCHEMA = "create table shop.a (id int primary key, n int); create table shop.b (id int primary key)"


def kinds(batch: pa.RecordBatch) -> list[tuple[str, str, Any]]:
    """Type, table and row of each message."""
    values = [json.loads(each["value"]) for each in batch.to_pylist()]
    return [(each["type"], each["table"], each["data"] and each["data"][0]["id"]) for each in values]


def test_statements_become_messages_in_the_order_of_commits() -> None:
    encoder = Encoder(URI, SCHEMA)
    batch = encoder.execute(
        "insert into a values (1, 1); begin; insert into b values (5); update a set n = 2; commit; delete from a;"
        "alter table b add column n int; insert into b values (6, 6)"
    )
    assert kinds(batch) == [
        *(("INSERT", "a", "1"), ("UPDATE", "a", "1"), ("INSERT", "b", "5"), ("DELETE", "a", "1")),
        *(("ALTER", "b", None), ("INSERT", "b", "6")),
    ]
    stamps = batch.column("commit_ts").to_pylist()
    assert stamps == sorted(stamps)


def test_a_table_may_come_from_the_script_and_from_ddl() -> None:
    encoder = Encoder(URI)
    assert kinds(encoder.execute("create table a (id int primary key); insert into a values (1)")) == [
        *(("CREATE", "a", None), ("INSERT", "a", "1"))
    ]
    encoder.ddl("alter table test.a add column n int default 4", 460_000_000_000_000_000)
    batch = encoder.execute("update a set n = n + 1", start=460_000_000_262_144_000)
    assert json.loads(batch.to_pylist()[0]["value"])["data"] == [{"id": "1", "n": "5"}]


def test_a_transaction_goes_on_in_the_next_call() -> None:
    encoder = Encoder(URI, SCHEMA)
    assert encoder.execute("begin; insert into a values (1, 1)").num_rows == 0
    with pytest.raises(StateError):
        encoder.ddl("drop table shop.b", 460_000_000_000_000_000)
    assert kinds(encoder.execute("commit")) == [("INSERT", "a", "1")]


def test_an_error_has_the_messages_of_the_statements_before_it() -> None:
    encoder = Encoder(URI, SCHEMA)
    script = "insert into a values (1, 1); begin; insert into a values (3, 3); insert into a values (1, 2); commit"
    with pytest.raises(StatementError) as failed:
        encoder.execute(script)
    assert kinds(failed.value.messages) == [("INSERT", "a", "1")]
    assert pickle.loads(pickle.dumps(failed.value)).messages.equals(failed.value.messages)
    assert "INSERT" not in str(failed.value)
    assert kinds(encoder.execute("commit; insert into a values (2, 2)")) == [("INSERT", "a", "3"), ("INSERT", "a", "2")]


def test_a_row_that_cannot_be_encoded_leaves_what_was_made_before_it() -> None:
    encoder = Encoder(f"{URI}&max-message-bytes=900", "create table shop.a (id int primary key, t text)")
    encoder.execute("create table shop.b (id int primary key)")
    with pytest.raises(MessageTooLargeError) as failed:
        encoder.execute(f"insert into b values (1); insert into a values (1, '{'x' * 900}')")
    assert kinds(failed.value.messages) == [("INSERT", "b", "1")]
    assert kinds(encoder.execute("insert into b values (2)")) == [("INSERT", "b", "2")]
