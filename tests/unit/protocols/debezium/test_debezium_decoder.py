"""The Debezium reader on the messages that TiCDC sent, with schema and without, and on bytes that it never sent."""

from __future__ import annotations

import datetime as dt
import json
import struct
from collections.abc import Mapping
from typing import Any

import pytest
from debezium_oracle import OracleColumn, connect_type, schema_default, told
from debezium_recorded import RecordedDebezium, debezium_messages

from ticdc_emit.consume.readers import guess_protocol
from ticdc_emit.delivery.base import Message
from ticdc_emit.protocols.debezium.decoder import DebeziumReader
from ticdc_emit.protocols.debezium_common.records import (
    DebeziumColumn,
    DebeziumDdl,
    DebeziumField,
    DebeziumRow,
    DebeziumSource,
    DebeziumTable,
    DebeziumTableChange,
    DebeziumWatermark,
)
from ticdc_emit.protocols.events import DecodeError

_READERS = {has_schema: DebeziumReader(has_schema) for has_schema in (True, False)}


def _read(message: RecordedDebezium) -> Any:
    return _READERS[message.has_schema].read(message.key, message.value)


def _of_kind(kind: str) -> list[RecordedDebezium]:
    return [message for message in debezium_messages() if message.event["kind"] == kind]


def _source(message: RecordedDebezium, schema: str, table: str, commit_ts: int) -> DebeziumSource:
    cluster = message.cluster_id
    return DebeziumSource("2.4.0.Final", "TiCDC", cluster, commit_ts >> 18, "false", schema, table, commit_ts, cluster)


# --- what TiCDC sent: rows --------------------------------------------------------------------------------------------


def _shown(column: OracleColumn, value: Any, message: RecordedDebezium) -> Any:
    """Return what the reader makes of a recorded value."""
    return told(column, value, message.time_zone, has_schema=message.has_schema, extension=message.extension)


def _bits(value: Any) -> Any:
    return struct.pack("<d", value) if isinstance(value, float) else (type(value), value)


def _check(read: Mapping[str, Any] | None, given: Mapping[str, Any] | None, message: RecordedDebezium) -> int:
    """Compare an image, return its number of cells."""
    if read is None or given is None:
        assert read is given, message
        return 0
    columns = message.columns()
    for name, value in read.items():
        expected = _shown(columns[name], given[name], message)
        if message.has_schema:
            assert _bits(value) == _bits(expected), (message, name)
        else:
            assert value == expected, (message, name)
    if not message.selects:
        assert list(read) == [name for name in columns if name in given]
    return len(read)


def test_rows_that_were_sent() -> None:
    cells = 0
    for message in _of_kind("row"):
        event, read = message.event, _read(message)
        assert isinstance(read, DebeziumRow)
        assert read.op == {"insert": "c", "update": "u", "delete": "d"}[event["op"]]
        assert read.source == _source(message, event["schema"], event["table"], event["commit_ts"])
        assert read.ts_ms == message.ts_ms
        before = event["before"] if message.old_value or read.op != "u" else None
        cells += _check(read.before, before, message) + _check(read.after, event["after"], message)
    assert cells > 10_000


def test_keys_that_were_sent() -> None:
    keyless = 0
    for message in _of_kind("row"):
        event, read, info = message.event, _read(message), message.table
        assert info is not None
        row, columns = event["after"] or event["before"], message.columns()
        expected = {name: _shown(columns[name], row[name], message) for name in read.key}
        if message.has_schema:
            assert {name: _bits(value) for name, value in read.key.items()} == {
                name: _bits(value) for name, value in expected.items()
            }
        else:
            assert read.key == expected
        primary = [c["name"] for c in info["columns"] if "primary_key" in (c["flags"] or ())]
        if primary and not message.selects:
            assert set(read.key) == set(primary), message
        keyless += not read.key
    assert keyless > 10


