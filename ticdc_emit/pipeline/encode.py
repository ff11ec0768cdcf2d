"""Whether rows of these Arrow types can be changes of a table: checked before anything is sent or created.

In: a batch without rows, and a table with all its versions. Out: nothing, or the error that every row would raise.
Only types are looked at, on arrays without rows, so this costs nothing and says nothing of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.attributes import SPLIT
from ticdc_emit.changes.codec import ControlMessage, Encoded, FramedRows, RowEncoder
from ticdc_emit.changes.images import BeforeImage, Image
from ticdc_emit.changes.integrity import check_given
from ticdc_emit.changes.model import Changes, Op, Peers
from ticdc_emit.columnar.buffers import to_number
from ticdc_emit.columnar.packed_fields import Piece, join_pieces
from ticdc_emit.columnar.small_batches import ColumnPool
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.delivery.base import MESSAGE_SCHEMA
from ticdc_emit.errors import BatchTooLargeError, MissingColumnError, TicdcEmitError, UnsupportedTypeError
from ticdc_emit.pipeline.large_messages import LargeMessages
from ticdc_emit.pipeline.plan import Plan, TablePlan
from ticdc_emit.pipeline.row_batch import FieldNames, RowBatch, TableGroup, struct_fields
from ticdc_emit.pipeline.row_reader import Part, check_fields, read_parts
from ticdc_emit.routing.topics import Target
from ticdc_emit.schema.model import TableInfo

__all__ = [
    "POOLED_ROWS",
    "CheckedBatch",
    "Frames",
    "check_images",
    "control_batch",
    "message_batch",
    "prepare",
    "prepare_all",
]


_IMAGES = ("before", "after")


def check_images(batch: pa.RecordBatch, table: TablePlan, how: Rendering) -> None:
    """Raise the error of rows of these types that fit no version of the table; ``batch``: its types, without rows.

    :class:`~ticdc_emit.errors.UnsupportedTypeError` for a type that cannot hold a column,
    :class:`~ticdc_emit.errors.MissingColumnError` for a column that no image has, and what ``pipeline.row_reader``
    raises for a column that the table never had. Rows that fit one version are left to the check of their values.
    """
    images = [batch.column(name) for name in _IMAGES if name in batch.schema.names]
    full_name = f"{table.schema}.{table.name}"
    for name in _IMAGES:
        kind = batch.schema.field(name).type if name in batch.schema.names else pa.null()
        if not (pa.types.is_struct(kind) or pa.types.is_map(kind) or pa.types.is_null(kind)):
            raise UnsupportedTypeError(
                f"the image {name!r} is {kind}, not a struct or map",
                remedy="Give a struct of the table's columns, or a map of canonical text",
                table=full_name,
                column=name,
            )
    kinds = [(field.name, field.type) for field in batch.schema if field.name in _IMAGES]
    check_fields(struct_fields(kinds, FieldNames()), table)
    structs = [image for image in images if pa.types.is_struct(image.type)]
    is_whole = not any(pa.types.is_map(image.type) for image in images)
    faults = []
    for encoder in table.encoders:
        if encoder is not None:
            fault = _fault(structs, encoder.table, how, is_whole=is_whole)
            if fault is None:
                return
            faults.append(fault)
    if faults:
        raise faults[-1]


def _fault(structs: list[pa.StructArray], info: TableInfo, how: Rendering, *, is_whole: bool) -> TicdcEmitError | None:
    """Return why no row can be of a version; ``is_whole``: whether no image is a map, whose columns are not known."""
    held = {field.name for struct in structs for field in struct.type}
    for struct in structs:
        try:
            arrays = dict(zip((field.name for field in struct.type), struct.flatten(), strict=True))
            image = Image(info, arrays, how)
            for column in info.data_columns:
                if column.name in arrays:
                    image.values(column)
        except TicdcEmitError as fault:
            return fault
        except pa.ArrowException:  # what Arrow cannot do without rows is told with rows
            return None
    missing = [column.name for column in info.data_columns if column.name not in held]
    if structs and is_whole and missing:
        return MissingColumnError(
            "the image lacks a column of the table",
            remedy="Add the column to the before/after struct (null where unknown)",
            table=info.full_name,
            column=missing[0],
        )
    return None


_BINARY = pa.binary()


class Frames:
    """The messages of some parts, made when the first is asked for."""

    def __init__(self, parts: Sequence[Part]) -> None:
        encoders = {type(part.encoder): part.encoder for part in parts}
        self._types = {each for each, encoder in encoders.items() if isinstance(encoder, FramedRows)}
        kinds: dict[tuple[type, Op], list[Part]] = {}
        for part in filter(self.suit, parts):
            kinds.setdefault((type(part.encoder), part.changes.op), []).append(part)
        self._waiting = {id(part): own for own in kinds.values() if len(own) > 1 for part in own}
        self._framed: dict[int, Encoded] = {}

    def suit(self, part: Part) -> bool:
        """Return whether the messages of a part are framed rows."""
        return type(part.encoder) in self._types

    def encoded(self, part: Part) -> Encoded | None:
        """Return a part's messages; ``None`` if it has to be encoded alone, as where one of its kind is refused."""
        own = self._waiting.get(id(part))
        if own is not None:
            for each in own:
                del self._waiting[id(each)]
            with suppress(TicdcEmitError, ValueRefused, pa.ArrowException):
                self._framed.update(_all_framed(own))
        return self._framed.pop(id(part), None)


