"""Messages made to cost memory or time, or to end the process: each is a DecodeError, and a soon one."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from decimal import Context
from functools import partial
from typing import Any

import cramjam
import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.protocols.avro.decoder import AvroReader, verify_checksum
from ticdc_emit.protocols.canal_json.decoder import CanalJsonReader
from ticdc_emit.protocols.debezium.decoder import DebeziumReader
from ticdc_emit.protocols.decoder import decompressor, read_claim
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.protocols.simple.decoder import SimpleReader
from ticdc_emit.sql.json_depth import DEEPEST, parsed

READERS: dict[str, Callable[..., Any]] = {
    "canal-json": CanalJsonReader,
    "simple": partial(SimpleReader, "json"),
    "simple-avro": partial(SimpleReader, "avro"),
    "debezium": partial(DebeziumReader, True),
}
FOUR_GIB_OF_SNAPPY = b"\xff\xff\xff\xff\x0f\0\0\0\0\0"


def lz4_of(size: int) -> bytes:
    return bytes(cramjam.lz4.compress(bytes(size)))


@pytest.mark.parametrize("compression", ["snappy", "lz4"])
def test_the_limit_of_what_is_decompressed(compression: str) -> None:
    pack = cramjam.snappy.compress_raw if compression == "snappy" else cramjam.lz4.compress
    for data in (b"", b"a", bytes(range(256)) * 1000, bytes(10_000_000), b"ab" * 300_000):
        packed = bytes(pack(data))
        assert decompressor(compression)(packed) == data
        assert decompressor(compression, max_decompressed_bytes=max(len(data), 1))(packed) == data
        if len(data) > 1:
            with pytest.raises(DecodeError, match=f"more than max_decompressed_bytes={len(data) - 1}"):
                decompressor(compression, max_decompressed_bytes=len(data) - 1)(packed)
        with pytest.raises(DecodeError, match=f"not compressed by {compression}"):
            decompressor(compression)(packed[:-1])


@pytest.mark.parametrize("protocol", READERS)
@pytest.mark.parametrize("compression", ["snappy", "lz4"])
def test_readers_and_their_limit(protocol: str, compression: str) -> None:
    packed = bytes((cramjam.snappy.compress_raw if compression == "snappy" else cramjam.lz4.compress)(bytes(1000)))
    key = packed if protocol == "debezium" else None
    with pytest.raises(DecodeError, match="max_decompressed_bytes=999"):
        READERS[protocol](compression=compression, max_decompressed_bytes=999).read(key, packed)
    name, _, encoding = protocol.partition("-")
    uri = f"jsonl:///x?protocol={'canal-json' if name == 'canal' else name}&encoding-format={encoding or 'json'}"
    uri = uri.replace("&encoding-format=json", "")
    handle = {"large-message-handle-option": "none", "large-message-handle-compression": compression}
    config = load_changefeed(uri, {"sink": {"kafka-config": {"large-message-handle": handle}}})
    with pytest.raises(DecodeError, match="max_decompressed_bytes=999"):
        reader_for(config, max_decompressed_bytes=999).read(key, packed)


@pytest.mark.parametrize("compression", ["snappy", "lz4"])
def test_a_bomb_in_a_process_of_little_memory(compression: str) -> None:
    """The decompressor ends the whole process where it finds no memory."""
    code = f"""
import resource, sys
from ticdc_emit import CanalJsonReader, DecodeError, SimpleReader
from ticdc_emit.protocols.decoder import decompressor
data = sys.stdin.buffer.read()
try:
    decompressor("{compression}")(b"")
except DecodeError:
    pass
resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))
for read in (SimpleReader(compression="{compression}").read, CanalJsonReader("{compression}").read):
    try:
        read(None, data)
    except DecodeError as fault:
        print(fault)
