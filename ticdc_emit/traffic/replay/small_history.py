"""Small histories as row changes, in this process: what ``history_forms`` makes of rows, without Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.commit_ts import COUNTS, utc_timestamps
from ticdc_emit.changes.intervals import BASE, REMOVE, interval_changes, interval_facts, may_be_step
from ticdc_emit.spark.row_changes import BEFORE, DELETE, LAST_MICROS, MICROS, OPEN_FROM, PUT, TimeUnit, operation_of
from ticdc_emit.tso import LOGICAL_BITS, LOGICAL_PER_MICROSECOND, MAX_LONG_TSO

MODES_HERE = ("snapshot", "snapshots", "validity", "operations")
_KINDS = {PUT: PUT, DELETE: REMOVE, BEFORE: BASE}


def changes_here(
    rows: pa.Table,
    mode: str,
    names: Sequence[str],
    keys: Sequence[str],
    at: str | int,
    unit: TimeUnit,
    *,
    valid_to: str = "",
    step: dt.timedelta = dt.timedelta(0),
    op: str = "",
    operations: Mapping[str, str] | None = None,
) -> pa.Table | None:
    """Return the changes that the function of ``history_forms`` for one of :data:`MODES_HERE` makes of a table's rows;
    ``None`` for rows that Spark must look at: it reads times in more ways, and says what is wrong with contradictions.

    ``names``: the columns of the table. ``at``: the column with the time, of validity its start; or a snapshot's TSO.
    """
    begin = _stamps(rows.column(at), unit) if isinstance(at, str) else pa.repeat(pa.scalar(at), rows.num_rows)
    images = pa.StructArray.from_arrays([rows.column(name).combine_chunks() for name in names], list(names))
    if begin is None:
        return None
    if mode == "snapshot":
        return pa.table({"op": pa.repeat("c", rows.num_rows), "commit_ts": begin, "after": images})
    what, end = pa.repeat(PUT, rows.num_rows), pa.nulls(rows.num_rows, pa.int64())
    if mode == "snapshots":
        moments = sorted(pc.unique(begin).to_pylist())
        end = pa.array([*moments[1:], None], pa.int64()).take(pc.index_in(begin, pa.array(moments)))
    elif mode == "validity":
        stated = _stamps(rows.column(valid_to), unit, 0)
        end = _stamps(rows.column(valid_to), unit, step // dt.timedelta(microseconds=1))
        if end is None or stated is None or pc.any(pc.less(stated, begin)).as_py():
            return None
    else:
        words = rows.column(op).to_pylist()
        if not all(isinstance(word, str) for word in words):
            return None
        meanings = {word: operation_of(word, operations) for word in set(words)}
        if not _KINDS.keys() >= set(meanings.values()):
            return None
        what = pa.array([_KINDS[meanings[word] or ""] for word in words], pa.string())
    own_keys = {f"_key{nth}": rows.column(key) for nth, key in enumerate(keys)}
    versions = pa.table({**own_keys, "_begin": begin, "_what": what, "_end": end, "_row": pa.array(range(len(what)))})
    versions = versions.sort_by([(name, "ascending") for name in versions.column_names[:-1]])
    versions = versions.append_column("_image", images.take(versions.column("_row").combine_chunks())).combine_chunks()
    if mode == "validity":
        versions = versions.filter(pc.fill_null(pc.greater(versions.column("_end"), versions.column("_begin")), True))
        for facts in interval_facts(versions.to_batches(), [*own_keys]):
            is_odd = any(pc.any(facts.column(name)).as_py() for name in ("overlaps", "again"))
            if is_odd or any(map(may_be_step, pc.unique(facts.column("gap").drop_null()).to_pylist())):
                return None
    try:
        batches = [*interval_changes(versions.combine_chunks().to_batches(), [*own_keys], once=mode == "snapshots")]
    except ValueError:  # a key is twice in a snapshot
        return None
    return pa.Table.from_batches(batches) if batches else None


def _stamps(column: pa.ChunkedArray, unit: TimeUnit, end_step: int | None = None) -> pa.Array | None:
    """Return TSOs, ``int64``. ``end_step``: the microseconds that are added to an end; NULL, or a far one, is open."""
    values = column.combine_chunks()
    if end_step is None and values.null_count:
        return None
    if pa.types.is_integer(values.type) and unit == "tso":
        micros_or_tso = values.cast(pa.int64())
        known = pc.and_(pc.greater_equal(micros_or_tso, COUNTS.stop), pc.less(micros_or_tso, MAX_LONG_TSO))
        return micros_or_tso if not end_step and pc.all(known).as_py() is not False else None
    try:
        if pa.types.is_integer(values.type):
            micros = pc.multiply_checked(values.cast(pa.int64()), MICROS[unit])
        else:
            micros = utc_timestamps(values).cast(pa.int64())
    except pa.ArrowException:
        return None
    if end_step is not None:
        micros = pc.add(pc.if_else(pc.less(micros, OPEN_FROM), micros, pa.scalar(None, pa.int64())), end_step)
    if pc.any(pc.or_(pc.less(micros, 0), pc.greater(micros, LAST_MICROS))).as_py():
        return None
    physical = pc.divide(micros, 1_000)
    rest = pc.subtract(micros, pc.multiply(physical, 1_000))
    return pc.add(pc.shift_left(physical, LOGICAL_BITS), pc.multiply(rest, LOGICAL_PER_MICROSECOND))
