"""The Simple reader on the messages that TiCDC sent in both encodings, and on bytes that it never sent."""

from __future__ import annotations

import base64
import json
import re
import struct
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from simple_recorded import RecordedSimple, simple_messages

import ticdc_emit.protocols.simple
from ticdc_emit.errors import ConfigError, MissingDependencyError
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.protocols.simple.decoder import SimpleBootstrap, SimpleDdl, SimpleReader, SimpleRow, SimpleWatermark
from ticdc_emit.protocols.simple.schema import SimpleColumn, SimpleIndex, SimpleTableSchema
from ticdc_emit.protocols.simple.values import SimpleChecksum, SimpleTimestamp, row_values

_READERS = {"json": SimpleReader("json"), "avro": SimpleReader("avro")}
_TIMES = ("datetime", "timestamp", "time")


def _read(message: RecordedSimple) -> Any:
    return _READERS[message.encoding].read(message.key, message.value)


def _of_kind(*kinds: str) -> list[RecordedSimple]:
    return [message for message in simple_messages() if message.event["kind"] in kinds]


# --- what TiCDC sent: schemas -----------------------------------------------------------------------------------------


def _schema(info: Mapping[str, Any], encoding: str) -> SimpleTableSchema:
    """Return what a message must say of a recorded table; its columns stand in the order of their ids."""
    columns = sorted(info["columns"], key=lambda column: column["id"])
    nullable = {column["name"]: "not_null" not in (column["flags"] or ()) for column in columns}
    indexes = [
        SimpleIndex(
            index["name"],
            index["unique"],
            index["primary"],
            any(nullable[name] for name in index["columns"]),
            tuple(index["columns"]),
        )
        for index in info["indexes"] or ()
    ]
    return SimpleTableSchema(
        info["schema"],
        info["table"],
        info["table_id"],
        info["update_ts"],
        tuple(_column(column, nullable[column["name"]], encoding) for column in columns),
        (*indexes, *_implicit_key(info, indexes, nullable)),
    )


def _implicit_key(info: Mapping[str, Any], indexes: list[SimpleIndex], nullable: dict[str, bool]) -> list[SimpleIndex]:
    if any(index.primary for index in indexes):
        return []
    visible = {column["name"]: column["visible"] for column in info["columns"]}
    keys = [tuple(c["name"] for c in info["columns"] if "primary_key" in (c["flags"] or ()))] * info["pk_is_handle"]
    keys += [
        index.columns
        for index in indexes
        if index.unique and all(visible[name] and not nullable[name] for name in index.columns)
    ]
    return [SimpleIndex("primary", True, True, False, key) for key in keys[:1]]


def _column(column: Mapping[str, Any], nullable: bool, encoding: str) -> SimpleColumn:
    found = re.match(r"\w+", column["sql_type"])
    kind = found[0] if found else ""
    shows_decimal = kind not in ("float", "double") if encoding == "json" else kind == "decimal"
    flags = column["flags"] or ()
    shows_sign = encoding == "json" or kind not in _TIMES
    return SimpleColumn(
        name=column["name"],
        mysql_type=kind,
        charset=column["charset"],
        collate=column["collate"],
        nullable=nullable,
        default=_default(column.get("default"), kind),
        length=column["flen"],
        decimal=column["decimal"] if shows_decimal else 0,
        elements=tuple(column["elems"] or ()),
        unsigned="unsigned" in flags and shows_sign,
        zerofill="zerofill" in flags and shows_sign,
    )


def _default(default: Any, kind: str) -> Any:
    raw = base64.b64decode(default["base64"]) if isinstance(default, dict) else default
    if kind == "bit" and raw is not None:
        return int.from_bytes(raw.encode() if isinstance(raw, str) else raw, "big")
    return raw.decode(errors="replace") if isinstance(raw, bytes) else raw


def test_ddl_that_was_sent() -> None:
    compared = 0
    for message in _of_kind("ddl"):
        event, read = message.event, _read(message)
        assert isinstance(read, SimpleDdl)
        assert (read.sql, read.commit_ts, read.build_ts) == (event["query"], event["commit_ts"], message.build_ts)
        for shown, name in ((read.table_schema, "table_info"), (read.pre_table_schema, "pre_table_info")):
            info = event.get(name)
            assert shown == (None if info is None else _schema(info, message.encoding)), message
            compared += info is not None
    assert compared > 800


def test_ddl_types_that_were_sent() -> None:
    found = {_read(message).type for message in _of_kind("ddl")}
    assert found == {"CREATE", "RENAME", "CINDEX", "DINDEX", "ERASE", "TRUNCATE", "ALTER", "QUERY"}


