"""Debezium row messages: what stands for NULL, what is refused, limits, and what the options change."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from debezium_messages import codec_of, encoded_rows, inserted, row_messages

from tests.conformance.encoded_rows import table_of
from ticdc_emit import Encoder
from ticdc_emit.config.switches import DebeziumSwitches
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.protocols.debezium.encoder import DebeziumRows

SMALL = "create table test.t (id int primary key, name varchar(10))"
SOURCE = (
    b'{"payload":{"source":{"version":"2.4.0.Final","connector":"TiCDC","name":"default","ts_ms":1000,'
    b'"snapshot":"false","db":"test","table":"t","server_id":0,"gtid":null,"file":"","pos":0,"row":0,"thread":0,'
    b'"query":null,"commit_ts":262144000,"cluster_id":"default"},"ts_ms":2000,"transaction":null,"op":'
)
OLD, NEW = {"id": 1, "name": "a<b"}, {"id": 1, "name": None}
CHANGES: list[dict[str, Any]] = [
    {"op": "c", "after": OLD},
    {"op": "u", "before": OLD, "after": NEW},
    {"op": "d", "before": NEW},
]


def test_an_update_without_its_old_value_needs_none() -> None:
    ((key, value),) = row_messages(SMALL, [{"op": "u", "after": NEW}], output_old_value=False, disable_schema=True)
    assert (key, value) == (b'{"payload":{"id":1}}', SOURCE + b'"u","after":{"id":1,"name":null}}}')
    ((_, deleted),) = row_messages(SMALL, [{"op": "d", "before": OLD}], output_old_value=False, disable_schema=True)
    assert b'"before":{"id":1,"name":"a<b"}' in deleted


def test_null_stays_where_the_default_is_no_day() -> None:
    sql = "create table test.t (v date default '2024-00-00', w int)"
    assert inserted(sql, [{"v": None, "w": 1}]) == [b'{"v":null,"w":1}']


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        ("int default (rand())", b"0"),
        ("double default (rand())", b"0"),
        ("bit(12) default ''", b'"AAA="'),
        ("varbinary(9) default 'abc'", b'"YWJj"'),
    ],
)
def test_the_value_of_the_default_may_stand_for_null(column: str, shown: bytes) -> None:
    sql = f"create table test.t (v {column}, w int)"
    rows = inserted(sql, [{"v": None, "w": 1}], switches=DebeziumSwitches(null_default="value"))
    assert rows == [b'{"v":%s,"w":1}' % shown]


@pytest.mark.parametrize(
    ("column", "zone"),
    [
        ("varbinary(9) default 'abc'", "UTC"),
        ("int default (rand())", "UTC"),
        ("datetime default '2024-00-01'", "UTC"),
        ("timestamp null default '2024-03-10 02:30:00'", "America/New_York"),
        ("vector(1) default (vec_from_text('[1]'))", "UTC"),
    ],
)
def test_null_is_refused_where_its_default_is_no_value(column: str, zone: str) -> None:
    sql = f"create table test.t (id int primary key, v {column})"
    changes = [{"op": "d", "before": {"id": 0, "v": None}}]
    with pytest.raises(InvalidValueError) as raised:
        encoded_rows(sql, changes, zone=zone)
    assert (raised.value.column, raised.value.row, raised.value.table) == ("v", {"id": 0}, "test.t")


def test_a_date_default_has_no_value() -> None:
    sql = "create table test.t (v date default '2024-02-29')"
    with pytest.raises(InvalidValueError):
        inserted(sql, [{"v": None}], switches=DebeziumSwitches(null_default="value"))


@pytest.mark.parametrize(
    ("kind", "zone", "good", "bad"),
    [
        ("timestamp null", "America/New_York", "2024-03-10 03:30:00", "2024-03-10 02:30:00"),
        ("timestamp null", "UTC", "2024-03-10 03:30:00", "2024-00-10 02:30:00"),
        ("datetime(1)", "UTC", "2024-03-10 03:30:00.0", "2024-03-00 02:30:00.0"),
    ],
)
def test_what_means_no_moment_is_refused_before_anything_is_encoded(kind: str, zone: str, good: str, bad: str) -> None:
    sql = f"create table test.t (id int primary key, v {kind})"
    after = [{"id": key, "v": good} for key in range(6)]
    changes = [{"op": "u", "before": {**row, "v": bad if row["id"] == 4 else good}, "after": row} for row in after]
    with pytest.raises(InvalidValueError) as raised:
        encoded_rows(sql, changes, zone=zone)
    assert (raised.value.column, raised.value.row) == ("v", {"id": 4})
    assert len(row_messages(sql, changes, zone=zone, output_old_value=False)) == 6


def test_an_encoder_travels_without_its_schemas() -> None:
    encoder = codec_of().rows(table_of(SMALL))
    made = row_messages(SMALL, CHANGES)
    assert encoder.overhead > len(made[0][1])
    travelled = pickle.dumps(encoder)
    assert b"io.debezium" not in travelled
    again: DebeziumRows = pickle.loads(travelled)
    assert (again, again.overhead) == (encoder, encoder.overhead)
    without_old = codec_of(output_old_value=False).rows(encoder.table)
    assert pickle.loads(pickle.dumps(without_old)) == without_old != encoder


def test_no_message_is_larger_than_its_bound() -> None:
    sql = r"""create table test.t (
        id varchar(2000) primary key, b varbinary(2000), e enum('\"\"\"\"'), v varchar(99) default '\n\n\n\n'
    )"""
    row = {"id": "\x01" * 2000, "b": b"\xff" * 2000, "e": 1, "v": None}
    encoded = encoded_rows(sql, [{"op": "u", "before": row, "after": row}]).encoded.whole()
    size = len(encoded.keys[0].as_py()) + len(encoded.values[0].as_py())
    values = 2 * 12 * (2000 + 2000) + 12 * 2000  # \\u001f, in two images and in the key
    assert size <= codec_of().rows(table_of(sql)).overhead + values


@pytest.mark.parametrize(
    ("expression", "field"),
    [
        ("md5(s)", {"type": "string", "optional": True}),
        ("b + 1e0", {"type": "double", "optional": True}),
        ("b is null", {"type": "int64", "optional": False}),
        ("cast(j->'$.a' as signed array)", {"type": "string", "optional": True, "name": "io.debezium.data.Json"}),
        ("cast(s as date)", {"type": "int32", "optional": True, "name": "io.debezium.time.Date"}),
    ],
)
def test_the_schema_ends_with_the_hidden_column_of_an_expression_index(expression: str, field: dict[str, Any]) -> None:
    sql = f"create table test.t (id int primary key, b int, s varchar(20), j json, key k (({expression})))"
    ((_, value),) = row_messages(sql, [{"op": "c", "after": {"id": 1, "b": 2, "s": "x", "j": "[1]"}}])
    message = json.loads(value)
    schema = message["schema"]["fields"][0]["fields"][-1]
    assert {**schema, **field, "field": "_V$_k_0"} == schema
    assert message["payload"]["after"].keys() == {"id", "b", "s", "j"}


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        ("id int not null, w int as (id) virtual not null, unique key (w, id)", b'{"id":1,"w":null}'),
        ("w int as (id) virtual not null, id int not null, unique key (w, id)", b'{"w":null,"id":1}'),
        ("id int not null, w int as (id) virtual not null, unique key (w)", b'{"w":null}'),
    ],
)
def test_the_handle_key_of_next_may_have_virtual_columns_which_are_null(columns: str, shown: bytes) -> None:
    for release, payload in (("next", shown), ("classic", b"{}")):
        uri = "memory://t/?protocol=debezium&debezium-disable-schema=true"
        encoder = Encoder(uri, f"create table test.t ({columns})", release=release, force_replicate=True)
        sent = encoder.encode([{"op": "c", "commit_ts": 450000000262144000, "after": {"id": 1}}])
        assert sent.column("key").to_pylist() == [b'{"payload":%s}' % payload]
