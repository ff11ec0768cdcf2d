"""TiDB's column-level row checksum: a CRC32 over the values of a row; NULL adds nothing, TIMESTAMP is in UTC.

=====================================  =================================================================
integers, YEAR, BIT, ENUM, SET         64 bits, little-endian; signed values are sign-extended
FLOAT, DOUBLE                          the bits of the double, little-endian
VECTOR                                 number of dimensions (32 bits), then float32 values, little-endian
everything else                        length in bytes (32 bits, little-endian), then text or bytes
=====================================  =================================================================

Rule sources: semantics 3.2; ``pingcap/tidb: pkg/util/rowcodec/common.go`` (appendDatumForChecksum).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.assemble import join
from ticdc_emit.columnar.buffers import fixed_values, from_bytes, null_mask, text_buffers
from ticdc_emit.columnar.times import in_utc
from ticdc_emit.columnar.values import plain_text
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import FLOAT_TYPES, INT64_TYPES, MySQLType


def row_crc(columns: Sequence[tuple[Column, pa.Array]], zone: str) -> npt.NDArray[np.uint32]:
    """Return each row's checksum from all data columns, in checksum order; errors as in ``columnar.times.in_utc``."""
    if not columns:
        return np.zeros(0, np.uint32)
    count = len(columns[0][1])
    rows = join((part for column, values in columns for part in _parts(column, values, zone)), count)
    return np.fromiter(map(crc32, rows.to_numpy(zero_copy_only=False)), np.uint32, count)


def _parts(column: Column, values: pa.Array, zone: str) -> Iterator[pa.Array]:
    kind = column.type
    if kind in INT64_TYPES:
        yield _fixed(values.dictionary_decode() if pa.types.is_dictionary(values.type) else values, 8)
    elif kind in FLOAT_TYPES:
        yield _fixed(values.cast(pa.float64()), 8)
    elif kind == MySQLType.VECTOR_FLOAT32:
        yield from _vector_parts(values)
    else:
        text = in_utc(column, values, zone) if kind == MySQLType.TIMESTAMP else plain_text(column, values)
        yield _words32(text_buffers(text).lengths, values)
        yield text


def _fixed(values: pa.Array, width: int) -> pa.Array:
    ends = np.arange(0, (len(values) + 1) * width, width, dtype=np.int32)
    return from_bytes(ends, fixed_values(values, np.dtype((np.void, width))).view(np.uint8), like=values, binary=True)


def _words32(numbers: npt.NDArray[np.int32], like: pa.Array) -> pa.Array:
    return _fixed(pa.array(numbers, pa.int32(), mask=null_mask(like)), 4)


def _vector_parts(texts: pa.Array) -> Iterator[pa.Array]:
    inner = pc.utf8_slice_codeunits(texts, 1, -1)
    items = pc.split_pattern(inner, ",")
    sizes = pc.if_else(pc.equal(inner, ""), 0, pc.list_value_length(items)).fill_null(0).cast(pa.int32())
    numbers = items.flatten()
    numbers = numbers.filter(pc.not_equal(numbers, "")).cast(pa.float32())  # [] splits into one empty item
    yield _words32(sizes.to_numpy(), texts)
    ends = np.zeros(len(texts) + 1, np.int32)
    np.cumsum(sizes.to_numpy() * 4, out=ends[1:])
    yield from_bytes(ends, fixed_values(numbers, np.float32).view(np.uint8), binary=True)
