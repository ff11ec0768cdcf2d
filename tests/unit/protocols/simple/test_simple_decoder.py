"""The Simple reader on the tables that TiCDC sent in both encodings, and on bytes that it never sent."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conformance.vectors import sink_protocol
from recorded import recorded

import ticdc_emit.protocols.simple
from ticdc_emit.config import Protocol
from ticdc_emit.errors import ConfigError, MissingDependencyError
from ticdc_emit.protocols.events import DecodeError, RowEvent, WatermarkEvent
from ticdc_emit.protocols.simple.decoder import SimpleReader
from ticdc_emit.protocols.simple.values import SimpleTimestamp
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.types import type_name

_READERS = {"json": SimpleReader("json"), "avro": SimpleReader("avro")}
_TIMES = ("datetime", "timestamp", "time")
_BINARY = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")


def _check_table(shown: TableInfo, info: Mapping[str, Any], encoding: str) -> None:
    """Compare a table with what was recorded of it; its columns stand in the order of their ids."""
    columns = sorted(info["columns"], key=lambda column: column["id"])
    assert (shown.schema, shown.name, shown.id, shown.version) == tuple(
        info[name] for name in ("schema", "table", "table_id", "update_ts")
    )
    keys = [
        (index["name"], index["unique"], index["primary"], tuple(index["columns"])) for index in info["indexes"] or ()
    ]
    keys += _implicit_key(info, keys)
    assert [(index.name, index.unique, index.primary, index.columns) for index in shown.indexes] == keys
    for column, described in zip(shown.columns, columns, strict=True):
        found, flags = re.match(r"\w+", described["sql_type"]), described["flags"] or ()
        kind = found[0] if found else ""
        shows_decimal = kind not in ("float", "double") if encoding == "json" else kind == "decimal"
        binary = kind in _BINARY
        assert column.name == described["name"]
        assert type_name(column.type, "binary" if binary else "utf8mb4") == kind
        assert column.nullable == ("not_null" not in flags)
        assert column.default == _default(described.get("default"), kind)
        assert column.flen == described["flen"]
        assert column.decimal == (described["decimal"] if shows_decimal else 0)
        assert column.elems == tuple(described["elems"] or ())
        assert column.unsigned == ("unsigned" in flags and (encoding == "json" or kind not in _TIMES))
        if not binary:
            charsets = described["charset"] or "utf8mb4", described["collate"] or "utf8mb4_bin"
            assert (column.charset, column.collate) == charsets


def _implicit_key(info: Mapping[str, Any], keys: list[Any]) -> list[Any]:
    if any(primary for _, _, primary, _ in keys):
        return []
    visible = {column["name"]: column["visible"] for column in info["columns"]}
    nullable = {column["name"]: "not_null" not in (column["flags"] or ()) for column in info["columns"]}
    found = [tuple(c["name"] for c in info["columns"] if "primary_key" in (c["flags"] or ()))] * info["pk_is_handle"]
    found += [
        columns
        for _, unique, _, columns in keys
        if unique and all(visible[name] and not nullable[name] for name in columns)
    ]
    return [("primary", True, True, key) for key in found[:1]]


def _default(default: Any, kind: str) -> str | None:
    raw = base64.b64decode(default["base64"]) if isinstance(default, dict) else default
    if kind == "bit" and raw is not None:
        return str(int.from_bytes(raw.encode() if isinstance(raw, str) else raw, "big"))
    return raw.decode(errors="replace") if isinstance(raw, bytes) else raw


def test_tables_that_were_sent() -> None:
    compared = 0
    for message in recorded(Protocol.SIMPLE):
        if message.event["kind"] not in ("ddl", "bootstrap") or message.variant.id.endswith(("lz4", "snappy")):
            continue
        encoding = sink_protocol(message.variant)[1]
        members = _READERS[encoding].read(message.key, message.value).message
        assert members["buildTs"] == message.case.now_ms
        for shown, name in ((members["tableSchema"], "table_info"), (members["preTableSchema"], "pre_table_info")):
            info = message.event.get(name)
            assert (shown is None) == (info is None), message
            if info is not None:
                _check_table(shown, info, encoding)
                compared += 1
    assert compared > 900


# --- messages of one's own --------------------------------------------------------------------------------------------

_JSON, _AVRO = _READERS["json"], _READERS["avro"]
_ROW = (
    '{"version":1,"database":"d","table":"t","tableID":1,"type":"INSERT","commitTs":5,"buildTs":6,'
    '"schemaVersion":7,"data":{"a":"1","t":{"location":"UTC","value":"2024-01-01 00:00:00"},"n":null}}'
)


def test_smallest_row() -> None:
    data = {"a": "1", "t": SimpleTimestamp("UTC", "2024-01-01 00:00:00"), "n": None}
    assert _JSON.read(b"", _ROW.encode()) == RowEvent("d", "t", "insert", 5, None, data, schema_version=7)


def test_smallest_avro_message() -> None:
    assert _AVRO.read(None, bytes.fromhex("160000020204")) == WatermarkEvent(1)


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
        (None, b'{"version":1,"type":"WATERMARKS","buildTs":6}', "'WATERMARKS' is not a type"),
        (None, b'{"version":1,"type":"WATERMARK","buildTs":6,"commitTs":"5"}', "not int: '5'"),
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


def _bootstrap(**column: Any) -> bytes:
    """Return the BOOTSTRAP of a table with one column ``c``."""
    kind = {"mysqlType": column.pop("mysqlType"), "charset": "binary", "collate": "binary", **column}
    described = {"name": "c", "dataType": kind, "nullable": True, "default": None}
    schema = {"schema": "d", "table": "t", "tableID": 1, "version": 7, "columns": [described], "indexes": []}
    return json.dumps({"version": 1, "type": "BOOTSTRAP", "buildTs": 6, "tableSchema": schema}).encode()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ({"mysqlType": "enum", "elements": ["a"]}, "2"),
        ({"mysqlType": "enum", "elements": ["a"]}, "-1"),
        ({"mysqlType": "set", "elements": ["a"]}, "2"),
        ({"mysqlType": "timestamp"}, "2024-01-01 00:00:00"),
        ({"mysqlType": "float"}, "x"),
    ],
)
def test_values_of_another_type(column: dict[str, Any], value: Any) -> None:
    reader = SimpleReader("json")
    reader.read(None, _bootstrap(**column))
    members = json.loads(_ROW) | {"data": {"c": value}}
    row = reader.read(None, json.dumps(members).encode())
    with pytest.raises(DecodeError, match="is not a value of the column") as caught:
        reader.text(row)
    assert (caught.value.table, caught.value.field) == ("t", "c")


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
