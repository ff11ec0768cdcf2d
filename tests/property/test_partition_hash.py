"""The partitions of whole batches equal a row-by-row reference, for every column type."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from plain_reference import fixed_float
from random_tables import COMMIT_TS, Kind, RandomTable, quoted_name, random_tables

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.config.switches import RoutingSwitches
from ticdc_emit.pipeline.arrange.python_rows import rows_to_batch
from ticdc_emit.routing.partitions import PartitionRule, partitions_of, table_hash
from ticdc_emit.schema.catalog import Catalog


def value_text(kind: Kind, value: Any, zone: str) -> bytes:
    """A value as TiCDC's dispatchers hash it."""
    plain = kind.plain(value, zone)
    if kind.sql.startswith("enum"):
        return b"%d" % (1 + kind.labels.index(value))
    if kind.labels:
        return b"%d" % sum(1 << kind.labels.index(label) for label in value.split(",") if label)
    if isinstance(plain, list):
        return f"[{','.join(fixed_float(number, True) for number in plain)}]".encode()
    if isinstance(plain, bytes):
        return plain
    return (fixed_float(plain, kind.sql == "float") if isinstance(plain, float) else str(plain)).encode()


def partition(table: RandomTable, names: list[str], row: dict[str, Any], count: int, null_text: bytes | None) -> int:
    found = crc32((table.schema + table.table).encode())
    for name in names:
        text = null_text if row[name] is None else value_text(table.kind(name), row[name], table.zone)
        if text is not None:
            found ^= crc32(name.encode() + text)
    return found % count


@given(table=random_tables(), data=st.data(), count=st.integers(2, 300), null_text=st.sampled_from([b"null", None]))
def test_partitions_by_value(table: RandomTable, data: st.DataObject, count: int, null_text: bytes | None) -> None:
    chosen = data.draw(st.lists(st.sampled_from(table.names), min_size=1, max_size=4))
    by_key = data.draw(st.booleans())
    rule = PartitionRule("index-value") if by_key else PartitionRule("columns", columns=tuple(chosen))
    catalog = Catalog()
    catalog.apply(f"create database {quoted_name(table.schema)}", commit_ts=1)
    (event,) = catalog.apply(table.sql, commit_ts=2)
    info = event.table_info
    assert info is not None
    rows = [row for _, row in table.rows]
    changes = [{"op": "c", "commit_ts": COMMIT_TS, "after": table.given(row)} for row in rows]
    after = rows_to_batch(changes, info, table.zone).column("after")
    image = Image(info, {name: after.field(name) for name in table.names}, Rendering(table.zone))
    numbers = pa.array([COMMIT_TS] * len(rows), pa.uint64())
    seed = table_hash(info.schema, info.name)
    switches = RoutingSwitches(hashed_null=null_text)
    found = partitions_of(rule, rule.hashed(info, switches), seed, image, numbers, count, switches)
    hashed = table.key if by_key else chosen
    expected = [partition(table, hashed, row, count, null_text) for row in rows]
    assert expected == ([found] * len(rows) if isinstance(found, int) else found.to_pylist())
