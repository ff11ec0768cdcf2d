"""Checksums on the consumer's side: what TiCDC sent is accepted, and any other value of any type is not."""

from __future__ import annotations

import json
import pickle
import struct
from decimal import Decimal
from typing import Any
from zlib import crc32

import pytest
from recorded import Recorded, recorded

from ticdc_emit.config import Protocol
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.protocols.avro.decoder import AvroMessage, AvroReader, verify_checksum
from ticdc_emit.protocols.avro.schema import EXTENSION_FIELDS
from ticdc_emit.protocols.events import ChecksumMismatchError, DecodeError

_CHECKED = [each for each in recorded(Protocol.AVRO) if each.event.get("checksum")]


def _read(message: Recorded) -> AvroMessage:
    return AvroReader(message.schemas).read(message.key, message.value).message


@pytest.mark.parametrize("message", _CHECKED, ids=[f"{m.case.name}-{at}" for at, m in enumerate(_CHECKED)])
def test_what_was_sent(message: Recorded) -> None:
    read, stated, zone = _read(message), message.event["checksum"], message.case.time_zone
    if not message.value or stated["current"] == 0:  # a delete, or half of a split update
        assert verify_checksum(read.fields, read.schema, zone) is None
    elif not stated["corrupted"]:
        assert verify_checksum(read.fields, read.schema, zone) == stated["current"]
    else:
        with pytest.raises(ChecksumMismatchError) as caught:
            verify_checksum(read.fields, read.schema, zone)
        assert (caught.value.expected, caught.value.corrupted) == (stated["current"], True)


def test_every_case_was_checked() -> None:
    cases = {message.case.name for message in _CHECKED}
    assert {"checksum_all_types", "checksum_column_order", "checksum_utc", "times_dst", "txn_checksum"} < cases
    assert len(_CHECKED) >= 25


def test_a_timestamp_needs_the_time_zone() -> None:
    message = next(m for m in _CHECKED if m.case.name == "checksum_all_types" and m.event["op"] == "insert")
    read = _read(message)
    with pytest.raises(ChecksumMismatchError, match="give its time zone") as caught:
        verify_checksum(read.fields, read.schema)
    assert caught.value.expected == message.event["checksum"]["current"] != caught.value.actual


# --- every type -------------------------------------------------------------------------------------------------------


def _field(kind: str, avro: str = "string", **parameters: str) -> dict[str, Any]:
    return {"name": "c", "type": {"type": avro, "connect.parameters": {"tidb_type": kind, **parameters}}}


def _schema(*fields: dict[str, Any]) -> dict[str, Any]:
    extension = [{"name": name, "type": kind} for name, kind, _ in EXTENSION_FIELDS]
    return {"type": "record", "name": "t", "fields": [*fields, *extension]}


def _word(number: int) -> bytes:
    return (number & (1 << 64) - 1).to_bytes(8, "little")


def _long(data: str | bytes) -> bytes:
    raw = data.encode() if isinstance(data, str) else data
    return len(raw).to_bytes(4, "little") + raw


_QUOTED = {"allowed": "a\\,b,it's,c"}  # elements: a,b | it''s | c
_TYPES: list[tuple[dict[str, Any], Any, bytes, Any]] = [
    (_field("INT", "int"), -1, b"\xff" * 8, 1),
    (_field("INT UNSIGNED", "long"), 4294967295, _word(4294967295), 0),
    (_field("BIGINT", "long"), -(1 << 63), _word(1 << 63), (1 << 63) - 1),
    (_field("BIGINT UNSIGNED"), "18446744073709551615", b"\xff" * 8, "1844674407370955161"),
    (_field("YEAR", "int"), 2024, _word(2024), 2025),
    (_field("FLOAT", "float"), 0.5, struct.pack("<d", 0.5), 0.25),
    (_field("DOUBLE", "double"), -0.0, struct.pack("<d", -0.0), 0.0),
    (_field("DOUBLE", "double"), float("inf"), _word(0), 1.0),
    (_field("DOUBLE", "double"), float("nan"), _word(0), 1.0),
    (_field("BIT", "bytes", length="10"), b"\x02\x01", _word(513), b"\x02"),
    (_field("BIT", "bytes", length="10"), b"\0\0\x01", _word(1), b"\0"),
    (_field("DECIMAL"), "12.50", _long("12.50"), "12.5"),
    (_field("TEXT"), "中", _long("中"), ""),
    (_field("TEXT"), "", b"\0\0\0\0", None),
    (_field("BLOB", "bytes"), b"\0\xff", _long(b"\0\xff"), b"\0"),
    (_field("JSON"), '{"a": 1}', _long('{"a": 1}'), '{"a":1}'),
    (_field("DATE"), "0000-00-00", _long("0000-00-00"), "2024-05-05"),
    (_field("DATETIME"), "2024-05-05 01:02:03.5", _long("2024-05-05 01:02:03.5"), "2024-05-05 01:02:03"),
    (_field("TIMESTAMP"), "0000-00-00 00:00:00", _long("0000-00-00 00:00:00"), "2024-05-05 00:00:00"),
    (_field("TIMESTAMP"), "2024-05-05 00:00:00.25", _long("2024-05-05 00:00:00.25"), "2024-05-05 00:00:00.26"),
    (_field("TIME"), "-838:59:59", _long("-838:59:59"), "838:59:59"),
    (_field("ENUM", allowed="x,y"), "y", _word(2), "x"),
    (_field("ENUM", **_QUOTED), "a,b", _word(1), "c"),
    (_field("ENUM", **_QUOTED), "it''s", _word(2), "c"),
    (_field("ENUM", **_QUOTED), "c", _word(3), "a,b"),
    (_field("ENUM", allowed=",x"), "", _word(1), "x"),
    (_field("SET", allowed="x,it's,z"), "x,z", _word(5), "x"),
    (_field("SET", allowed="x,it's,z"), "it''s", _word(2), ""),
    (_field("SET", allowed="x,y,z"), "", _word(0), "z"),
    (_field("TiDBVECTORFloat32"), "[1,-0.1]", struct.pack("<Iff", 2, 1, -0.1), "[1,-0.2]"),
    (_field("TiDBVECTORFloat32"), "[]", _word(0)[:4], "[0]"),
]


