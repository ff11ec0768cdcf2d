"""Changes in their total order (``arrange.order_key``), without a pair that nothing orders.

In: batches of one table in change form. Out: the same rows in order, updates of keys split. Two changes of one key in
one transaction need a ``seq``; where they have none, or the same, the history is ambiguous and is refused
(``arrange.ambiguous``).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.arrange.ambiguous import OrderCheck
from ticdc_emit.arrange.order_key import order_keys, order_of
from ticdc_emit.arrange.selection import replicated, selected
from ticdc_emit.arrange.transactions import numbered, ranks
from ticdc_emit.plan.table_plan import TablePlan
from ticdc_emit.plan.tables import Plan

__all__ = ["arranged", "ordered", "sorted_by_commit"]


def ordered(
    batch: pa.RecordBatch, table: TablePlan, plan: Plan, kept_back: Counter[str] | None = None
) -> pa.RecordBatch:
    """Return the changes of a table that are sent, updates of keys split, in total order, without an ambiguous one.

    ``kept_back`` counts those that are not sent, by reason. Raises :class:`DuplicateChangeError`, and what
    :func:`~ticdc_emit.arrange.transactions.numbered` and :func:`~ticdc_emit.arrange.selection.selected` do.
    """
    sent = _sent(batch, table, plan, Counter() if kept_back is None else kept_back)
    if _rises(sent):  # so no update was split
        return sent
    batch, keys = _keyed(sent, table, plan)
    OrderCheck([table]).check(keys)
    return batch


def arranged(batch: pa.RecordBatch, table: TablePlan, plan: Plan) -> tuple[pa.RecordBatch, pa.Array]:
    """Return the changes of a table that are sent, updates of keys split, in total order, and their order keys.

    Two changes that nothing orders are left as they are. Raises what
    :func:`~ticdc_emit.arrange.transactions.numbered` and :func:`~ticdc_emit.arrange.selection.selected` do.
    """
    return _keyed(_sent(batch, table, plan, Counter()), table, plan)


def _sent(batch: pa.RecordBatch, table: TablePlan, plan: Plan, kept_back: Counter[str]) -> pa.RecordBatch:
    """Return the changes that are sent, updates of keys split."""
    batch = sorted_by_commit(numbered(batch, f"{table.schema}.{table.name}"))
    batch = replicated(batch, table, plan, kept_back, keyless=False)
    return selected(batch, table, plan, kept_back)


def _keyed(batch: pa.RecordBatch, table: TablePlan, plan: Plan) -> tuple[pa.RecordBatch, pa.Array]:
    batch = sorted_by_commit(batch)
    keys = order_keys(batch, table, 0, ranks(batch, plan.transactions.split_order))
    order = order_of(keys)
    return (batch, keys) if order is None else (batch.take(order), keys.take(order))


def sorted_by_commit(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows by commit_ts, those of one in the order that they have."""
    stamps = _stamps(batch)
    if bool((stamps[1:] >= stamps[:-1]).all()):
        return batch
    return batch.take(pa.array(np.argsort(stamps, kind="stable")))


def _rises(batch: pa.RecordBatch) -> bool:
    stamps = _stamps(batch)
    return bool((stamps[1:] > stamps[:-1]).all())


def _stamps(batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
    return np.asarray(batch.column("commit_ts").cast(pa.uint64(), safe=False))
