"""Row messages: read back by fastavro with the registered schema, and the refusals of the encoder."""

from __future__ import annotations

import io
import json
import pickle
import zlib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from ticdc_emit import Encoder
from ticdc_emit.changes.model import Op
from ticdc_emit.config import CodecConfig
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.config.switches import AvroSwitches
from ticdc_emit.errors import InvalidValueError, RegistryError, SchemaError
from ticdc_emit.protocols.avro.encoder import Avro, AvroRows
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.schema.catalog import catalog_from_sql

COMMIT_TS = 450000000262144000
URI = "memory://topic/?protocol=avro&schema-registry=http://registry"
EVERYTHING = """create table test.t (
    id bigint primary key, t tinyint, s smallint unsigned, m mediumint default 7, i int, iu int unsigned,
    b bigint not null default 5, bu bigint unsigned, f float default 1.5, d double, n decimal(10,2),
    nd decimal(38,10) not null, w decimal(65,30), bi bit(20), c char(5) default 'abc', v varchar(300) not null,
    txt text, bin binary(3), vb varbinary(300) default 'x', bl blob, e enum('a','b,c') not null, st set('x','y'),
    j json, da date, dt datetime(3) default '2020-01-01', ts timestamp(6) null, ti time, y year, vec vector(2)
)"""
NULLS = {"b": 0, "nd": "0.0000000000", "v": "", "e": "a"}
ROWS: list[dict[str, Any]] = [
    {
        "id": -1, "t": -128, "s": 65535, "m": 7, "i": -2147483648, "iu": 4294967295, "b": 1 << 62, "bu": (1 << 64) - 1,
        "f": 0.25, "d": -1e300, "n": "-0.01", "nd": "1234567890123456789012345678.0123456789",
        "w": "-" + "9" * 35 + "." + "9" * 30, "bi": (1 << 20) - 1, "c": "中文", "v": "x" * 300, "txt": "null",
        "bin": b"a\0\xff", "vb": bytes(range(256)), "bl": b"", "e": "b,c", "st": "x,y", "j": '{"a": 1}',
        "da": "2024-02-29", "dt": "2024-02-29 01:02:03.456", "ts": "2024-02-29 01:02:03.000001", "ti": "-838:59:59",
        "y": 2155, "vec": "[1,-0.5]",
    },
    {
        "id": 2, "t": 0, "s": 64, "m": None, "i": 63, "iu": 0, "b": -64, "bu": 1 << 63, "f": None, "d": 0.0,
        "n": "1.20", "nd": "-0.0000000001", "w": "0." + "0" * 30, "bi": 0, "c": None, "v": "y", "txt": "",
        "bin": b"\0\0\0",
        "vb": None, "bl": b"\0", "e": "a", "st": "", "j": "[]", "da": "0000-00-00", "dt": None,
        "ts": "2024-02-29 01:02:03.100000", "ti": "00:00:01", "y": 0, "vec": "[0,0]",
    },
]  # fmt: skip


def everything(row_id: int) -> dict[str, Any]:
    """Return a row that is NULL wherever it can be."""
    (info,) = catalog_from_sql(EVERYTHING).tables()
    return {column.name: None for column in info.columns} | NULLS | {"id": row_id}


def encoded(
    options: str, sql: str, changes: Iterable[Mapping[str, Any]]
) -> tuple[list[tuple[bytes, bytes | None]], MemoryRegistry]:
    registry = MemoryRegistry()
    batch = Encoder(URI + options, sql, registry=registry).encode(changes)
    return [(row["key"], row["value"]) for row in batch.select(["key", "value"]).to_pylist()], registry


def decoded(message: bytes, registry: MemoryRegistry) -> dict[str, Any]:
    assert message[0] == 0
    (schema,) = {post.schema for post in registry.posts if post.id == int.from_bytes(message[1:5], "big")}
    stream = io.BytesIO(message[5:])
    read = fastavro.schemaless_reader(stream, fastavro.parse_schema(json.loads(schema)), None)
    assert stream.read() == b""
    assert isinstance(read, dict)
    return read


