"""Small histories as row changes, in this process: what ``history_forms`` makes of rows, without Spark.

``None`` for rows that Spark must look at: it reads times in more ways, and says what is wrong with contradictions.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.commit_ts import COUNTS, utc_timestamps
from ticdc_emit.changes.intervals import BASE, REMOVE, interval_changes, interval_facts, may_be_step
from ticdc_emit.spark.row_changes import BEFORE, DELETE, LAST_MICROS, MICROS, OPEN_FROM, PUT, TimeUnit, operation_of
from ticdc_emit.tso import LOGICAL_BITS, LOGICAL_PER_MICROSECOND, MAX_LONG_TSO


def snapshot_here(rows: pa.Table, names: Sequence[str], at: str | int, unit: TimeUnit) -> pa.Table | None:
    """Return the rows as inserts, as ``snapshot_inserts`` does. ``names``: the columns of the table."""
    stamps = _stamps(rows.column(at), unit) if isinstance(at, str) else pa.repeat(pa.scalar(at), rows.num_rows)
    if stamps is None:
        return None
    ops = pa.repeat("c", rows.num_rows)
    return pa.table({"op": ops, "commit_ts": stamps, "after": _images(rows, names)})


def snapshots_here(
    rows: pa.Table, names: Sequence[str], keys: Sequence[str], at: str, unit: TimeUnit
) -> pa.Table | None:
    """Return the changes between snapshots, as ``from_snapshots`` does."""
    begin = _stamps(rows.column(at), unit)
    if begin is None:
        return None
    moments = sorted(pc.unique(begin).to_pylist())
    ends = pa.array([*moments[1:], None], pa.int64()).take(pc.index_in(begin, pa.array(moments)))
    what = pa.repeat(PUT, rows.num_rows)
    try:
        return _changes(_versions(rows, names, keys, what, begin, ends), keys, once=True)
    except ValueError:  # a key is twice in a snapshot
        return None


def validity_here(
    rows: pa.Table,
    names: Sequence[str],
    keys: Sequence[str],
    valid_from: str,
    valid_to: str,
    step: dt.timedelta,
    unit: TimeUnit,
) -> pa.Table | None:
    """Return the changes that made versions, as ``from_validity`` does of versions that do not overlap."""
    micros = step // dt.timedelta(microseconds=1)
    begin, end, stated = (
        _stamps(rows.column(valid_from), unit),
        _stamps(rows.column(valid_to), unit, micros),
        _stamps(rows.column(valid_to), unit, 0),
    )
    if begin is None or end is None or stated is None or pc.any(pc.less(stated, begin)).as_py():
        return None
    versions = _versions(rows, names, keys, pa.repeat(PUT, rows.num_rows), begin, end)
    versions = versions.filter(pc.fill_null(pc.greater(versions.column("_end"), versions.column("_begin")), True))
    facts = pa.Table.from_batches([*interval_facts(versions.to_batches(), _key_names(keys))]) if len(versions) else None
    if facts is not None:
        gaps = pc.unique(facts.column("gap").drop_null()).to_pylist()
        is_odd = any(pc.any(facts.column(name)).as_py() for name in ("overlaps", "again"))
        if is_odd or any(map(may_be_step, gaps)):
            return None
    return _changes(versions, keys)


def operations_here(
    rows: pa.Table,
    names: Sequence[str],
    keys: Sequence[str],
    op: str,
    at: str,
    unit: TimeUnit,
    operations: Mapping[str, str],
) -> pa.Table | None:
    """Return the changes of a change table, as ``from_operations`` does of rows that no further column orders."""
    begin, words = _stamps(rows.column(at), unit), rows.column(op).to_pylist()
    if begin is None or not all(isinstance(word, str) for word in words):
        return None
    meanings = {word: operation_of(word, operations) for word in set(words)}
    kinds = {PUT: PUT, DELETE: REMOVE, BEFORE: BASE}
    if not kinds.keys() >= set(meanings.values()):
        return None
    what = pa.array([kinds[meanings[word] or ""] for word in words], pa.string())
    ends = pa.nulls(rows.num_rows, pa.int64())
    return _changes(_versions(rows, names, keys, what, begin, ends, [("_what", "ascending")]), keys)


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


def _images(rows: pa.Table, names: Sequence[str]) -> pa.StructArray:
    return pa.StructArray.from_arrays([rows.column(name).combine_chunks() for name in names], list(names))


def _key_names(keys: Sequence[str]) -> list[str]:
    return [f"_key{nth}" for nth in range(len(keys))]


def _versions(
    rows: pa.Table,
    names: Sequence[str],
    keys: Sequence[str],
    what: pa.Array,
    begin: pa.Array,
    end: pa.Array,
    order: Sequence[tuple[str, str]] = (),
) -> pa.Table:
    columns = {name: rows.column(key) for name, key in zip(_key_names(keys), keys, strict=True)}
    columns |= {"_what": what, "_begin": begin, "_end": end, "_row": pa.array(range(rows.num_rows))}
    sorting = [*((name, "ascending") for name in (*_key_names(keys), "_begin")), *order, ("_end", "ascending")]
    versions = pa.table(columns).sort_by(sorting)
    return versions.append_column("_image", _images(rows, names).take(versions.column("_row").combine_chunks()))


def _changes(versions: pa.Table, keys: Sequence[str], *, once: bool = False) -> pa.Table | None:
    batches = [*interval_changes(versions.combine_chunks().to_batches(), _key_names(keys), once=once)]
    return pa.Table.from_batches(batches) if batches else None