def test_schemas_that_were_sent() -> None:
    fields = defaults = 0
    for message in _of_kind("row"):
        read = _read(message)
        if not message.has_schema:
            assert (read.key_fields, read.fields) == (None, None)
            continue
        assert message.table is not None
        columns = message.columns()
        virtual = {c["name"] for c in message.table["columns"] if c.get("generated") == "virtual"}
        shown = read.after if read.after is not None else read.before
        assert {field.name for field in read.fields} - virtual == set(shown)
        assert [field.name for field in read.key_fields] == list(read.key)
        for field in (*read.fields, *read.key_fields):
            column = columns[field.name]
            assert (field.type, field.optional) == (connect_type(column), not column.not_null), (message, field)
            assert (field.tidb_type is not None) == message.extension
            if column.kind == "bit" and column.size > 1:
                assert field.parameters == {"length": str(column.size)}
            assert (field.semantic_type is not None) == (column.kind in _SEMANTIC_TYPES or field.type == "bytes")
            default = field.default
            number = isinstance(default, int) and not isinstance(default, bool)
            assert (float(default) if number else default) == schema_default(column), (message, field)
            fields, defaults = fields + 1, defaults + (default is not None)
    assert (fields > 5_000, defaults > 500) == (True, True)


_SEMANTIC_TYPES = {"enum", "set", "json", "vector", "date", "datetime", "timestamp", "time", "year"}


# --- what TiCDC sent: DDL and watermarks ------------------------------------------------------------------------------


def _column(members: Mapping[str, Any]) -> DebeziumColumn:
    enum_values = members["enumValues"]
    return DebeziumColumn(
        members["name"],
        members["jdbcType"],
        members["typeName"],
        members["typeExpression"],
        members["position"],
        members["optional"],
        members["nativeType"],
        members["comment"],
        members["defaultValueExpression"],
        None if enum_values is None else tuple(enum_values),
        members["charsetName"],
        members["length"],
        members["scale"],
        members["autoIncremented"],
        members["generated"],
    )


def _change(members: Mapping[str, Any]) -> DebeziumTableChange:
    table = members["table"]
    if table is not None:
        columns = tuple(_column(column) for column in table["columns"])
        names = tuple(table["primaryKeyColumnNames"])
        table = DebeziumTable(table["defaultCharsetName"], names, columns, table["comment"])
    return DebeziumTableChange(members["type"], members["id"], table)


def test_ddl_that_was_sent() -> None:
    columns = 0
    for message in _of_kind("ddl"):
        event, read, sent = message.event, _read(message), json.loads(message.value)["payload"]
        assert isinstance(read, DebeziumDdl)
        assert (read.ddl, read.ts_ms, read.schema_name) == (event["query"], message.ts_ms, None)
        source = sent["source"]
        assert read.database_name == source["db"] == json.loads(message.key)["payload"]["databaseName"]
        assert read.source == _source(message, source["db"], source["table"], event["commit_ts"])
        assert read.table_changes == tuple(_change(change) for change in sent["tableChanges"])
        for change in read.table_changes:
            recorded = event["table_info"]["columns"]
            for column in change.table.columns if change.table else ():
                told = recorded[column.position - 1]
                assert (column.name, column.optional) == (told["name"], "not_null" not in (told["flags"] or ()))
                columns += 1
    assert columns > 2_000


def test_kinds_of_table_changes_that_were_sent() -> None:
    changes = [change for message in _of_kind("ddl") for change in _read(message).table_changes]
    assert {(change.type, change.table is None) for change in changes} == {
        ("CREATE", False),
        ("ALTER", False),
        ("DROP", True),
        ("DROP", False),
    }


def test_watermarks_that_were_sent() -> None:
    messages = _of_kind("watermark")
    assert len(messages) > 20
    for message in messages:
        assert _read(message) == DebeziumWatermark(_source(message, "", "", message.event["ts"]), message.ts_ms)


# --- messages of one's own --------------------------------------------------------------------------------------------

_KEY_SCHEMA: dict[str, Any] = {"type": "struct", "name": "c.d.t.Key", "optional": False, "fields": []}
_KEY = {"payload": {}, "schema": _KEY_SCHEMA}
_TOLD = {"version": "v", "connector": "TiCDC", "name": "c", "ts_ms": 0, "snapshot": "false", "db": "d", "table": "t"}
_NONE = {"server_id": 0, "gtid": None, "file": "", "pos": 0, "row": 0, "thread": 0, "query": None}
_SOURCE = {**_TOLD, **_NONE, "commit_ts": 5, "cluster_id": "c"}


