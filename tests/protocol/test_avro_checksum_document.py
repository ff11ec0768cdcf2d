"""The "TiCDC Row Data Checksum Verification Based on Avro" document as tests.

The document is one consumer program. Its steps stand below (``_document_checksum``), as they are in it; messages that
the encoder makes are accepted by it, for every TiDB type and every case of ``buildChecksumBytes`` that it has. Where it
refuses or crashes on what TiCDC really sends, the row says what ``ticdc_emit.consume.verify_checksum`` does instead:

====================================================== ============================================== ==================
the document                                           the bytes                                      seen in
====================================================== ============================================== ==================
TIMESTAMP: the text of the message                     the checksum is over the text in UTC: accepted checksum_all_types
                                                       only where the changefeed's zone is UTC
a clock set back makes two instants one text: not said TiCDC marks the row with the other instant     times_dst
                                                       as corrupted
``strings.Split(allowed, ",")``                        a comma inside an element is ``\\,``            enums_sets
labels of ``allowed`` are those of the value           ``''`` in an element is ``'`` in ``allowed``   enums_sets
no case for VECTOR (the program ends)                  ``TiDBVECTORFloat32``: dimensions, float32s    vectors
"0" is a checksum like any other                       it stands where there is none: both halves of  txn_checksum
                                                       a split UPDATE
goes on with an empty value after saying "skip"        a delete has a null value                      checksum_utc
a corrupted row ends the program                       TiCDC says so itself: ``_tidb_corrupted``      checksum_corrupted
"column IDs are used to sort the fields"               only with integrity checks; without, fields    checksum_column_
                                                       have table order and there is no checksum      order
====================================================== ============================================== ==================
"""

from __future__ import annotations

import io
import json
import math
import struct
from dataclasses import replace
from typing import Any
from zlib import crc32

import fastavro
import pytest
from avro_rows import AvroRow
from vector_files import content_of, load_vector

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import ConfigError
from ticdc_emit.protocols.avro.decoder import AvroReader, verify_checksum
from ticdc_emit.protocols.events import ChecksumMismatchError
from ticdc_emit.registry.base import MemoryRegistry

_URI = "kafka://127.0.0.1:9092/avro-checksum-test?protocol=avro"
_STRINGS = "&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
_CORRECTNESS = "[integrity]\nintegrity-check-level = 'correctness'\n"
_REGISTRY = "http://127.0.0.1:8081"
_COMMIT_TS = 450000000262144000


# --- the document's program -------------------------------------------------------------------------------------------


