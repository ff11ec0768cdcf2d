"""The Avro reader on the messages that TiCDC sent, and on bytes that it never sent."""

from __future__ import annotations

import base64
import re
import struct
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest
from avro_recorded import Recorded, recorded, row_messages

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.protocols.avro.decoder import AvroReader, AvroRow
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.protocols.registered_avro import split_header

_SCHEMA = (
    '{"type":"record","name":"t","namespace":"default.test","fields":['
    '{"name":"id","type":{"type":"int","connect.parameters":{"tidb_type":"INT"}}},'
    '{"default":null,"name":"name","type":["null",{"type":"string","connect.parameters":{"tidb_type":"TEXT"}}]}]}'
)
_KEY_SCHEMA = (
    '{"type":"record","name":"t","namespace":"default.test","fields":['
    '{"name":"id","type":{"type":"int","connect.parameters":{"tidb_type":"INT"}}}]}'
)
_EXTENSION = (
    ',{"default":"","name":"_tidb_op","type":"string"},{"default":0,"name":"_tidb_commit_ts","type":"long"},'
    '{"default":0,"name":"_tidb_commit_physical_time","type":"long"}]}'
)
_READER = AvroReader({1: _KEY_SCHEMA, 2: _SCHEMA, 3: _SCHEMA[:-2] + _EXTENSION})
_KEY, _VALUE = bytes.fromhex("000000000102"), bytes.fromhex("0000000002020206613c62")


# Two tables of a topic can have one table version after a DDL; TiCDC writes the rows of one in the other's schema.
_SHARED_SUBJECTS = {"ddl_partitions", "rename_tables", "adv_rename_chain"}


def _read(message: Recorded) -> AvroRow:
    return AvroReader(message.schemas).read(message.key, message.value)


# --- what TiCDC sent --------------------------------------------------------------------------------------------------


