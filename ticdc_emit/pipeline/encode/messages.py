"""ENCODE: rows in total order in, their messages with their targets out.

Every value is checked before anything is rendered. The columns of small groups, and what stands around them, are made
together (:class:`SmallGroups`); whatever cannot be is made alone, so that errors name their rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID, SPLIT
from ticdc_emit.changes.codec import ControlMessage, FramedRows
from ticdc_emit.changes.images import BeforeImage
from ticdc_emit.changes.integrity import check_given, given_checksums
from ticdc_emit.changes.model import Changes, Encoded, Op, RowEncoder, TableConstants
from ticdc_emit.columnar.buffers import to_number
from ticdc_emit.columnar.epochs import COMMIT_TS
from ticdc_emit.columnar.integers import integer_text
from ticdc_emit.columnar.packed_fields import Piece, join_pieces
from ticdc_emit.columnar.small_batches import ColumnBatcher
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.delivery.base import MESSAGE_SCHEMA, MOST_PARTITIONS, Target
from ticdc_emit.errors import BatchTooLargeError, TicdcEmitError
from ticdc_emit.pipeline.arrange.row_batch import RowBatch, TableGroup
from ticdc_emit.pipeline.arrange.row_reader import read_changes
from ticdc_emit.pipeline.encode.chunks import EncodedRows
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan
from ticdc_emit.routing.partitions import partitions_of, table_hash

_ARROW_LIMIT = (1 << 31) - 1


def encode_batches(batches: Iterable[RowBatch], plan: Plan, *, counts: bool = False) -> Iterator[EncodedRows]:
    """Yield the messages of each batch. What is wrong with one is raised in its turn, after those before it.

    ``counts``: whether changes are counted for the report (:attr:`EncodedRows.changes`).
    Errors name the table of a row only where a batch is of one.
    """
    read: list[tuple[RowBatch, list[Changes]]] = []
    fault = None
    for rows in batches:
        if SPLIT in rows.block.columns and plan.transactions.split_checksums == "kept":
            rows = RowBatch.of(rows.batch.drop_columns([SPLIT]), rows.tables, rows.order_keys)
        try:
            read.append((rows, read_changes(rows, plan.rendering, plan.build_ts)))
        except TicdcEmitError as error:
            fault = error
            break
    small = SmallGroups([changes for _, groups in read for changes in groups], plan.rendering)
    for rows, groups in read:
        for changes in groups:
            changes.current.check()
            if changes.after is not None and changes.before is not None:
                changes.before.check()
            if plan.integrity.enabled and changes.once(given_checksums):
                check_given(changes, refuse_corrupted=plan.integrity.corruption_handle_level == "error")
            changes.encoder.check(changes)
        topics, codes = targets_of(groups, rows.tables, rows.length)
        encoded = [plan.large.encode(changes, small.encoded(changes)) for changes in groups]
        if plan.router.by_table:
            encoded = [
                replace(each, keys=integer_text(changes.physical_table_ids).cast(pa.binary()))
                if PHYSICAL_TABLE_ID in changes.attributes
                else each
                for changes, each in zip(groups, encoded, strict=True)
            ]
        whole = _in_order(groups, encoded, rows.length)
        yield EncodedRows(topics, codes, rows.order_keys, whole, _counts(groups, rows.length) if counts else {})
    if fault is not None:
        raise fault


def _in_order(groups: Sequence[Changes], encoded: Sequence[Encoded], rows: int) -> Encoded:
    if not encoded:
        return Encoded(pa.array([], pa.binary()))
    if len(encoded) == 1 and groups[0].rows is None:
        return encoded[0]
    order = np.empty(rows, np.int64)
    places = np.concatenate([changes.rows for changes in groups if changes.rows is not None])
    order[places] = np.arange(rows)
    index = pa.array(order)
    size = sum(int(each.lengths().sum()) for each in encoded)
    if size > _ARROW_LIMIT:
        raise BatchTooLargeError(
            f"the messages of {rows} rows take {size} bytes, and an Arrow array holds 2 GiB",
            remedy="Encode fewer rows at a time",
            table=groups[0].table.full_name,
        )
    values = pa.concat_arrays([each.values for each in encoded])
    keys = None
    if any(each.keys is not None for each in encoded):
        keys = pa.concat_arrays([each.filled_keys() for each in encoded]).take(index)
    ends = None if encoded[0].ends is None else pa.concat_arrays([each.ends for each in encoded]).take(index)
    in_order = bool((places[1:] > places[:-1]).all())
    claims = tuple(
        (int(changes.rows[place]) if changes.rows is not None else place, claim)
        for changes, each in zip(groups, encoded, strict=True)
        for place, claim in each.claims
    )
    return Encoded(values if in_order else values.take(index), keys, claims, ends)


def _counts(groups: Sequence[Changes], rows: int) -> Mapping[str, int]:
    names: dict[str, int] = {}
    codes = np.empty(rows, np.int64)
    for changes in groups:
        encoders, places = [changes.encoder], np.zeros(1, np.int64)
        if changes.tables is not None:
            used, places = np.unique(changes.tables.codes, return_inverse=True)
            encoders = [changes.tables.encoders[code] for code in used]
        own = [
            names.setdefault(f"{changes.op.value} {each.table.schema}.{each.table.name}", len(names))
            for each in encoders
        ]
        codes[slice(None) if changes.rows is None else changes.rows] = np.array(own)[places]
    return dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True))


def message_batch(encoded: Encoded, topic: str, partition: int | pa.Array, commit_ts: pa.Array) -> pa.RecordBatch:
    """Return encoded rows; a protocol without keys sends zero-length ones. ``partition``: of all rows, or of each."""
    count, encoded = len(encoded), encoded.whole()
    columns = [
        pa.repeat(_topic(topic), count),
        pa.repeat(_partition(partition), count) if isinstance(partition, int) else partition,
        encoded.filled_keys(),
        encoded.values,
        to_number(commit_ts, pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=MESSAGE_SCHEMA)


@lru_cache(maxsize=1024)
def _topic(name: str) -> pa.Scalar:
    return pa.scalar(name, pa.string())


_partition = lru_cache(maxsize=1024)(lambda number: pa.scalar(number, pa.int32()))


def control_batch(messages: Sequence[tuple[Target, ControlMessage]]) -> pa.RecordBatch:
    """Return control messages with their targets."""
    return pa.RecordBatch.from_arrays(
        [
            pa.array([topic for (topic, _), _ in messages], pa.string()),
            pa.array([partition for (_, partition), _ in messages], pa.int32()),
            pa.array([message.key for _, message in messages], pa.binary()),
            pa.array([message.value for _, message in messages], pa.binary()),
            pa.array([message.commit_ts for _, message in messages], pa.uint64()).cast(pa.int64(), safe=False),
        ],
        schema=MESSAGE_SCHEMA,
    )


# -- the targets of rows -------------------------------------------------------------------------------------------


def targets_of(
    groups: Sequence[Changes], tables: TablePlan | TableGroup, rows: int
) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    """Return the topics of a batch's checked rows, and each row's code (:class:`EncodedRows`)."""
    if not isinstance(tables, TableGroup):
        if tables.partition is not None:
            return (tables.topic,), np.full(rows, tables.partition, np.int64)
        codes, topics = _partitions_of_groups(groups, tables, rows), {} if tables.routes else {tables.topic: 0}
        for changes in groups if tables.routes else ():
            code = topics.setdefault(tables.routed(changes.encoder).topic, len(topics))
            codes[slice(None) if changes.rows is None else changes.rows] += code * MOST_PARTITIONS
        return tuple(topics), codes
    topics = {}
    codes = np.array([topics.setdefault(table.topic, len(topics)) for table in tables.tables], np.int64)
    codes = codes[tables.codes] * MOST_PARTITIONS
    fixed = [table.partition for table in tables.tables if table.partition is not None]
    if len(fixed) == len(tables.tables):
        return tuple(topics), codes + np.array(fixed, np.int64)[tables.codes]
    return tuple(topics), codes + _partitions_of_groups(groups, tables.first, rows)


def _partitions_of_groups(groups: Iterable[Changes], table: TablePlan, rows: int) -> npt.NDArray[np.int64]:
    """Tell by the image that counts: after, or before of a delete."""
    partitions = np.zeros(rows, np.int64)
    for changes in groups:
        own = table.routed(changes.encoder)
        hashed = own.rule.hashed(changes.encoder.table, own.routing)
        seeds = _seed(changes.encoder) if changes.tables is None else changes.numbers(_seed).astype(np.uint32)
        numbers = partitions_of(
            own.rule, hashed, seeds, changes.current, changes.commit_ts, own.partitions, own.routing
        )
        partitions[slice(None) if changes.rows is None else changes.rows] = np.asarray(numbers)
    return partitions


def _seed(encoder: RowEncoder) -> int:
    return table_hash(*encoder.table.source_name)


FEW_ROWS = 2_000
"""A group of more rows gains nothing by being made with others."""

_BINARY = pa.binary()


class SmallGroups:
    """Those of some groups that have few rows; nothing, where there is but one."""

    def __init__(self, groups: Sequence[Changes], how: Rendering) -> None:
        self._waiting: dict[int, list[Changes]] = {}
        self._framed: dict[int, Encoded] = {}
        small = [changes for changes in groups if len(changes) <= FEW_ROWS]
        if len(small) < 2:
            return
        encoders = {type(changes.encoder): changes.encoder for changes in small}
        framing = {kind for kind, encoder in encoders.items() if isinstance(encoder, FramedRows)}
        by_kind: dict[tuple[type, Op], list[Changes]] = {}
        batcher = ColumnBatcher(how)
        for changes in small:
            is_framed = type(changes.encoder) in framing
            if is_framed:
                by_kind.setdefault((type(changes.encoder), changes.op), []).append(changes)
            _batch_columns(changes, batcher, is_framed=is_framed)
        self._waiting = {id(changes): own for own in by_kind.values() if len(own) > 1 for changes in own}

    def encoded(self, changes: Changes) -> Encoded | None:
        """Return a checked group's messages, once; ``None`` if it must be encoded alone, as with a refused one."""
        own = self._waiting.get(id(changes))
        if own is not None:
            for each in own:
                del self._waiting[id(each)]
            with suppress(TicdcEmitError, ValueRefused, pa.ArrowException):
                self._framed.update(_all_framed(own))
        return self._framed.pop(id(changes), None)


