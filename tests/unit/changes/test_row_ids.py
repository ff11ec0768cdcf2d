"""The handles of rows as numbers: those of a clustered integer key, and those that a given row key tells."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.changes.images import Image
from ticdc_emit.changes.model import Changes, Op
from ticdc_emit.changes.row_keys import row_ids_of
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.schema.catalog import catalog_from_sql


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
