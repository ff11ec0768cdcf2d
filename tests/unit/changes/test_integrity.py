"""Checksums and row keys that the input brings: what is taken, and what is refused."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.changes.images import Image
from ticdc_emit.changes.model import Changes, Op
from ticdc_emit.changes.row_keys import row_ids_of
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.errors import CorruptedRowError, InvalidValueError, SchemaError, UnsupportedTypeError
from ticdc_emit.protocols.avro.decoder import AvroReader
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.schema.catalog import catalog_from_sql

OPTIONS = "enable-tidb-extension=true&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
URI = f"memory://t?protocol=avro&{OPTIONS}&schema-registry=http://registry.invalid"
TABLE = "create table test.t (v varchar(9), id int primary key, at timestamp null)"
FIRST = 450_000_000_262_144_000


def read(checksum: dict[str, Any] | None = None, at: str | None = None, **options: Any) -> Any:
    registry = MemoryRegistry()
    encoder = Encoder(URI, TABLE, registry=registry, **{"integrity": True, **options})
    change = {"op": "c", "commit_ts": FIRST, "after": {"id": 1, "v": "x", "at": at}, "checksum": checksum}
    (row,) = encoder.encode([change]).to_pylist()
    reader: Any = AvroReader({post.id: post.schema for post in registry.posts})
    return reader.read(row["key"], row["value"]).message.fields


def test_a_corrupted_row_stops_a_changefeed_that_is_told_to() -> None:
    strict = {"integrity": {"integrity-check-level": "correctness", "corruption-handle-level": "error"}}
    with pytest.raises(CorruptedRowError, match=r"test\.t"):
        read({"corrupted": True, "current": 7}, changefeed=strict, integrity=None)


def test_a_given_checksum_must_be_right_unless_the_row_is_corrupted() -> None:
    right = int(read()["_tidb_row_level_checksum"])
    assert read({"current": right, "version": 0})["_tidb_checksum_version"] == 0
    with pytest.raises(InvalidValueError, match="does not match the values"):
        read({"current": right ^ 1})


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"version": 3}, InvalidValueError),
        ({"current": -1}, InvalidValueError),
        ({"current": 1 << 32}, InvalidValueError),
        ({"current": "x"}, InvalidValueError),
        (7, InvalidValueError),
    ],
)
def test_what_is_no_checksum_is_refused(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="checksum"):
        read(given)


def test_a_moment_that_the_zone_skips_has_no_checksum() -> None:
    with pytest.raises(InvalidValueError, match="skip"):
        read(at="2024-03-10 02:30:00", time_zone="America/New_York")


def test_the_arrow_column_is_checked() -> None:
    import pyarrow as pa

    from ticdc_emit.changes.integrity import read_given

    assert read_given(pa.nulls(2), "t") == {}
    with pytest.raises(UnsupportedTypeError, match="struct"):
        read_given(pa.array([1]), "t")
    with pytest.raises(SchemaError, match="other"):
        read_given(pa.array([{"other": 1}]), "t")
    with pytest.raises(UnsupportedTypeError, match="current"):
        read_given(pa.array([{"current": 1.5}]), "t")


def test_old_releases_know_the_first_version_only() -> None:
    assert read(release="8.1.2")["_tidb_checksum_version"] == 0
    later = read({"corrupted": True, "current": 7, "version": 2}, release="8.1.2")
    assert (later["_tidb_row_level_checksum"], later["_tidb_corrupted"]) == ("", False)


def changes(sql: str, ids: list[int], row_keys: list[bytes | None] | None = None) -> Changes:
    (table,) = catalog_from_sql(sql).tables()
    image = Image(table, {"id": pa.array(ids, pa.uint64())}, Rendering())
    given = {} if row_keys is None else {"row_key": pa.array(row_keys, pa.binary())}
    encoder: Any = SimpleNamespace(table=table)
    return Changes(encoder, Op.INSERT, pa.array(ids, pa.uint64()), after=image, attributes=given)


def test_row_keys_tell_what_only_tidb_knows() -> None:
    keys = [b"t" + bytes(8) + b"_r" + struct.pack(">Q", number ^ (1 << 63)) for number in (5, 1 << 40)]
    made = changes("create table test.t (id bigint unsigned)", [1, 2, 3], [keys[0], None, keys[1]])
    assert made.once(row_ids_of).to_pylist() == [5, None, 1 << 40]
    assert changes("create table test.t (id bigint unsigned)", [1]).once(row_ids_of).to_pylist() == [None]


def test_other_keys_are_refused_where_they_would_be_read() -> None:
    with pytest.raises(InvalidValueError, match="_tidb_rowid"):
        _ = changes("create table test.t (id bigint unsigned)", [1], [b"t_r"]).once(row_ids_of)
    common = "create table test.t (id bigint unsigned, primary key (id, id2) clustered, id2 int)"
    assert changes(common, [1], [b"t_r"]).once(row_ids_of).to_pylist() == [None]
