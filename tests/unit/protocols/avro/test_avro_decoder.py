"""The Avro reader on the smallest table, and on bytes that TiCDC never sent."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.protocols.avro.decoder import AvroReader, verify_checksum
from ticdc_emit.protocols.events import DecodeError, RowEvent
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
_READER: Any = AvroReader({1: _KEY_SCHEMA, 2: _SCHEMA, 3: _SCHEMA[:-2] + _EXTENSION})
_KEY, _VALUE = bytes.fromhex("000000000102"), bytes.fromhex("0000000002020206613c62")


def _read(schemas: Any, key: bytes | None, value: bytes | None) -> Any:
    return AvroReader(schemas).read(key, value)


# --- the smallest table -----------------------------------------------------------------------------------------------


def test_insert_without_extension() -> None:
    row = {"id": 1, "name": "a<b"}
    read = _READER.read(_KEY, _VALUE)
    assert read == RowEvent("test", "t", "insert", None, None, row, {"id": 1})
    assert (read.message.fields, read.message.key_schema["name"]) == (row, "t")


def test_extension_fields_are_no_columns() -> None:
    row = _READER.read(_KEY, b"\0\0\0\0\3\2\0" + b"\2u" + bytes.fromhex("8080808002") + b"\xd0\x0f")
    assert (row.after, row.op) == ({"id": 1, "name": None}, "update")
    assert (row.commit_ts, row.commit_ms) == (1 << 28, 1000)
    assert verify_checksum(row.message.fields, row.message.schema) is None


def test_a_column_may_have_the_name_of_an_extension_field() -> None:
    text = _KEY_SCHEMA.replace('"id"', '"_tidb_op"')
    assert _read({1: text}, None, _KEY).after == {"_tidb_op": 1}


def test_delete() -> None:
    for empty in (None, b""):
        row = _READER.read(_KEY, empty)
        assert (row.op, row.key, row.before, row.after, row.table) == ("delete", {"id": 1}, {"id": 1}, None, "t")
        _READER.check(row)


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
    assert _read({number: _KEY_SCHEMA}, header + b"\2", None).key == {"id": 1}
    assert split_header(header + b"\2") == (number, b"\2")


def test_a_whole_number_may_be_the_default_of_a_float() -> None:
    text = '{"type":"record","name":"t","namespace":"d","fields":[{"default":0,"name":"f","type":"float"}]}'
    assert _read({1: text}, None, b"\0\0\0\0\1\0\0\0\x3f").after == {"f": 0.5}


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
