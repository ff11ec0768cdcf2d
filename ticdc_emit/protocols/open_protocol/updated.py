"""What an update shows with ``only-output-updated-columns``: ``p`` with the columns that it changes.

In: updates, and the members of their objects. Out: fragments. Rule sources: reference ``pingcap/tiflow:
pkg/sink/codec/open/open_protocol_message.go`` (dropNotUpdatedColumns), ``pingcap/ticdc: pkg/sink/codec/open/codec.go``
(writeColumnFieldValueIfUpdated, which forgets the name of a column that becomes NULL).
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.model import Changes
from ticdc_emit.columnar.assemble import NULL, Fragment, Mask, ObjectLayout, blank_where, join
from ticdc_emit.columnar.buffers import null_mask
from ticdc_emit.config.lineages import OpenSwitches
from ticdc_emit.protocols.json_members import Members
from ticdc_emit.protocols.open_protocol.values import MEMBER_BEGIN, MEMBER_END
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType

__all__ = ["updated_columns"]


class _Shown(NamedTuple):
    """A member, the rows that show it, and its text in them."""

    name: bytes
    around: tuple[bytes, bytes]
    behind: bytes
    text: pa.Array
    rows: Mask


def updated_columns(changes: Changes, members: Members, switches: OpenSwitches) -> list[Fragment]:
    """Lay out ``p`` with what comes before it; what of it is empty is shown or left out."""
    members_shown: list[_Shown] = []
    for name, column in zip(members.names, members.columns, strict=True):
        text, rows = _rendered(changes, members, column), _changed(changes, members, column, switches)
        around = members.around(column)
        nulled = _nulled(changes, column, rows) if switches.nulled_columns == "nameless" else None
        if nulled is not None:
            members_shown.append(_Shown(name.split(MEMBER_BEGIN)[-1], around, b"", blank_where(text, ~nulled), nulled))
            rows = rows & ~nulled
        members_shown.append(_Shown(name, around, MEMBER_END, blank_where(text, ~rows), rows))
    names, arounds, behinds, texts, shown = zip(*members_shown, strict=True)
    laid = [b',"p":', *ObjectLayout(names, arounds, behinds).sparse_fragments(texts, shown)]
    shows_any = reduce(np.logical_or, shown)
    if shows_any.all() or switches.empty_before == "shown":
        return laid
    return [blank_where(join(laid, len(changes), NULL), ~shows_any)]


def _rendered(changes: Changes, members: Members, column: Column) -> pa.Array:
    return changes.old.rendered(column, members.form, members.content)


def _changed(changes: Changes, members: Members, column: Column, switches: OpenSwitches) -> Mask:
    by_text = column.type is MySQLType.VECTOR_FLOAT32 and switches.compared_vectors == "text"
    return changes.old.changed(column, members.form, members.content, by_text=by_text)


def _nulled(changes: Changes, column: Column, rows: Mask) -> Mask | None:
    """Return the rows in which a changed column is NULL now, ``None`` if there are none."""
    nulls = null_mask(changes.current.values(column))
    if nulls is None or not (rows & nulls).any():
        return None
    return rows & nulls