def test_bootstraps_that_were_sent() -> None:
    messages = _of_kind("bootstrap")
    assert len(messages) > 100
    for message in messages:
        expected = _schema(message.event["table_info"], message.encoding)
        assert _read(message) == SimpleBootstrap(message.build_ts, expected), message


def test_watermarks_that_were_sent() -> None:
    messages = _of_kind("watermark")
    assert len(messages) > 40
    for message in messages:
        assert _read(message) == SimpleWatermark(message.event["ts"], message.build_ts)


# --- what TiCDC sent: rows --------------------------------------------------------------------------------------------


def _schemas() -> dict[tuple[str, str, str, int], SimpleTableSchema]:
    """Return what DDL and BOOTSTRAP say of each table version, by case: rows name no more of it."""
    found = {}
    for message in _of_kind("ddl", "bootstrap"):
        read = _read(message)
        schemas = [read.table_schema, read.pre_table_schema] if isinstance(read, SimpleDdl) else [read.table_schema]
        for schema in schemas:
            if schema is not None:
                found[message.case, schema.schema, schema.table, schema.version] = schema
    return found


def _expected(value: Any, column: SimpleColumn, zone: str) -> Any:
    """Return a recorded value as the reader shows those of its type."""
    if value is None:
        return None
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    if column.mysql_type == "decimal":
        return Decimal(value).as_tuple()
    if column.mysql_type == "timestamp":
        return SimpleTimestamp(zone, value)
    if column.mysql_type == "float":
        return struct.pack("<f", value)
    if column.mysql_type == "double":
        return struct.pack("<d", value)
    if column.mysql_type == "enum" and isinstance(value, int):  # a number where a label is the empty text
        return ("", *column.elements)[value]
    if column.mysql_type == "set" and isinstance(value, int):
        return ",".join(label for place, label in enumerate(column.elements) if value >> place & 1)
    return value


def _shown(value: Any, column: SimpleColumn) -> Any:
    if isinstance(value, Decimal):
        return value.as_tuple()
    return struct.pack("<f" if column.mysql_type == "float" else "<d", value) if isinstance(value, float) else value


def _image(
    schema: SimpleTableSchema, image: Mapping[str, Any] | None, row: Mapping[str, Any] | None, zone: str
) -> tuple[Any, Any]:
    """Return an image as the message shows it, and what was recorded of the same columns."""
    if image is None or row is None:
        return image, row
    values = row_values(schema, image)
    return (
        {name: _shown(value, schema.column(name)) for name, value in values.items()},
        {name: _expected(row[name], schema.column(name), zone) for name in values},
    )


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_rows_that_were_sent(encoding: str) -> None:
    schemas, cells, partial = _schemas(), 0, 0
    for message in _of_kind("row"):
        if message.encoding != encoding:
            continue
        event, reads = message.event, [_read(message)]
        if message.claim is not None:
            reads.append(_READERS[encoding].read(None, message.claim))
            assert (reads[0].claim_check is not None, reads[1].claim_check) == (True, None)
        for read in reads:
            assert isinstance(read, SimpleRow)
            assert (read.database, read.table, read.op) == (event["schema"], event["table"], event["op"].upper())
            assert (read.table_id, read.schema_version) == (event["physical_table_id"], event["table_update_ts"])
            assert (read.commit_ts, read.build_ts) == (event["commit_ts"], message.build_ts)
            sums = event.get("checksum")
            assert read.checksum == (SimpleChecksum(**sums) if sums else None)
            schema = schemas[message.case, read.database, read.table, read.schema_version]
            for image, row in ((read.data, event["after"]), (read.old, event["before"])):
                shown, recorded = _image(schema, image, row, message.time_zone)
                assert shown == recorded, message
                cells += len(shown or ())
                if image is not None and not (message.selects or read.handle_key_only):
                    assert set(image) == set(row or ())
            partial += read.handle_key_only
    assert cells > 5_500
    assert partial > 15


def test_both_encodings_say_the_same() -> None:
    by_name = {(m.case, m.variant, m.at, repr(m.event)): _read(m) for m in simple_messages()}
    schemas, twins = _schemas(), 0
    for (case, variant, at, event), read in by_name.items():
        twin = by_name.get((case, variant.replace("avro", "json"), at, event)) if "simple-avro" in variant else None
        if not isinstance(twin, SimpleRow):
            continue
        schema = schemas[case, read.database, read.table, read.schema_version]
        for image, other in ((read.data, twin.data), (read.old, twin.old)):
            if image is not None and other is not None:
                assert row_values(schema, image) == row_values(schema, other)
                for name, value in image.items():
                    if schema.column(name).mysql_type == "bigint":
                        assert (None if value is None else str(value)) == other[name]
        twins += 1
    assert twins > 600


# --- messages of one's own --------------------------------------------------------------------------------------------