def _sanitized(name: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{safe}" if safe[:1].isdigit() else safe


def _expected(value: Any, column: dict[str, Any], decoded: Any) -> Any:
    """Return a recorded row value in the form that the decoded one has for its MySQL type."""
    if value is None:
        return None
    kind, unsigned = column["mysql_type"], "unsigned" in (column["flags"] or ())
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    if kind == 16:  # BIT: big-endian, no leading zeros
        return value.to_bytes(max((value.bit_length() + 7) // 8, 1), "big")
    if kind == 4:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    if kind == 246:
        return Decimal(value) if isinstance(decoded, Decimal) else value
    if kind == 8 and unsigned:
        return str(value) if isinstance(decoded, str) else (value + (1 << 63)) % (1 << 64) - (1 << 63)
    if kind in (247, 248) and isinstance(value, int):  # given by number where a label is the empty string
        elements = column["elems"]
        chosen = [elements[value - 1]] if kind == 247 else [e for at, e in enumerate(elements) if value >> at & 1]
        return ",".join(chosen)
    return value


@pytest.mark.parametrize("case", sorted({message.case for message in recorded()}))
def test_rows_that_were_sent(case: str) -> None:
    for message in row_messages():
        row = message.row
        if message.case != case or row is None or (message.key is None and message.value is None):
            continue
        read = _read(message)
        columns = {_sanitized(column["name"]): column for column in message.table_info["columns"]}
        assert (read.value is None) == (row["op"] == "delete")
        if read.table != _sanitized(message.table):
            assert case in _SHARED_SUBJECTS
            continue
        for image, decoded in ((row["after"] or row["before"], read.key), (row["after"], read.value)):
            values = {_sanitized(name): value for name, value in (image or {}).items()}
            if decoded is not None:
                shown = {name: _expected(values[name], columns[name], each) for name, each in decoded.items()}
                assert decoded == shown, message
        if read.value is not None and not message.selects:
            assert set(read.value) == {_sanitized(name) for name in row["after"]}
        assert read.namespace == f"default.{_sanitized(message.schema)}"
        extended = (
            read.value is not None and "_tidb_commit_ts" in message.schemas[split_header(message.value or b"")[0]]
        )
        assert (
            read.op == {"insert": "c", "update": "u", "delete": "d"}[row["op"]] if extended else read.op in (None, "d")
        )
        assert read.commit_ts == (row["commit_ts"] if extended else None)
        assert read.commit_physical_ms == (row["commit_ts"] >> 18 if extended else None)
        checksum = row.get("checksum") if extended and "_tidb_corrupted" in (read.fields or {}) else None
        if checksum and (checksum["current"] or read.checksum):
            assert read.checksum == str(checksum["current"])
            assert (read.corrupted, read.checksum_version) == (checksum["corrupted"], checksum["version"])


def test_enough_was_sent() -> None:
    assert len(row_messages()) > 2_200
    assert sum(_read(message).checksum is not None for message in row_messages() if message.key) >= 20


def test_ddl_and_watermarks_are_told() -> None:
    control = [message for message in recorded() if message.row is None]
    assert len(control) > 180
    for message in control:
        name = "DDL" if message.kind == "ddl" else "watermark"
        with pytest.raises(DecodeError, match=f"is a {name}, not a row change") as caught:
            _read(message)
        assert caught.value.context == {"part": "value"}


# --- the smallest table -----------------------------------------------------------------------------------------------


def test_insert_without_extension() -> None:
    assert _READER.read(_KEY, _VALUE) == AvroRow(
        "t", "default.test", {"id": 1}, {"id": 1, "name": "a<b"}, None,
        fields={"id": 1, "name": "a<b"}, schema=_READER.read(None, _VALUE).schema,
    )  # fmt: skip


def test_extension_fields_are_no_columns() -> None:
    row = _READER.read(_KEY, b"\0\0\0\0\3\2\0" + b"\2u" + bytes.fromhex("8080808002") + b"\xd0\x0f")
    assert (row.value, row.op) == ({"id": 1, "name": None}, "u")
    assert (row.commit_ts, row.commit_physical_ms) == (1 << 28, 1000)
    assert (row.checksum, row.corrupted, row.checksum_version) == (None, None, None)
    assert row.verify() is None


def test_a_column_may_have_the_name_of_an_extension_field() -> None:
    text = _KEY_SCHEMA.replace('"id"', '"_tidb_op"')
    assert AvroReader({1: text}).read(None, _KEY).value == {"_tidb_op": 1}


def test_delete() -> None:
    for empty in (None, b""):
        row = _READER.read(_KEY, empty)
        assert (row.op, row.key, row.value, row.table) == ("d", {"id": 1}, None, "t")
        assert row.verify() is None


def test_table_without_key() -> None:
    for empty in (None, b""):
        assert _READER.read(empty, _VALUE).key is None


def test_schemas_by_callable_are_asked_once() -> None:
    asked: list[int | str] = []

    def find(number: int | str) -> str:
        asked.append(number)
        return {1: _KEY_SCHEMA, 2: _SCHEMA}[int(number)]

    reader = AvroReader(find)
    for _ in range(3):
        reader.read(_KEY, _VALUE)
    assert asked == [1, 2]


def test_glue_header() -> None:
    number = "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63"
    header = b"\x03\x00" + bytes.fromhex(number.replace("-", ""))
    assert AvroReader({number: _KEY_SCHEMA}).read(header + b"\2", None).key == {"id": 1}
    assert split_header(header + b"\2") == (number, b"\2")


def test_a_whole_number_may_be_the_default_of_a_float() -> None:
    text = '{"type":"record","name":"t","namespace":"d","fields":[{"default":0,"name":"f","type":"float"}]}'
    assert AvroReader({1: text}).read(None, b"\0\0\0\0\1\0\0\0\x3f").value == {"f": 0.5}


# --- what TiCDC would not send ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, None, "neither key nor value"),
        (None, b"\x03" + bytes(8), "without a key"),
        (b"\x07abcdef", None, "do not begin with the id of a schema"),
        (b"\0\0\0\1", None, "do not begin with the id of a schema"),
        (b"\x03\x01" + bytes(20), None, "do not begin with the id of a schema"),
        (b"\0\0\0\0\x09\2", None, "schema is unknown"),
        (_KEY, _VALUE[:-1], "do not fit their schema"),
        (_KEY, _VALUE + b"\0", "some are left over"),
        (_KEY, _VALUE[:7] + b"\2\2\xff", "do not fit their schema"),
        (_KEY, _VALUE[:6] + b"\x08", "do not fit their schema"),
    ],
)
def test_bad_bytes(key: bytes | None, value: bytes | None, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason) as caught:
        _READER.read(key, value)
    if key is not None:
        assert caught.value.context["part"] == ("key" if value is None else "value")


@pytest.mark.parametrize("text", ["", "[]", '"int"', '{"type":"record"}', '{"type":"record","name":"t","fields":[{}]}'])
def test_bad_schemas(text: str) -> None:
    with pytest.raises(DecodeError, match="does not describe a table") as caught:
        AvroReader({1: text}).read(_KEY, None)
    assert caught.value.context == {"part": "key", "schema_id": 1}


def test_without_fastavro(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ticdc-emit\[avro\]'"):
        AvroReader({1: _KEY_SCHEMA}).read(_KEY, None)


def test_decoders_load_no_encoder() -> None:
    code = "import sys, ticdc_emit.consume.verify; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = [name for name in done.stdout.split() if name.startswith("ticdc_emit.")]
    assert "ticdc_emit.protocols.avro.decoder" in loaded
    assert [name for name in loaded if "encoder" in name] == []
    assert {name.split(".")[1] for name in loaded} & {"changes", "pipeline", "routing"} == set()
    assert "ticdc_emit.columnar.values" not in loaded