def _message(field: Mapping[str, Any], value: str, **members: Any) -> bytes:
    """Return an insert of one column named ``c``, its value as JSON text."""
    image = {"type": "struct", "optional": True, "fields": [{"optional": True, "field": "c", **field}]}
    schema = {"type": "struct", "fields": [{**image, "field": "before"}, {**image, "field": "after"}]}
    payload = {"source": _SOURCE, "ts_ms": 6, "transaction": None, "op": "c", "before": None, "after": "@", **members}
    text = json.dumps({"payload": payload, "schema": schema})
    return text.replace('"@"', f'{{"c":{value}}}').encode()


def _value(field: Mapping[str, Any], value: str) -> Any:
    read = _READERS[True].read(json.dumps(_KEY).encode(), _message(field, value))
    assert isinstance(read, DebeziumRow)
    assert read.after is not None
    return read.after["c"]


def _semantic(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "name": f"io.debezium.{name}", "version": 1}


_UNSIGNED = {"type": "int64", "tidb_type": "bigint unsigned"}
_VALUES: list[tuple[dict[str, Any], str, Any]] = [
    ({"type": "boolean"}, "true", True),
    (_semantic("bytes", "data.Bits"), '"AQI="', 0x0201),
    ({"type": "int16"}, "-32768", -32768),
    ({"type": "int32"}, "4", 4),
    ({"type": "int64"}, "-1", -1),
    (_UNSIGNED, "-1", (1 << 64) - 1),
    (_UNSIGNED, "1", 1),
    ({"type": "double"}, "5", 5.0),
    ({"type": "double"}, "-0", -0.0),
    ({"type": "float"}, "0.1", struct.unpack("<f", struct.pack("<f", 0.1))[0]),
    ({"type": "string"}, '"AQI="', "AQI="),
    ({"type": "string", "tidb_type": "varchar"}, '"AQI="', "AQI="),
    ({"type": "string", "tidb_type": "varbinary"}, '"AQI="', b"\1\2"),
    ({"type": "string", "tidb_type": "varbinary"}, '"AQI=","c":"\\u0001\\u0002"', b"\1\2"),
    (_semantic("int32", "time.Date"), "-1", dt.date(1969, 12, 31)),
    (_semantic("int64", "time.Timestamp"), "1500", dt.datetime(1970, 1, 1, 0, 0, 1, 500_000)),
    (_semantic("int64", "time.MicroTimestamp"), "-1", dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)),
    (_semantic("string", "time.ZonedTimestamp"), '"2024-05-05T01:02:03Z"', dt.datetime(2024, 5, 5, 1, 2, 3)),
    (_semantic("string", "time.ZonedTimestamp"), '"2024-05-05T01:02:03.5Z"', dt.datetime(2024, 5, 5, 1, 2, 3, 500_000)),
    (_semantic("int64", "time.MicroTime"), "-1000000", dt.timedelta(seconds=-1)),
    (_semantic("int32", "time.Year"), "2024", 2024),
    (_semantic("int32", "time.Year"), '"2024"', 2024),
    (_semantic("string", "data.EnumSet"), '"a,b"', "a,b"),
    ({"type": "int16"}, "null", None),
]


@pytest.mark.parametrize(("field", "text", "value"), _VALUES)
def test_values(field: dict[str, Any], text: str, value: Any) -> None:
    read = _value(field, text)
    if field.get("name", "").endswith("ZonedTimestamp"):
        value = value.replace(tzinfo=dt.timezone.utc)
    assert _bits(read) == _bits(value)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ({"type": "boolean"}, "1"),
        ({"type": "int16"}, "32768"),
        ({"type": "int32"}, "true"),
        ({"type": "int32"}, "1.0"),
        ({"type": "int64"}, '"1"'),
        ({"type": "float"}, "1e39"),
        ({"type": "double"}, '"1"'),
        ({"type": "string"}, "1"),
        ({"type": "string", "tidb_type": "blob"}, '"no base64"'),
        ({"type": "array"}, "[]"),
        ({"type": "int16", "optional": False}, "null"),
        (_semantic("bytes", "data.Bits"), '"*"'),
        (_semantic("int64", "time.Date"), "1"),
        (_semantic("int32", "time.Date"), "2147483647"),
        (_semantic("int64", "time.Timestamp"), "9223372036854775807"),
        (_semantic("string", "time.ZonedTimestamp"), '"2024-05-05 01:02:03"'),
        (_semantic("int32", "time.Year"), '"x"'),
    ],
)
def test_values_of_another_type(field: dict[str, Any], text: str) -> None:
    with pytest.raises(DecodeError, match="is not a value of the type") as caught:
        _value(field, text)
    assert (caught.value.context["field"], caught.value.context["part"]) == ("c", "value")


