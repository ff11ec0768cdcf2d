"""Single row changes of a table in the generic form, and commit timestamps."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeAlias

from hypothesis import strategies as st

from ticdc_emit.changes.model import Op
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.strategies.names import chosen
from ticdc_emit.strategies.rows import Row, rows, table_of
from ticdc_emit.tso import LOGICAL_BITS

__all__ = ["FIRST_TSO", "Change", "change", "changes"]

Change: TypeAlias = "dict[str, Any]"

FIRST_TSO = 1_700_000_000_000 << LOGICAL_BITS
"""14 November 2023, the first time that strategies draw."""

_YEARS_MS = 10 * 365 * 86_400_000
_OPS = tuple(op.value for op in Op)


def changes(
    table: str | TableInfo,
    *,
    ops: str | Collection[str] = ("insert", "update", "delete"),
    allow_key_updates: bool = True,
    time_zone: str = "UTC",
    allow_zero_dates: bool = True,
) -> st.SearchStrategy[Change]:
    """Return single changes of ``table``: ``schema``, ``table``, ``op``, ``commit_ts``, ``before``, ``after``.

    ``ops``: some of insert, update and delete. ``allow_key_updates``: also updates that change the handle key. The
    other arguments are those of :func:`~ticdc_emit.strategies.rows`. For changes that follow from each other, use
    :func:`~ticdc_emit.strategies.histories`. Raises :class:`~ticdc_emit.errors.StrategyError`.
    """
    kinds = chosen(ops, _OPS, what="operations", argument="ops")
    info = table_of(table, time_zone)
    images = rows(info, time_zone=time_zone, allow_zero_dates=allow_zero_dates)
    return _changes(info, images, sorted(kinds, key=_OPS.index), allow_key_updates)


@st.composite
def _changes(
    draw: st.DrawFn, info: TableInfo, images: st.SearchStrategy[Row], ops: list[str], allow_key_updates: bool
) -> Change:
    op = draw(st.sampled_from(ops))
    commit_ts = FIRST_TSO + draw(st.integers(0, _YEARS_MS << LOGICAL_BITS))
    before = None if op == Op.INSERT else draw(images)
    after = None if op == Op.DELETE else draw(images)
    if before and after and not (allow_key_updates and draw(st.booleans())):
        after |= {column.name: before[column.name] for column in info.whole_handle_key}
    return change(info, op, commit_ts, before, after)


def change(info: TableInfo, op: str, commit_ts: int, before: Row | None, after: Row | None) -> Change:
    """Return a change in the generic form."""
    return {
        "schema": info.schema, "table": info.name, "op": op, "commit_ts": commit_ts, "before": before, "after": after,
    }  # fmt: skip
