"""The Debezium reader on values of every type without a table, and on bytes that TiCDC never sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ticdc_emit.consume.readers import guess_protocol
from ticdc_emit.delivery.base import Message
from ticdc_emit.protocols.debezium.decoder import DebeziumReader
from ticdc_emit.protocols.debezium_common.records import DebeziumField
from ticdc_emit.protocols.events import DecodeError, RowEvent

_READERS = {has_schema: DebeziumReader(has_schema) for has_schema in (True, False)}

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


def _row(field: Mapping[str, Any], value: str) -> RowEvent:
    return _READERS[True].read(json.dumps(_KEY).encode(), _message(field, value))


def _value(field: Mapping[str, Any], value: str) -> Any:
    """Return the canonical text of a value without a table."""
    after = _READERS[True].text(_row(field, value)).after
    return after["c"]


def _semantic(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "name": f"io.debezium.{name}", "version": 1}


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        ({"type": "boolean"}, "true", "1"),
        (_semantic("bytes", "data.Bits"), '"AQI="', "513"),
        ({"type": "int16"}, "-32768", "-32768"),
        ({"type": "int32"}, "null", None),
        ({"type": "int64", "tidb_type": "bigint unsigned"}, "-1", str((1 << 64) - 1)),
        ({"type": "double"}, "5", "5"),
        ({"type": "double"}, "-0", "-0"),
        ({"type": "float"}, "0.1", "0.1"),
        ({"type": "string"}, '"AQI="', "AQI="),
        ({"type": "string", "tidb_type": "varbinary"}, '"AQI=","c":"\\u0001\\u0002"', "AQI="),
        (_semantic("int32", "time.Date"), "-1", "1969-12-31"),
        (_semantic("int64", "time.Timestamp"), "1500", "1970-01-01 00:00:01.500"),
        (_semantic("int64", "time.MicroTimestamp"), "-1", "1969-12-31 23:59:59.999999"),
        (_semantic("string", "time.ZonedTimestamp"), '"2024-05-05T01:02:03Z"', "2024-05-05 01:02:03"),
        (_semantic("string", "time.ZonedTimestamp"), '"2024-05-05T01:02:03.5Z"', "2024-05-05 01:02:03.5"),
        (_semantic("int64", "time.MicroTime"), "-1000000", "-00:00:01.000000"),
        (_semantic("int32", "time.Year"), '"2024"', "2024"),
        (_semantic("string", "data.EnumSet"), '"a,b"', "a,b"),
    ],
)
def test_values_without_a_table(field: dict[str, Any], text: str, expected: str | None) -> None:
    assert _value(field, text) == expected


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ({"type": "float"}, '"x"'),
        (_semantic("bytes", "data.Bits"), '"*"'),
        (_semantic("int32", "time.Date"), '"1"'),
        (_semantic("int64", "time.Timestamp"), "9223372036854775807"),
        (_semantic("string", "time.ZonedTimestamp"), "2024"),
        (_semantic("int32", "time.Year"), '"x"'),
    ],
)
def test_values_of_another_type(field: dict[str, Any], text: str) -> None:
    with pytest.raises(DecodeError, match="is not a value of the column") as caught:
        _value(field, text)
    assert caught.value.context["field"] == "c"


def test_a_columns_schema() -> None:
    field = {**_semantic("bytes", "data.Bits"), "parameters": {"length": "9"}, "default": "AAE=", "tidb_type": "bit"}
    message = _row(field, '"AQI="').message
    expected = DebeziumField("c", "bytes", True, "io.debezium.data.Bits", {"length": "9"}, "AAE=", "bit")
    assert (message.fields, message.key_fields) == ((expected,), ())


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
    assert caught.value.remedy == "Give that option, or read it with has_schema=True"


@pytest.mark.parametrize("key", [None, b""])
def test_a_release_without_keys(key: bytes | None) -> None:
    read = DebeziumReader(has_key=False).read(key, _GOOD)
    assert (read.key, read.message.key_fields, read.after) == ({}, None, {"c": 1})
    assert guess_protocol(Message("topic", 0, 0, key, _GOOD)) == "debezium"
    with pytest.raises(DecodeError, match="the message has a key"):
        DebeziumReader(has_key=False).read(_GOOD_KEY, _GOOD)


def test_an_update_without_old_values() -> None:
    without = json.loads(_message(_INT, "1", op="u"))
    del without["payload"]["before"]
    read = _READERS[True].read(_GOOD_KEY, json.dumps(without).encode())
    assert (read.op, read.before, read.after) == ("update", None, {"c": 1})