def test_a_columns_schema() -> None:
    field = {**_semantic("bytes", "data.Bits"), "parameters": {"length": "9"}, "default": "AAE=", "tidb_type": "bit"}
    read = _READERS[True].read(json.dumps(_KEY).encode(), _message(field, '"AQI="'))
    assert isinstance(read, DebeziumRow)
    expected = DebeziumField("c", "bytes", True, "io.debezium.data.Bits", {"length": "9"}, "AAE=", "bit")
    assert (read.fields, read.key_fields) == ((expected,), ())


_INT = {"type": "int32"}
_GOOD_KEY, _GOOD = json.dumps(_KEY).encode(), _message(_INT, "1")


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, _GOOD, "has a key"),
        (_GOOD_KEY, None, "has a value"),
        (_GOOD_KEY, b"", "has a value"),
        (b"\xff", _GOOD, "not JSON"),
        (_GOOD_KEY, b"{", "not JSON"),
        (_GOOD_KEY, b"[]", "not a JSON object"),
        (_GOOD_KEY, _message({"type": "double"}, "NaN"), "NaN is not a JSON number"),
        (b'{"payload":{}}', _GOOD, "the key has no schema"),
        (_GOOD_KEY, b'{"payload":{}}', "the value has no schema"),
        (_GOOD_KEY, b'{"schema":{}}', "lacks a member"),
        (_GOOD_KEY, b'{"payload":{},"schema":{}}', "lacks a member"),
        (_GOOD_KEY, _message(_INT, "1", op="r"), "'r' is not an op"),
        (_GOOD_KEY, _message(_INT, "1", op="d"), "has no row before"),
        (_GOOD_KEY, _message(_INT, "1", op="d", before={"c": 1}), "has a row after"),
        (_GOOD_KEY, _message(_INT, "1", before={"c": 1}), "has a row before"),
        (_GOOD_KEY, _message(_INT, "1", after=None), "has no row after"),
        (_GOOD_KEY, _message(_INT, "1", ts_ms=True), "not int: True"),
        (_GOOD_KEY, _message(_INT, "1", source={**_SOURCE, "commit_ts": "5"}), "not int: '5'"),
        (_GOOD_KEY, _message(_INT, "1", after={"x": 1}), "no such column"),
        (_GOOD_KEY, _message(_INT, "1", ddl="x"), "lacks a member"),
        (_GOOD_KEY, _GOOD.replace(b'"field": "before"', b'"field": "op"'), "one row for before and after"),
        (_GOOD_KEY, _GOOD.replace(b'"int32"', b'"int16"', 1), "one row for before and after"),
        (_GOOD_KEY.replace(b"[]", b"[1]"), _GOOD, "not a list of objects"),
    ],
)
def test_bad_messages(key: bytes | None, value: bytes | None, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        _READERS[True].read(key, value)


def test_a_schema_that_was_switched_off() -> None:
    with pytest.raises(DecodeError, match="the key has a schema") as caught:
        _READERS[False].read(_GOOD_KEY, _GOOD)
    assert caught.value.remedy == "Read it with has_schema=True"


@pytest.mark.parametrize("key", [None, b""])
def test_a_release_without_keys(key: bytes | None) -> None:
    read = DebeziumReader(has_key=False).read(key, _GOOD)
    assert isinstance(read, DebeziumRow)
    assert (read.key, read.key_fields, read.after) == ({}, None, {"c": 1})
    assert guess_protocol(Message("topic", 0, 0, key, _GOOD)) == "debezium"
    with pytest.raises(DecodeError, match="the message has a key"):
        DebeziumReader(has_key=False).read(_GOOD_KEY, _GOOD)


def test_an_update_without_old_values() -> None:
    without = json.loads(_message(_INT, "1", op="u"))
    del without["payload"]["before"]
    read = _READERS[True].read(_GOOD_KEY, json.dumps(without).encode())
    assert isinstance(read, DebeziumRow)
    assert (read.op, read.before, read.after) == ("u", None, {"c": 1})