@pytest.mark.parametrize(("field", "value", "data", "other"), _TYPES)
def test_types(field: dict[str, Any], value: Any, data: bytes, other: Any) -> None:
    number = crc32(data)
    row = {"c": value, "_tidb_op": "c", "_tidb_row_level_checksum": str(number)}
    nullable = [{**field, "type": [field["type"], "null"]}, {**field, "type": ["null", field["type"]]}]
    for each in (field, *nullable):
        assert verify_checksum(row, _schema(each)) == number
        assert verify_checksum(row, json.dumps(_schema(each))) == number
        for wrong in (other, None):
            with pytest.raises(ChecksumMismatchError):
                verify_checksum({**row, "c": wrong}, _schema(each))


def test_fields_up_to_the_first_extension_field_in_order() -> None:
    fields = [{**_field("INT", "int"), "name": "b"}, {**_field("TEXT"), "name": "a"}]
    number = crc32(_word(7) + _long("x"))
    row = {"a": "x", "b": 7, "_tidb_op": "u", "_tidb_row_level_checksum": str(number)}
    schema = _schema(*fields)
    assert verify_checksum(row, schema) == number
    with pytest.raises(ChecksumMismatchError):
        verify_checksum(row, _schema(*fields[::-1]))


@pytest.mark.parametrize(
    ("zone", "shown", "utc"),
    [
        ("America/New_York", "2021-11-07 01:30:00.5", "2021-11-07 05:30:00.5"),  # shown twice: the earlier
        ("Europe/Berlin", "2024-10-27 02:30:00", "2024-10-27 01:30:00"),  # shown twice: the later
        ("Asia/Shanghai", "2024-05-05 05:05:05.000", "2024-05-04 21:05:05.000"),
        ("Asia/Shanghai", "0000-00-00 00:00:00", "0000-00-00 00:00:00"),
    ],
)
def test_timestamps_in_utc(zone: str, shown: str, utc: str) -> None:
    row = {"c": shown, "_tidb_row_level_checksum": str(crc32(_long(utc)))}
    assert verify_checksum(row, _schema(_field("TIMESTAMP")), zone) == crc32(_long(utc))


# --- nothing to check, and what cannot be checked ---------------------------------------------------------------------


@pytest.mark.parametrize("stated", [{}, {"_tidb_row_level_checksum": ""}, {"_tidb_row_level_checksum": "0"}])
def test_nothing_to_check(stated: dict[str, str]) -> None:
    assert verify_checksum({"c": "x", **stated}, _schema(_field("TEXT"))) is None


def test_a_delete_has_nothing_to_check() -> None:
    assert verify_checksum(None, _schema(_field("TEXT"))) is None


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        (_field("GEOMETRY"), "x", "GEOMETRY"),
        (_field("ENUM", allowed="x,y"), "z", "is not in list"),
        (_field("SET", allowed="x,y"), "x,z", "is not in list"),
        (_field("ENUM"), "x", "allowed"),
        (_field("TEXT"), 5, "int is not text"),
        (_field("DECIMAL", "bytes"), Decimal("1.5"), "Decimal is not text"),
        (_field("BIGINT UNSIGNED"), "+5", "not an unsigned number"),
        (_field("BIT", "bytes"), b"\1" + bytes(8), "too big"),
        (_field("TiDBVECTORFloat32"), "[1,.5]", "not a vector"),
        (_field("TiDBVECTORFloat32"), "1,5", "not a vector"),
        (_field("TiDBVECTORFloat32"), "[1" + "0" * 39 + "]", "too large"),
        (_field("TIMESTAMP"), "2021-03-14 02:30:00", "clocks of America/New_York skip"),
        (_field("TIMESTAMP"), "2021-03-14T01:30:00", "not a TIMESTAMP"),
        ({"name": "c", "type": "string"}, "x", "does not show the column's type"),
        ({"name": "d", "type": _field("TEXT")["type"]}, "x", "KeyError: 'd'"),
    ],
)
def test_what_cannot_be_checked(field: dict[str, Any], value: Any, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason) as caught:
        verify_checksum({"c": value, "_tidb_row_level_checksum": "1"}, _schema(field), "America/New_York")
    assert not isinstance(caught.value, ChecksumMismatchError)
    assert caught.value.context["field"] == field["name"]


@pytest.mark.parametrize("stated", ["x", "-1", 5, "1" * 21])
def test_a_checksum_that_is_no_number(stated: Any) -> None:
    with pytest.raises(DecodeError, match="is not a number"):
        verify_checksum({"c": "x", "_tidb_row_level_checksum": stated}, _schema(_field("TEXT")))


@pytest.mark.parametrize("schema", ["", "[]", "{}", {"fields": [{}]}, {"fields": None}])
def test_a_schema_that_is_none(schema: Any) -> None:
    with pytest.raises(DecodeError, match="does not describe a table"):
        verify_checksum({"_tidb_row_level_checksum": "1"}, schema)


def test_the_mismatch_crosses_processes() -> None:
    with pytest.raises(ChecksumMismatchError) as caught:
        verify_checksum({"c": "x", "_tidb_row_level_checksum": "1"}, _schema(_field("TEXT")))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(copy, TicdcEmitError)
    assert (copy.expected, copy.actual, copy.table) == (1, crc32(_long("x")), "t")