def _all_framed(parts: Sequence[Part]) -> dict[int, Encoded]:
    """Return the messages of parts of one kind."""
    encoders = [cast("FramedRows", part.encoder) for part in parts]
    shown = [encoder.shown(part.changes) for encoder, part in zip(encoders, parts, strict=True)]
    counts = [len(part.changes) for part in parts]
    keys, values = (_together(each, counts) for each in zip(*shown, strict=True))
    first = parts[0].changes
    stamps = pa.concat_arrays([part.changes.commit_ts for part in parts])
    whole = Changes(first.table, first.op, stamps, first.build_ts, peers=_peers(parts))
    framed = encoders[0].framed(whole, [keys], [values])
    ends = np.cumsum(counts).tolist()
    return {id(part): framed.slice(end - count, count) for part, end, count in zip(parts, ends, counts, strict=True)}


def _together(shown: Sequence[Sequence[Piece]], counts: Sequence[int]) -> pa.Array:
    arrays = [piece for pieces in shown for piece in pieces if isinstance(piece, pa.Array) and piece.type == _BINARY]
    if len(arrays) == len(shown) == sum(map(len, shown)):  # each group has one, as where its rows are laid out already
        whole = pa.concat_arrays(arrays)
        if whole.null_count == 0:
            return whole
    return pa.concat_arrays([join_pieces(pieces, count) for pieces, count in zip(shown, counts, strict=True)])


def _peers(parts: Sequence[Part]) -> Peers:
    encoders: list[RowEncoder] = []
    codes = []
    for part in parts:
        peers, first = part.changes.peers, np.int32(len(encoders))
        codes.append(np.full(len(part.changes), first) if peers is None else peers.codes + first)
        encoders += (part.encoder,) if peers is None else peers.encoders
    return Peers(tuple(encoders), np.concatenate(codes))


def message_batch(encoded: Encoded, topic: str, partition: int | pa.Array, commit_ts: pa.Array) -> pa.RecordBatch:
    """Return encoded rows; a protocol without keys sends zero-length ones.

    ``partition``: of all rows, or an ``int32`` array of each.
    """
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


@lru_cache(maxsize=1024)
def _partition(number: int) -> pa.Scalar:
    return pa.scalar(number, pa.int32())


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


POOLED_ROWS = 2_000
"""A group of more rows gains nothing by being made with others."""

_ARROW_LIMIT = (1 << 31) - 1
_NO_FRAMES = Frames([])


