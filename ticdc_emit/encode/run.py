"""Encode batches of one table: check them, then make their messages, in the rows' order.

Two steps, so that a caller can refuse bad values before it sends anything: :func:`prepare` reads and checks (cheap:
every value is accepted, nothing is rendered), :meth:`Prepared.messages` renders and joins. Both are pure functions of
plan and batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.buffers import element_lengths
from ticdc_emit.encode.changes import Encoded
from ticdc_emit.encode.images import BeforeImage
from ticdc_emit.encode.integrity import check_given
from ticdc_emit.encode.plan import Plan, TablePlan
from ticdc_emit.encode.reader import Part, read_parts
from ticdc_emit.encode.sizes import MESSAGE_OVERHEAD, largest_message
from ticdc_emit.errors import BatchTooLargeError, MessageTooLargeError

__all__ = ["Prepared", "prepare"]

_ARROW_LIMIT = (1 << 31) - 1


@dataclass(frozen=True)
class Prepared:
    """A checked batch of one table; ``rows`` counts its changes."""

    parts: tuple[Part, ...]
    rows: int
    max_message_bytes: int

    def messages(self) -> Encoded:
        """Return keys and values in the rows' order.

        Raises :class:`MessageTooLargeError`, and :class:`BatchTooLargeError` where one Arrow array cannot hold them.
        """
        made = [self._encode(part) for part in self.parts]
        if not made:
            return Encoded(pa.array([], pa.binary()))
        if len(made) == 1 and self.parts[0].rows is None:
            return made[0]
        order = np.empty(self.rows, np.int64)
        places = np.concatenate([part.rows for part in self.parts if part.rows is not None])
        order[places] = np.arange(self.rows)
        index = pa.array(order)
        size = sum(each.values.nbytes for each in made)
        if size > _ARROW_LIMIT:
            raise BatchTooLargeError(
                f"the messages of {self.rows} rows take {size} bytes, and an Arrow array holds 2 GiB",
                remedy="Encode fewer rows at a time",
                table=self.parts[0].changes.table.full_name,
            )
        values = pa.concat_arrays([each.values for each in made])
        keys = None
        if any(each.keys is not None for each in made):
            keys = pa.concat_arrays([each.filled_keys() for each in made]).take(index)
        in_order = bool((places[1:] > places[:-1]).all())
        return Encoded(values if in_order else values.take(index), keys)

    def _encode(self, part: Part) -> Encoded:
        made = part.encoder.encode(part.changes)
        if not part.encoder.refuses_large:
            return made
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
        if plan.integrity.enabled and changes.given_checksum:
            check_given(changes, refuse_corrupted=plan.integrity.corruption_handle_level == "error")
        part.encoder.check(changes)
    prepared = Prepared(parts, batch.num_rows, plan.max_message_bytes)
    limited = (part for part in parts if part.encoder.refuses_large)
    if any(largest_message(part.encoder, part.changes) > plan.max_message_bytes for part in limited):
        prepared.messages()
    return prepared
