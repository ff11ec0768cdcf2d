"""Rows of one topic-partition and the control messages that come among them, as a writer takes them.

In: rows in total order, control messages, and before which row each comes. Out: Python objects for the writers of this
library, record batches for any other, and for protocols whose messages hold several rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ticdc_emit.arrange.merged import Places
from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.delivery.batches import Run
from ticdc_emit.delivery.contract import MessageWriter
from ticdc_emit.delivery.writer import TaskWriter
from ticdc_emit.encode.messages import control_batch
from ticdc_emit.encode.packing import Packer
from ticdc_emit.encode.window import Window
from ticdc_emit.routing.topic import Target

__all__ = ["PlacedRows", "batches_of", "write_rows"]


@dataclass(frozen=True)
class PlacedRows:
    """``due``: the control messages. ``places``: before which row each comes, rising; the number of rows for one behind
    them.
    """

    target: Target
    rows: Window
    due: Sequence[ControlMessage]
    places: Places

    def batch(self, packer: Packer | None) -> pa.RecordBatch:
        """Return the messages in ``MESSAGE_SCHEMA``. Rows that ``packer`` may join to later ones are left to it."""
        batch, places = self.rows.batch(self.target), self.places
        if packer is not None:
            batch, places = packer.add(batch, places)
        if not self.due:
            return batch
        joined = pa.concat_batches([batch, control_batch([(self.target, message) for message in self.due])])
        order = np.insert(np.arange(batch.num_rows), places, np.arange(batch.num_rows, joined.num_rows))
        return joined.take(pa.array(order))

    def run(self) -> Run:
        """Return the messages as Python objects."""
        run = self.rows.run(self.target)
        if not self.due:
            return run
        keys, values, start = [], [], 0
        for message, place in zip(self.due, self.places.tolist(), strict=True):
            keys += [*run.keys[start:place], message.key]
            values += [*run.values[start:place], message.value]
            start = place
        sizes = [len(message.key or b"") + len(message.value or b"") for message in self.due]
        return Run(
            *self.target, keys + run.keys[start:], values + run.values[start:], np.insert(run.sizes, self.places, sizes)
        )


def batches_of(rows: Iterable[PlacedRows], packer: Packer | None) -> Iterator[pa.RecordBatch]:
    """Yield the messages of one topic-partition in ``MESSAGE_SCHEMA``."""
    for each in rows:
        batch = each.batch(packer)
        if batch.num_rows:
            yield batch
    if packer is not None and (rest := packer.rest()) is not None:
        yield rest


def write_rows(rows: Iterable[PlacedRows], packer: Packer | None, writer: MessageWriter) -> None:
    """Write the messages of one topic-partition."""
    if packer is None and isinstance(writer, TaskWriter):
        for each in rows:
            writer.write_run(each.run())
    else:
        for batch in batches_of(rows, packer):
            writer.write(batch)