"""
    data = FOUR_GIB_OF_SNAPPY if compression == "snappy" else lz4_of(300 << 20)
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    said = done.stdout.decode().splitlines()
    assert len(said) == 2
    expected = "cannot hold 4294967295" if compression == "snappy" else "more than max_decompressed_bytes=268435456"
    assert all(expected in line for line in said)


def nested(depth: int, part: str = "[]") -> str:
    return part[0] * depth + part[1] * depth


@pytest.mark.parametrize("depth", [DEEPEST, 900, 1_000, 5_000, 100_000])
@pytest.mark.parametrize("protocol", ["canal-json", "simple", "debezium"])
@pytest.mark.parametrize("name", ["type", "es", "data", "payload", "x"])
def test_depth_is_bounded(protocol: str, depth: int, name: str) -> None:
    for deep in (nested(depth), '{"a":' * depth + "1" + "}" * depth):
        value = f'{{"{name}":{deep}}}'.encode()
        key = b'{"payload":{},"schema":{}}' if protocol == "debezium" else None
        with pytest.raises(DecodeError):
            READERS[protocol]().read(key, value)
        config = load_changefeed(f"jsonl:///x?protocol={protocol}")
        with pytest.raises(DecodeError):
            reader_for(config).read(key, value)
    with pytest.raises(DecodeError):
        read_claim("x", lambda location: value)


def test_depth_of_a_caller_that_is_deep_itself() -> None:
    value = f'{{"type":{nested(DEEPEST - 1)}}}'.encode()

    def deeper(levels: int) -> None:
        if levels:
            deeper(levels - 1)
        else:
            CanalJsonReader().read(None, value)

    with pytest.raises(DecodeError):
        deeper(sys.getrecursionlimit() // 2)


def test_braces_in_text_are_no_depth() -> None:
    text = json.dumps({"a": "[{" * 1000, "b": [[]] * 1000}).encode()
    assert parsed(text) == json.loads(text)
    assert parsed(nested(DEEPEST).encode()) is not None
    with pytest.raises(ValueError, match="more than 120 levels"):
        parsed(nested(DEEPEST + 1).encode())


def record(kind: Any) -> str:
    return json.dumps({"type": "record", "name": "t", "fields": [{"name": "a", "type": kind}]})


DECIMAL = {"type": "bytes", "logicalType": "decimal"}


@pytest.mark.parametrize(
    "schema",
    [
        record(["null", "t"]),
        record("t"),
        record({"type": "record", "name": "u", "fields": []}),
        record({"type": "array", "items": "null"}),
        record(["null", {"type": "array", "items": "int"}]),
        record({"type": "map", "values": "int"}),
        record({"type": "enum", "name": "e", "symbols": ["A"]}),
        record({"type": "fixed", "name": "f", "size": 1 << 60}),
        record("null"),
        record([]),
        record(["null"]),
        record(["int"]),
        record(["null", "int", "string"]),
        record([["null", "int"], "null"]),
        record({"type": {"type": "int"}}),
        record({"type": ["null", "int"]}),
        record({"type": "int", "logicalType": "date"}),
        record({"type": "string", "logicalType": "uuid"}),
        record({**DECIMAL, "precision": 10**9, "scale": 10**9}),
        record({**DECIMAL, "precision": 65, "scale": -1}),
        record({**DECIMAL, "precision": 65, "scale": 1.5}),
        record({**DECIMAL, "precision": "65", "scale": []}),
        record({**DECIMAL, "precision": 65, "scale": 31}),
        record({**DECIMAL, "scale": 2}),
        record(None),
        record(7),
        json.dumps({"type": "record", "name": "t", "fields": [7]}),
        json.dumps({"type": "record", "name": "t", "fields": [{"type": "int"}]}),
        json.dumps({"type": "record", "name": "t"}),
        json.dumps({"type": "record", "name": ["t"], "fields": []}),
        json.dumps({"type": "record", "name": "t", "namespace": 7, "fields": []}),
        json.dumps({"type": "error", "name": "t", "fields": []}),
        json.dumps({"type": "array", "items": "null"}),
        json.dumps(["null", record("int")]),
        '"int"',
        nested(100_000),
        '{"type":' * 100_000,
        "\ud800",
        "",
    ],
)
def test_a_schema_that_is_not_ticdcs_reaches_no_decoder(schema: str) -> None:
    for data in (b"\2" * 5000 + b"\0", b"\x80\x80\x80\x80\x01" + b"\0", b"\0"):
        for message in (b"\0\0\0\0\1" + data, b"\3\0" + bytes(16) + data):
            with pytest.raises(DecodeError, match="the schema does not describe a table"):
                AvroReader(lambda number: schema).read(message, None)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("bytes", b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"),
        ("bytes", b"\xff" * 20),
        ("bytes", b"\x01" + b"a" * 10),
        ("string", b"\xfe\xff\xff\xff\x1f"),
        ("string", b"\x04\xff\xff"),
        ("long", b"\xff" * 100_000),
        (["null", "int"], b"\x04\0"),
        (["null", "int"], b"\xff" * 10),
        ({**DECIMAL, "precision": 65, "scale": 30}, b"\x80\xda\xc4\x09" + b"\x7f" * 10_000_000),
        ("int", b"\0\0"),
        ("double", b"\0"),
    ],
)
def test_lengths_and_branches_that_are_not_there(kind: Any, data: bytes) -> None:
    with pytest.raises(DecodeError, match="do not fit their schema"):
        AvroReader({1: record(kind)}).read(b"\0\0\0\0\1" + data, None)


def test_decimals_are_exact() -> None:
    for digits in (0, 1, -1, 10**65 - 1, 1 - 10**65, 255, -128, 12345):
        data = digits.to_bytes(28, "big", signed=True)
        fields = AvroReader({1: record({**DECIMAL, "precision": 65, "scale": 30})})
        row = fields.read(b"\0\0\0\0\1" + b"\x38" + data, None)
        assert int(row.key["a"].scaleb(30, Context(prec=95))) == digits


def test_a_schema_for_a_checksum_is_bounded_too() -> None:
    with pytest.raises(DecodeError):
        verify_checksum({"_tidb_row_level_checksum": "1"}, nested(100_000))


def test_counts_in_simple_avro() -> None:
    for data in (b"\x02" * 3, struct.pack("<q", -1) * 3, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f" * 20, b"\xff" * 100):
        for first in range(0, 16, 2):
            with pytest.raises(DecodeError):
                SimpleReader("avro").read(None, bytes([first]) + data)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "query",
    [
        "create table test.t (id int primary key) partition by hash(id) partitions 9223372036854775807",
        "create table test.t (id int primary key, v int default '1e99999999')",
        "create table test.t (id int primary key, v decimal(65,30) default '1e999999999999')",
        "/*T! " + "'\\" * 40_000,
    ],
    ids=lambda query: query[-20:],
)
def test_a_message_whose_ddl_costs_too_much(query: str) -> None:
    ddl = {"id": 0, "database": "test", "table": "t", "pkNames": None, "isDdl": True, "type": "CREATE", "es": 1}
    ddl |= {"ts": 1, "sql": query, "sqlType": None, "mysqlType": None, "data": None, "old": None}

    def consumed() -> None:
        consumer = ReferenceConsumer("jsonl:///x?protocol=canal-json")
        consumer.take(Message("t", 0, 0, None, json.dumps(ddl).encode()))
        consumer.finish()

    with pytest.raises(TicdcEmitError):
        consumed()