@dataclass(frozen=True)
class CheckedBatch:
    """A checked batch; ``rows`` counts its changes."""

    parts: tuple[Part, ...]
    rows: int
    large: LargeMessages
    frames: Frames

    def messages(self) -> Encoded:
        """Return keys and values in the rows' order, and what must be stored before they are sent.

        Raises :class:`MessageTooLargeError`, and :class:`BatchTooLargeError` where one Arrow array cannot hold them.
        """
        encoded = [self.large.encode(part.encoder, part.changes, self.frames.encoded(part)) for part in self.parts]
        if not encoded:
            return Encoded(pa.array([], pa.binary()))
        if len(encoded) == 1 and self.parts[0].rows is None:
            return encoded[0]
        order = np.empty(self.rows, np.int64)
        places = np.concatenate([part.rows for part in self.parts if part.rows is not None])
        order[places] = np.arange(self.rows)
        index = pa.array(order)
        size = sum(int(each.lengths().sum()) for each in encoded)
        if size > _ARROW_LIMIT:
            raise BatchTooLargeError(
                f"the messages of {self.rows} rows take {size} bytes, and an Arrow array holds 2 GiB",
                remedy="Encode fewer rows at a time",
                table=self.parts[0].changes.table.full_name,
            )
        values = pa.concat_arrays([each.values for each in encoded])
        keys = None
        if any(each.keys is not None for each in encoded):
            keys = pa.concat_arrays([each.filled_keys() for each in encoded]).take(index)
        ends = None if encoded[0].ends is None else pa.concat_arrays([each.ends for each in encoded]).take(index)
        in_order = bool((places[1:] > places[:-1]).all())
        claims = tuple(
            (int(part.rows[place]) if part.rows is not None else place, claim)
            for part, each in zip(self.parts, encoded, strict=True)
            for place, claim in each.claims
        )
        return Encoded(values if in_order else values.take(index), keys, claims, ends)


def prepare(rows: pa.RecordBatch, table: TablePlan, plan: Plan) -> CheckedBatch:
    """Read one table's batch (see ``pipeline.row_reader``) and check every value and image.

    Raises the :class:`~ticdc_emit.errors.RowError` family; a message that is too large is refused when it is made.
    """
    return next(prepare_all([RowBatch.of(rows, table)], plan))


def prepare_all(batches: Iterable[RowBatch], plan: Plan) -> Iterator[CheckedBatch]:
    """Yield each batch prepared. What is wrong with one is raised in its turn, when those before it are done with.

    Errors name the table of a row only where a batch is of one.
    """
    read: list[tuple[Part, ...]] = []
    fault = None
    for rows in batches:
        try:
            read.append(_read(rows, plan))
        except TicdcEmitError as error:
            fault = error
            break
    small = [part for parts in read for part in parts if len(part.changes) <= POOLED_ROWS]
    frames = _NO_FRAMES
    if len(small) > 1:
        frames = Frames(small)
        pool = ColumnPool(plan.rendering)
        for part in small:
            part.changes.join(pool, framed=frames.suit(part))
    for parts in read:
        for part in parts:
            _check(part, plan)
        yield CheckedBatch(parts, sum(len(part.changes) for part in parts), plan.large, frames)
    if fault is not None:
        raise fault


def _read(rows: RowBatch, plan: Plan) -> tuple[Part, ...]:
    tables = rows.tables
    if SPLIT in rows.block.columns and plan.transactions.split_checksums == "kept":
        rows = RowBatch.of(rows.batch.drop_columns([SPLIT]), tables, rows.keys, rows.block.field_names)
    if not isinstance(tables, TableGroup):
        return tuple(read_parts(rows, tables, plan.rendering, plan.build_ts))
    return tuple(
        replace(
            part, changes=replace(part.changes, peers=tables.peers(slice(None) if part.rows is None else part.rows))
        )
        for part in read_parts(rows, tables.first, plan.rendering, plan.build_ts)
    )


def _check(part: Part, plan: Plan) -> None:
    changes = part.changes
    changes.current.check()
    if isinstance(changes.before, BeforeImage):
        changes.old.check()
    if plan.integrity.enabled and changes.given_checksum:
        check_given(changes, refuse_corrupted=plan.integrity.corruption_handle_level == "error")
    part.encoder.check(changes)
