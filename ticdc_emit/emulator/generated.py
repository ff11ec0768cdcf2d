"""Generated changes for tables that SQL changes, too: in the generic form, made to fit the rows that the tables have.

In: batches in the typed form, as generated traffic has them, and the rows of a table. Out: changes in the generic form.
Traffic knows only its own rows. Where SQL has inserted, changed or deleted one of them, an insert becomes an update, an
update has the row's real image before it, and what has no row to change is an insert or left out. So a consumer sees a
stream that a TiDB could have sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.changes.model import Op
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.database.row_values import typed_changes
from ticdc_emit.database.tables import Rows, handle_of
from ticdc_emit.schema.model import TableInfo

_KEPT = frozenset(ATTRIBUTES) - {"checksum"}  # which is that of the generated image


def generic_changes(info: TableInfo, batches: Iterable[pa.RecordBatch], how: Rendering) -> Iterator[dict[str, Any]]:
    """Yield the changes of a table in the generic form, in their order."""
    for batch in batches:
        names = [name for name in batch.schema.names if name in _KEPT]
        kept = zip(*(batch.column(name).to_pylist() for name in names), strict=True) if names else [()] * batch.num_rows
        for change, values in zip(typed_changes(batch, info, how), kept, strict=True):
            yield {**change, **dict(zip(names, values, strict=True))}


def fitted(change: Mapping[str, Any], info: TableInfo, rows: Rows) -> dict[str, Any] | None:
    """Return a change as the rows of its table allow it, ``None`` if there is nothing to change.

    A table without a handle key is not known to SQL otherwise than by whole rows: its changes stay as they are.
    """
    if not info.whole_handle_key:
        return dict(change)
    op = Op.parse(change["op"])
    before, after = change["before"], change["after"]
    was = None if op is Op.INSERT else rows.get(handle_of(info, before))
    if op is Op.DELETE:
        return None if was is None else {**change, "before": was}
    target = handle_of(info, after)
    moves = was is not None and target != handle_of(info, before)
    other = rows.get(target) if was is None or moves else None
    if moves and other is not None:
        return None  # another row has the key already
    known = was if was is not None else other
    if known is None:
        return {**change, "op": Op.INSERT.value, "before": None}
    return None if known == after else {**change, "op": Op.UPDATE.value, "before": known}


def due(batches: Sequence[pa.RecordBatch], start: int, end: int) -> list[pa.RecordBatch]:
    """Return the changes after the TSO ``start``, up to ``end``."""
    found = []
    for batch in batches:
        stamps = batch.column("commit_ts")
        part = batch.filter(pc.and_(pc.greater(stamps, start), pc.less_equal(stamps, end)))
        if part.num_rows:
            found.append(part)
    return found
