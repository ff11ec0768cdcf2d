"""Encode batches of one table: check them, then make their messages, in the rows' order.

Two steps, so that a caller can refuse bad values before it sends anything: :func:`prepare` reads and checks (cheap:
every value is accepted, nothing is rendered), :meth:`Prepared.messages` renders and joins. Both are pure functions of
plan and batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.buffers import element_lengths, longest
from ticdc_emit.encode.changes import Changes, Encoded
from ticdc_emit.encode.images import BeforeImage
from ticdc_emit.encode.plan import Plan, TablePlan
from ticdc_emit.encode.reader import Part, read_parts
from ticdc_emit.errors import MessageTooLargeError
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.types import MySQLType

__all__ = ["MESSAGE_OVERHEAD", "Prepared", "prepare"]

MESSAGE_OVERHEAD = 36
"""Bytes that TiCDC adds to key and value for the size check: sarama's record overhead (semantics 2.0.7)."""

_WORST_GROWTH = 6  # one byte of a value can become \\u003c
_NAME_USES = 4
_FLOAT_TEXT, _FLOAT_BYTES = 64, 4
_NUMBER_TEXT = {MySQLType.FLOAT: _FLOAT_TEXT, MySQLType.DOUBLE: 352}
_COLUMN_ALLOWANCE = 512  # bytes that a column's type and a value of fixed width can add to a message


@dataclass(frozen=True)
class Prepared:
    """A checked batch of one table; ``rows`` counts its changes."""

    parts: tuple[Part, ...]
    rows: int
    max_message_bytes: int

    def messages(self) -> Encoded:
        """Return keys and values in the rows' order. Raises :class:`MessageTooLargeError`."""
        made = [self._encode(part) for part in self.parts]
        if not made:
            return Encoded(pa.array([], pa.binary()))
        if len(made) == 1 and self.parts[0].rows is None:
            return made[0]
        order = np.empty(self.rows, np.int64)
        places = np.concatenate([part.rows for part in self.parts if part.rows is not None])
        order[places] = np.arange(self.rows)
        index = pa.array(order)
        values = pa.concat_arrays([each.values for each in made])
        keys = None
        if any(each.keys is not None for each in made):
            keys = pa.concat_arrays([each.keys for each in made]).take(index)
        in_order = bool((places[1:] > places[:-1]).all())
        return Encoded(values if in_order else values.take(index), keys)

    def _encode(self, part: Part) -> Encoded:
        made = part.encoder.encode(part.changes)
        lengths = element_lengths(made.values) + MESSAGE_OVERHEAD
        if made.keys is not None:
            lengths = lengths + element_lengths(made.keys)
        if len(lengths) and int(lengths.max()) > self.max_message_bytes:
            index = int((lengths > self.max_message_bytes).argmax())
            raise MessageTooLargeError(
                f"message is too large: {int(lengths[index])} bytes, max-message-bytes is {self.max_message_bytes}",
                remedy="Raise max-message-bytes in the sink URI",
                code="CDC:ErrMessageTooLarge",
                table=part.changes.table.full_name,
                row=part.changes.current.row_key(index),
                length=int(lengths[index]),
            )
        return made


def prepare(batch: pa.RecordBatch, table: TablePlan, plan: Plan) -> Prepared:
    """Read one table's batch (see ``encode.reader``) and check every value and image.

    Raises the :class:`~ticdc_emit.errors.RowError` family. A batch with rows so large that a message might exceed
    ``max_message_bytes`` is encoded once here, for only the real message can tell.
    """
    parts = tuple(read_parts(batch, table, plan.rendering, plan.build_ts))
    for part in parts:
        changes = part.changes
        changes.current.check()
        if isinstance(changes.before, BeforeImage):
            changes.old.check()
    prepared = Prepared(parts, batch.num_rows, plan.max_message_bytes)
    if any(_largest(part.changes) > plan.max_message_bytes for part in parts):
        prepared.messages()
    return prepared


def _largest(changes: Changes) -> int:
    """Return a bound on the size of any message: every cell as long as its column's longest, every byte escaped."""
    images = [image for image in (changes.before, changes.after) if image is not None]
    columns = changes.table.data_columns
    constants = sum(
        len(column.name) * _WORST_GROWTH * _NAME_USES
        + sum(len(label) * _WORST_GROWTH for label in column.elems)
        + (column.flen * _WORST_GROWTH if column.is_binary and column.type is MySQLType.STRING else 0)
        + _COLUMN_ALLOWANCE
        for column in columns
    )
    return constants + sum(_longest_text(column, image.raw(column)) for image in images for column in columns)


def _longest_text(column: Column, values: pa.Array) -> int:
    """Return a bound on a cell's text: all bytes escaped, a float with every digit that fixed notation can need."""
    if column.type is MySQLType.VECTOR_FLOAT32:
        return longest(values) * _FLOAT_TEXT // _FLOAT_BYTES
    return longest(values) * _WORST_GROWTH + _NUMBER_TEXT.get(column.type, 0)