def _batch_columns(changes: Changes, batcher: ColumnBatcher, *, is_framed: bool) -> None:
    columns = changes.table.data_columns
    if not is_framed:
        changes.batched = batcher.add([COMMIT_TS], {COMMIT_TS.name: changes.commit_ts})
    if changes.after is not None:
        changes.after.batched = batcher.add(columns, changes.after.arrays)
    if isinstance(changes.before, BeforeImage):
        whole, parts = changes.before.own_values()
        changes.before.batched = batcher.add(columns, whole)
        changes.before.batched_parts = batcher.add(columns, parts)
        return  # the images of updates share what they show
    if changes.before is not None:
        changes.before.batched = batcher.add(columns, changes.before.arrays)
    if is_framed and changes.current.batched is not None:
        changes.current.batched.join_rows(columns)
        changes.current.batched.join_rows(changes.table.shown_handle_key)


def _all_framed(groups: Sequence[Changes]) -> dict[int, Encoded]:
    encoders = [cast("FramedRows", changes.encoder) for changes in groups]
    shown = [encoder.shown(changes) for encoder, changes in zip(encoders, groups, strict=True)]
    counts = [len(changes) for changes in groups]
    keys, values = (_together(each, counts) for each in zip(*shown, strict=True))
    first = groups[0]
    stamps = pa.concat_arrays([changes.commit_ts for changes in groups])
    whole = Changes(first.encoder, first.op, stamps, first.build_ts, tables=_constants(groups))
    framed = encoders[0].framed(whole, [keys], [values])
    ends = np.cumsum(counts).tolist()
    return {id(own): framed.slice(end - count, count) for own, end, count in zip(groups, ends, counts, strict=True)}


def _together(shown: Sequence[Sequence[Piece]], counts: Sequence[int]) -> pa.Array:
    arrays = [piece for pieces in shown for piece in pieces if isinstance(piece, pa.Array) and piece.type == _BINARY]
    if len(arrays) == len(shown) == sum(map(len, shown)):  # each group has one, as where its rows are laid out already
        whole = pa.concat_arrays(arrays)
        if whole.null_count == 0:
            return whole
    return pa.concat_arrays([join_pieces(pieces, count) for pieces, count in zip(shown, counts, strict=True)])


def _constants(groups: Sequence[Changes]) -> TableConstants:
    encoders: list[RowEncoder] = []
    codes = []
    for changes in groups:
        tables, first = changes.tables, np.int32(len(encoders))
        codes.append(np.full(len(changes), first) if tables is None else tables.codes + first)
        encoders += (changes.encoder,) if tables is None else tables.encoders
    return TableConstants(tuple(encoders), np.concatenate(codes))