def _append_length_value(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def _document_bytes(value: Any, tidb_type: str, allowed: list[str]) -> bytes:
    """``getColumnValue`` and ``buildChecksumBytes``."""
    if value is None:
        return b""
    if tidb_type in ("INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "YEAR"):
        return struct.pack("<Q", int(value) % (1 << 64))
    if tidb_type in ("FLOAT", "DOUBLE"):
        return struct.pack("<d", 0.0 if math.isinf(value) or math.isnan(value) else value)
    if tidb_type == "ENUM":
        return struct.pack("<Q", allowed.index(value) + 1)
    if tidb_type == "SET":
        return struct.pack("<Q", sum(1 << allowed.index(label) for label in value.split(",")) if value else 0)
    if tidb_type == "BIT":
        return struct.pack("<Q", int.from_bytes(value.lstrip(b"\0"), "big"))
    if tidb_type == "BLOB":
        return _append_length_value(value)
    if tidb_type in ("TEXT", "DECIMAL", "JSON", "DATE", "DATETIME", "TIMESTAMP", "TIME"):
        return _append_length_value(value.encode())
    raise LookupError(f"this should not happen, unknown TiDB type {tidb_type}")


def _document_checksum(value: dict[str, Any], schema: dict[str, Any]) -> int:
    """``CalculateAndVerifyChecksum`` up to the comparison."""
    actual = 0
    for field in schema["fields"]:
        if field["name"] == "_tidb_op":
            break
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        holder = next(kind for kind in kinds if isinstance(kind, dict))["connect.parameters"]
        allowed = holder.get("allowed", "").split(",")
        actual = crc32(_document_bytes(value[field["name"]], holder["tidb_type"], allowed), actual)
    return actual


def _document_read(data: bytes, schemas: dict[int, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """``getValueMapAndSchema``: a zero byte, four bytes of schema id, the record."""
    assert len(data) >= 5
    assert data[0] == 0
    schema = json.loads(schemas[int.from_bytes(data[1:5], "big")])
    value = fastavro.schemaless_reader(io.BytesIO(data[5:]), fastavro.parse_schema(schema), None)
    assert isinstance(value, dict)
    return value, schema


# --- what a changefeed sends ------------------------------------------------------------------------------------------


class _Topic:
    """The messages of one table with integrity checks, as the document's program and as our reader see them."""

    def __init__(self, sql: str, zone: str = "UTC", toml: str = _CORRECTNESS) -> None:
        self.zone = zone
        self.registry = MemoryRegistry()
        uri = f"{_URI}&enable-tidb-extension=true{_STRINGS}&schema-registry={_REGISTRY}"
        # the document shows tables without a key, which no changefeed of Avro has
        config = replace(load_changefeed(uri, toml, time_zone=zone), force_replicate=True)
        self.encoder = Encoder(config, sql, registry=self.registry)
        self.sent: list[tuple[bytes | None, bytes | None]] = []

    def change(self, op: str, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None) -> bytes:
        row = {"op": op, "commit_ts": _COMMIT_TS + (len(self.sent) << 18), "before": before, "after": after}
        (message,) = self.encoder.encode([row]).to_pylist()
        self.sent.append((message["key"], message["value"]))
        return message["value"] or b""

    @property
    def schemas(self) -> dict[int, str]:
        return {post.id: post.schema for post in self.registry.posts if post.id is not None}

    def document(self) -> tuple[int, int]:
        """Return what the document's program expects of the last message, and what it finds."""
        value, schema = _document_read(self.sent[-1][1] or b"", self.schemas)
        return int(value["_tidb_row_level_checksum"]), _document_checksum(value, schema)

    def row(self) -> AvroRow:
        return AvroRow(AvroReader(self.schemas), *self.sent[-1])


def _topic(mysql: str, value: Any, zone: str = "UTC") -> _Topic:
    topic = _Topic(f"create table test.t (id int primary key, c {mysql})", zone)
    topic.change("c", after={"id": 1, "c": value})
    return topic


# ``mysqlTypeFromTiDBType``: every TiDB type that the document knows, and every Go type of ``buildChecksumBytes``.
_TIDB_TYPES: list[tuple[str, str, list[Any]]] = [
    ("INT", "tinyint", [-128, 0, 127]),
    ("INT", "smallint", [-32768, 32767]),
    ("INT", "mediumint", [-8388608, 8388607]),
    ("INT", "int", [-2147483648, -1, 2147483647]),
    ("INT UNSIGNED", "tinyint unsigned", [0, 255]),
    ("INT UNSIGNED", "int unsigned", [0, 4294967295]),
    ("BIGINT", "bigint", [-(1 << 63), -1, (1 << 63) - 1]),
    ("BIGINT UNSIGNED", "bigint unsigned", [0, 1 << 63, (1 << 64) - 1]),
    ("FLOAT", "float", [0.0, 3.14, -1e30]),
    ("DOUBLE", "double", [0.0, 3.14, -1e300]),
    ("BIT", "bit(64)", [0, 1, 513, (1 << 64) - 1]),
    ("DECIMAL", "decimal(12,6)", ["2333.654321", "-0.5", "0"]),
    ("TEXT", "varchar(20)", ["", "中文", "a'b\\"]),
    ("TEXT", "char(5)", ["abc"]),
    ("TEXT", "text", ["x" * 1000]),
    ("BLOB", "blob", [b"", b"\0\xff"]),
    ("BLOB", "binary(4)", [b"ab"]),
    ("BLOB", "varbinary(4)", [b"ab"]),
    ("ENUM", "enum('a','b','c')", ["a", "c"]),
    ("SET", "set('a','b','c')", ["", "a", "a,c"]),
    ("JSON", "json", ['{"b":1.0,"a":[true,null]}']),
    ("DATE", "date", ["0000-00-00", "2024-02-29"]),
    ("DATETIME", "datetime(3)", ["2024-02-29 01:02:03.5"]),
    ("TIMESTAMP", "timestamp(3) null", ["2024-02-29 01:02:03.5", "0000-00-00 00:00:00"]),
    ("TIME", "time(1)", ["-838:59:59", "12:00:00.5"]),
    ("YEAR", "year", [0, 1901, 2155]),
]


@pytest.mark.parametrize(("tidb_type", "mysql", "values"), _TIDB_TYPES)
def test_the_documents_program_accepts_every_type(tidb_type: str, mysql: str, values: list[Any]) -> None:
    for value in (*values, None):
        topic = _topic(mysql, value)
        expected, actual = topic.document()
        assert expected == actual == topic.row().verify()
        (field,) = (field for field in (topic.row().schema or {})["fields"] if field["name"] == "c")
        assert field["type"][1]["connect.parameters"]["tidb_type"] == tidb_type
        defaulted = _Topic(f"create table test.t (id int primary key, c {mysql} not null)".replace(" null not", " not"))
        if value is not None:
            defaulted.change("c", after={"id": 1, "c": value})
            assert defaulted.document() == (expected, expected)  # the type is no union, the checksum the same


def test_the_types_are_those_of_the_document() -> None:
    document = {
        "INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "FLOAT", "DOUBLE", "BIT", "DECIMAL", "TEXT", "BLOB", "ENUM",
        "SET", "JSON", "DATE", "DATETIME", "TIMESTAMP", "TIME", "YEAR",
    }  # fmt: skip
    assert {tidb_type for tidb_type, _, _ in _TIDB_TYPES} == document


def test_steps() -> None:
    """Expected value, bytes of each column in the order of the fields, comparison; also after the order has changed."""
    topic = _Topic("create table test.t (id int primary key, a varchar(5), b int)")
    topic.encoder.ddl("alter table test.t modify column b int first", _COMMIT_TS - 1)
    topic.change("c", after={"b": 7, "id": 1, "a": "x"})
    row = topic.row()
    assert row.schema is not None
    assert [field["name"] for field in row.schema["fields"]][:4] == ["id", "a", "b", "_tidb_op"]
    expected = crc32(struct.pack("<Q", 1) + b"\1\0\0\0x" + struct.pack("<Q", 7))
    assert row.fields is not None
    assert (row.checksum, row.corrupted, row.checksum_version) == (str(expected), False, 2)
    assert topic.document() == (expected, expected)
    assert row.verify() == expected
    with pytest.raises(ChecksumMismatchError) as caught:
        verify_checksum({**row.fields, "b": 8}, row.schema)
    assert (caught.value.expected, caught.value.table) == (expected, "t")


def test_an_update_shows_the_checksum_of_the_row_as_it_is_now() -> None:
    topic = _topic("int", 1)
    topic.change("u", before={"id": 1, "c": 1}, after={"id": 1, "c": 2})
    expected = crc32(struct.pack("<QQ", 1, 2))
    assert topic.document() == (expected, expected)


def test_extension_fields_of_the_checksum() -> None:
    fields = (_topic("int", 1).row().schema or {})["fields"]
    assert [field["name"] for field in fields][-6:] == [
        "_tidb_op", "_tidb_commit_ts", "_tidb_commit_physical_time", "_tidb_row_level_checksum", "_tidb_corrupted",
        "_tidb_checksum_version",
    ]  # fmt: skip


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        _STRINGS,  # the extension is off
        "&enable-tidb-extension=true&avro-decimal-handling-mode=string",
        "&enable-tidb-extension=true&avro-bigint-unsigned-handling-mode=string",
        "&enable-tidb-extension=true" + _STRINGS.replace("=string", "=precise", 1),
    ],
)
def test_what_the_feature_must_have(options: str) -> None:
    with pytest.raises(ConfigError):
        load_changefeed(_URI + options, _CORRECTNESS, schema_registry=_REGISTRY)


@pytest.mark.parametrize("toml", [None, "[integrity]\nintegrity-check-level = 'none'\n"])
def test_without_the_feature_there_is_no_checksum(toml: str | None) -> None:
    topic = _Topic("create table test.t (id int primary key, c int)", toml=toml or "")
    topic.encoder.ddl("alter table test.t modify column c int first", _COMMIT_TS - 1)
    topic.change("c", after={"id": 1, "c": 1})
    row = topic.row()
    assert [field["name"] for field in (row.schema or {})["fields"]][:2] == ["c", "id"]  # not by column id
    assert "_tidb_row_level_checksum" not in (row.fields or {})
    assert row.verify() is None


# --- where the document is wrong --------------------------------------------------------------------------------------


def test_timestamps_of_another_zone() -> None:
    topic = _topic("timestamp null", "2024-05-05 08:00:00", "Asia/Shanghai")
    row = topic.row()
    assert (row.value or {})["c"] == "2024-05-05 08:00:00"
    expected, actual = topic.document()
    assert expected != actual
    assert expected == crc32(struct.pack("<QI", 1, 19) + b"2024-05-05 00:00:00")
    assert row.verify("Asia/Shanghai") == expected
    with pytest.raises(ChecksumMismatchError, match="give its time zone"):
        row.verify()


@pytest.mark.parametrize(
    ("mysql", "value", "number"),
    [
        ("enum('a,b','c')", "c", 2),
        ("enum('a,b','c')", "a,b", 1),
        ("enum('it''''s','c')", "it''s", 1),
        ("set('it''''s','c')", "it''s,c", 3),
    ],
)
def test_elements_that_are_shown_otherwise(mysql: str, value: str, number: int) -> None:
    topic = _topic(mysql, value)
    assert topic.row().verify() == crc32(struct.pack("<QQ", 1, number))
    try:
        expected, actual = topic.document()
    except ValueError:  # the label is not among the parts
        return
    assert expected != actual


def test_vectors() -> None:
    topic = _topic("vector(2)", "[1,-0.5]")
    with pytest.raises(LookupError, match="unknown TiDB type TiDBVECTORFloat32"):
        topic.document()
    assert topic.row().verify() == crc32(struct.pack("<QIff", 1, 2, 1, -0.5))


def test_a_delete() -> None:
    topic = _topic("int", 1)
    assert topic.change("d", before={"id": 1, "c": 1}) == b""
    row = topic.row()
    assert (row.event.op, row.value, row.verify()) == ("delete", None, None)
    assert verify_checksum(None, {}) is None


def test_an_empty_checksum_is_not_checked() -> None:
    row = _topic("int", 1).row()
    assert row.fields is not None
    assert row.schema is not None
    for stated in ("", "0"):
        assert verify_checksum({**row.fields, "_tidb_row_level_checksum": stated, "c": 2}, row.schema) is None


# --- the recorded bytes -----------------------------------------------------------------------------------------------


def _recorded(case: str) -> list[tuple[str, AvroRow]]:
    """Return the rows of a vector, with the changefeed's time zone."""
    vector = load_vector(case)
    variant = next(each for each in vector["variants"] if each["id"] == "avro-string")
    reader = AvroReader({post["id"]: post["schema"] for post in variant["registrations"]})
    found = []
    for message in variant["messages"]:
        if message.get("key"):
            parts = [message[part] and content_of(message[part]) for part in ("key", "value")]
            found.append((vector["timezone"], AvroRow(reader, *parts)))
    return found


@pytest.mark.parametrize("case", ["checksum_all_types", "checksum_column_order", "checksum_utc"])
def test_recorded_rows(case: str) -> None:
    rows = _recorded(case)
    assert any(row.event.op == "delete" for _, row in rows)
    for zone, row in rows:
        assert row.verify(zone) == (int(row.checksum) if row.checksum else None)
        if zone == "UTC" and row.fields is not None and row.schema is not None:
            assert _document_checksum(dict(row.fields), dict(row.schema)) == int(row.checksum or 0)


@pytest.mark.parametrize(("case", "corrupted"), [("checksum_corrupted", 2), ("times_dst", 2)])
def test_recorded_corrupted_rows(case: str, corrupted: int) -> None:
    marked = [(zone, row) for zone, row in _recorded(case) if row.corrupted]
    assert len(marked) == corrupted
    for zone, row in marked:
        with pytest.raises(ChecksumMismatchError) as caught:
            row.verify(zone)
        assert caught.value.corrupted is True


def test_recorded_halves_of_a_split_update() -> None:
    zeros = [row for _, row in _recorded("txn_checksum") if row.checksum == "0"]
    assert zeros
    for row in zeros:
        assert row.fields is not None
        assert row.schema is not None
        assert row.verify() is None
        assert _document_checksum(dict(row.fields), dict(row.schema)) != 0