_JSON, _AVRO = _READERS["json"], _READERS["avro"]
_ROW = (
    '{"version":1,"database":"d","table":"t","tableID":1,"type":"INSERT","commitTs":5,"buildTs":6,'
    '"schemaVersion":7,"data":{"a":"1","t":{"location":"UTC","value":"2024-01-01 00:00:00"},"n":null}}'
)


def test_smallest_row() -> None:
    data = {"a": "1", "t": SimpleTimestamp("UTC", "2024-01-01 00:00:00"), "n": None}
    assert _JSON.read(b"", _ROW.encode()) == SimpleRow("d", "t", 1, "INSERT", 5, 6, 7, data=data)


def test_smallest_avro_message() -> None:
    assert _AVRO.read(None, bytes.fromhex("160000020204")) == SimpleWatermark(1, 2)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (b"k", b"{}", "its key should be empty"),
        (None, None, "it has no value"),
        (None, b"", "it has no value"),
        (None, b"\xff", "not JSON"),
        (None, b"{", "not JSON"),
        (None, b"[]", "not a JSON object"),
        (None, b"{}", "lacks a member"),
        (None, b'{"version":true,"type":"WATERMARK"}', "not int"),
        (None, b'{"version":2,"type":"WATERMARK"}', "version 2"),
        (None, b'{"version":1,"type":"WATERMARKS"}', "'WATERMARKS' is not a type"),
        (None, b'{"version":1,"type":"WATERMARK","commitTs":"5"}', "not int: '5'"),
        (None, _ROW.replace('"INSERT"', '"DELETE"').encode(), "DELETE has no data"),
        (None, _ROW.replace('"1"', "1").encode(), "text, null or a TIMESTAMP"),
        (None, _ROW.replace("location", "zone").encode(), "lacks a member"),
        (None, _ROW.replace('"schemaVersion":7,', "").encode(), "lacks a member"),
    ],
)
def test_bad_json(key: bytes | None, value: bytes | None, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        _JSON.read(key, value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "it has no value"),
        ("16", "not a Simple Avro message"),
        ("1600000202", "not a Simple Avro message"),
        ("16000002020400", "left over"),
        ("160a00020204", "not a Simple Avro message"),
        ("0a020204", "not a Message"),
        ("160200020204", "says that it is a BOOTSTRAP"),
        ("160000040204", "version 2"),
        ("16040402" + "0e" + "02ff" + "0204" + "0000", "not UTF-8"),
    ],
)
def test_bad_avro(value: str, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        _AVRO.read(None, bytes.fromhex(value))


def _table(**column: Any) -> SimpleTableSchema:
    shared = {"charset": "binary", "collate": "binary", "nullable": True, "default": None}
    return SimpleTableSchema("d", "t", 1, 7, (SimpleColumn(name="c", **{**shared, **column}),), ())


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ({"mysql_type": "int"}, "one"),
        ({"mysql_type": "varchar"}, b"bytes"),
        ({"mysql_type": "varbinary"}, "no base64"),
        ({"mysql_type": "enum", "elements": ("a",)}, "2"),
        ({"mysql_type": "enum", "elements": ("a",)}, "-1"),
        ({"mysql_type": "set", "elements": ("a",)}, "2"),
        ({"mysql_type": "decimal"}, "1.x"),
        ({"mysql_type": "timestamp"}, "2024-01-01 00:00:00"),
        ({"mysql_type": "geometry"}, "x"),
        ({"mysql_type": "float"}, "1e39"),
    ],
)
def test_values_of_another_type(column: dict[str, Any], value: Any) -> None:
    with pytest.raises(DecodeError, match="is not a value of a column of type") as caught:
        row_values(_table(**column), {"c": value})
    assert caught.value.context == {"table": "d.t", "field": "c"}


def test_unknown_columns() -> None:
    with pytest.raises(DecodeError, match="no such column") as caught:
        row_values(_table(mysql_type="int"), {"x": "1"})
    assert caught.value.context == {"table": "d.t", "field": "x"}


def test_other_encodings() -> None:
    with pytest.raises(ConfigError, match="'protobuf'"):
        SimpleReader("protobuf")  # type: ignore[arg-type]


def test_without_the_avro_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    SimpleReader("json")
    with pytest.raises(MissingDependencyError, match=r"pip install 'ticdc-emit\[avro\]'"):
        SimpleReader("avro")


def test_the_readers_schema_is_the_published_one() -> None:
    shipped = Path(ticdc_emit.protocols.simple.__file__).parent / "simple_message.avsc"
    published = Path(__file__).parents[4] / "schemas" / "simple_message.avsc"
    assert json.loads(shipped.read_text(encoding="utf-8")) == json.loads(published.read_text(encoding="utf-8"))