def expected(row: Mapping[str, Any], *, precise: bool) -> dict[str, Any]:
    """Return a row as a reader of Avro sees it."""
    shown = dict(row)
    if row["bi"] is not None:
        shown["bi"] = row["bi"].to_bytes(max(1, -(-row["bi"].bit_length() // 8)), "big")
    for name in ("n", "nd", "w"):
        if precise and row[name] is not None:
            shown[name] = Decimal(row[name])
    if row["bu"] is not None:
        wrapped = row["bu"] - (1 << 64) if row["bu"] >> 63 else row["bu"]
        shown["bu"] = wrapped if precise else str(row["bu"])
    return shown


@pytest.mark.parametrize("precise", [True, False])
def test_every_type_is_read_back(precise: bool) -> None:
    rows = [*ROWS, everything(3), everything(4)]
    changes = [{"op": "c", "commit_ts": COMMIT_TS + place, "after": row} for place, row in enumerate(rows)]
    modes = "" if precise else "&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
    messages, registry = encoded(modes, EVERYTHING, changes)
    for (key, value), row in zip(messages, rows, strict=True):
        assert value is not None
        assert decoded(key, registry) == {"id": row["id"]}
        assert decoded(value, registry) == expected(row, precise=precise)


def test_the_extension_and_the_three_kinds_of_change() -> None:
    sql = "create table test.t (id int primary key, a varchar(9))"
    old, new = {"id": 1, "a": "old"}, {"id": 1, "a": "new"}
    changes = [
        {"op": "c", "commit_ts": COMMIT_TS, "after": old},
        {"op": "u", "commit_ts": COMMIT_TS + 1, "before": old, "after": new},
        {"op": "d", "commit_ts": COMMIT_TS + 2, "before": new},
    ]
    messages, registry = encoded("&enable-tidb-extension=true", sql, changes)
    physical = {"_tidb_commit_physical_time": COMMIT_TS >> 18}
    values = [decoded(value, registry) for _, value in messages if value is not None]
    assert values == [
        old | {"_tidb_op": "c", "_tidb_commit_ts": COMMIT_TS} | physical,
        new | {"_tidb_op": "u", "_tidb_commit_ts": COMMIT_TS + 1} | physical,
    ]
    assert messages[2][1] is None
    assert [decoded(key, registry) for key, _ in messages] == [{"id": 1}] * 3


def test_the_checksum_fields() -> None:
    sql = "create table test.t (id int primary key)"
    options = "&enable-tidb-extension=true&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
    given = [
        None,
        {"version": 1},
        {"corrupted": True, "current": 4294967295, "version": 1},
        {"corrupted": True, "current": 0, "previous": 0},
    ]
    changes = [
        {"op": "c", "commit_ts": COMMIT_TS + place, "after": {"id": 1}, "checksum": checksum}
        for place, checksum in enumerate(given)
    ]
    registry = MemoryRegistry()
    integrity = {"integrity": {"integrity-check-level": "correctness"}}
    batch = Encoder(URI + options, sql, registry=registry, changefeed=integrity).encode(changes)
    fields = ("_tidb_row_level_checksum", "_tidb_corrupted", "_tidb_checksum_version")
    shown = [tuple(decoded(value, registry)[name] for name in fields) for value in batch.column("value").to_pylist()]
    computed = str(zlib.crc32((1).to_bytes(8, "little")))
    assert shown == [(computed, False, 2), (computed, False, 1), ("4294967295", True, 1), ("", False, 0)]


def test_an_update_needs_no_before_image() -> None:
    sql = "create table test.t (id int primary key)"
    messages, _ = encoded("", sql, [{"op": "u", "commit_ts": COMMIT_TS, "after": {"id": 5}}])
    assert messages == [(b"\x00\x00\x00\x00\x01\x0a", b"\x00\x00\x00\x00\x01\x0a")]


def test_a_table_without_primary_key_has_empty_keys_in_the_new_architecture() -> None:
    changes = [
        {"op": "c", "commit_ts": COMMIT_TS, "after": {"a": 1}},
        {"op": "d", "commit_ts": COMMIT_TS + 1, "before": {"a": 1}},
    ]
    registry = MemoryRegistry()
    encoder = Encoder(URI, "create table test.t (a int not null unique)", registry=registry, release="next")
    messages = [(row["key"], row["value"]) for row in encoder.encode(changes).to_pylist()]
    assert messages == [(b"", b"\x00\x00\x00\x00\x01\x02"), (b"", None)]
    assert [post.subject for post in registry.posts] == ["ticdc-value"]


def test_virtual_columns_may_be_null_in_values() -> None:
    sql = "create table test.t (v int as (id + 1) virtual, id int primary key, w int as (id) virtual)"
    changes = [{"op": "c", "commit_ts": COMMIT_TS, "after": {"id": 5}}]
    encoder = Encoder(URI, sql, registry=MemoryRegistry(), release="next")
    messages = [(row["key"], row["value"]) for row in encoder.encode(changes).to_pylist()]
    assert messages == [(b"\x00\x00\x00\x00\x01\x0a", b"\x00\x00\x00\x00\x02\x00\x0a\x00")]
    failing = Encoder(URI, sql.replace("virtual", "virtual not null"), registry=MemoryRegistry(), release="next")
    with pytest.raises(InvalidValueError) as refused:
        failing.encode(changes)
    assert (refused.value.column, refused.value.row) == ("v", {"id": 5, "position": 0})


def test_an_enum_of_zero_is_refused() -> None:
    sql = "create table test.t (id int primary key, e enum('a'))"
    changes = [{"op": "c", "commit_ts": COMMIT_TS + n, "after": {"id": n, "e": 1 - n}} for n in range(2)]
    with pytest.raises(InvalidValueError, match="the ENUM's number is 0") as caught:
        encoded("", sql, changes)
    assert caught.value.context["column"] == "e"
    assert caught.value.context["row"] == {"id": 1, "position": 1}
    deleted, _ = encoded("", sql, [{"op": "d", "commit_ts": COMMIT_TS, "before": {"id": 1, "e": 0}}])
    assert deleted == [(b"\x00\x00\x00\x00\x01\x02", None)]


def rows_of(sql: str) -> dict[str, AvroRows]:
    codec = Avro(CodecConfig(Protocol.AVRO), AvroSwitches())
    return {info.name: codec.rows(info) for info in catalog_from_sql(sql).tables()}


def test_encoders_are_picklable_and_keep_their_headers() -> None:
    rows = rows_of("create table test.t (id int primary key)")["t"].with_headers({"key": b"k"})
    both = rows.with_headers({"value": b"v"})
    assert pickle.loads(pickle.dumps(both)).headers == {"key": b"k", "value": b"v"}
    assert rows.headers == {"key": b"k"}


def test_a_message_needs_its_header() -> None:
    encoder = Encoder(URI, "create table test.t (id int primary key)", registry=MemoryRegistry())
    changes = [{"op": "c", "commit_ts": COMMIT_TS, "after": {"id": 1}}]
    encoder.encode(changes)
    (planned,) = encoder.plan.tables.values()
    rows = planned.encoders[0]
    assert isinstance(rows, AvroRows)
    assert set(rows.headers) == {"key", "value"}
    with pytest.raises(RegistryError, match="the key schema is not registered") as caught:
        rows_of("create table test.t (id int primary key)")["t"].header("key")
    assert caught.value.context["table"] == "test.t"


def test_schemas_are_made_when_they_are_read() -> None:
    rows = rows_of("create table test.t (id int primary key, `a-b` int, a_b int)")["t"]
    items = iter(rows.schemas(Op.INSERT).items())
    assert next(items)[0] == "key"
    with pytest.raises(SchemaError):
        next(items)
