"""Rows in canonical text as columns of values that expressions are evaluated over, and back."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import methodcaller
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.images import image_column
from ticdc_emit.columnar.expressions import ColumnValues
from ticdc_emit.columnar.strings import labels_of
from ticdc_emit.columnar.values import Rendering, accept, plain_text
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.sql.evaluation.comparisons import EXACT_COLLATIONS, PADDED_COLLATIONS, collation_keys
from ticdc_emit.sql.types import FLOAT_TYPES, LABEL_TYPES, STRING_TYPES


def accepted(column: Column, rows: Sequence[Row], how: Rendering) -> pa.Array:
    return accept(column, pa.array([row[column.name] for row in rows], pa.string()), how)


def canonical_texts(column: Column, values: pa.Array) -> list[str | None]:
    if column.is_binary:
        return [None if raw is None else base64.b64encode(raw).decode() for raw in values.to_pylist()]
    if column.type in LABEL_TYPES:
        return labels_of(column, values)
    return [None if text is None else str(text) for text in plain_text(column, values).to_pylist()]


def column_values(info: TableInfo, rows: Sequence[Row], how: Rendering, *, computed: bool = False) -> ColumnValues:
    """Return the columns of rows as operands; virtual columns are computed. ``computed``: so are stored ones."""

    def held(column: Column) -> pa.Array | None:
        is_computed = column.is_virtual or column.hidden or (computed and column.generated is not None)
        return None if is_computed else accepted(column, rows, how)

    return ColumnValues(info, held, len(rows), how)


def typed_changes(batch: pa.RecordBatch, info: TableInfo, how: Rendering) -> list[dict[str, Any]]:
    """Return row changes in the typed form as those in the generic form, with their ``seq`` if there is one."""
    names = batch.schema.names
    images = {which: batch.column(which) for which in ("before", "after") if which in names}
    texts = {which: _image_texts(image, info, how) for which, image in images.items()}
    ops, stamps = batch.column("op").to_pylist(), batch.column("commit_ts").to_pylist()
    seqs = [{"seq": seq} for seq in batch.column("seq").to_pylist()] if "seq" in names else [{}] * batch.num_rows
    table = {"schema": info.schema, "table": info.name}
    empty: list[Row | None] = [None] * batch.num_rows
    before, after = (texts.get(which, empty) for which in ("before", "after"))
    return [
        {**table, "op": op, "commit_ts": stamp, **seq, "before": old, "after": new}
        for op, stamp, seq, old, new in zip(ops, stamps, seqs, before, after, strict=True)
    ]


def _image_texts(image: pa.Array, info: TableInfo, how: Rendering) -> list[Row | None]:
    rows: list[Row | None] = [None] * len(image)
    given = pc.indices_nonzero(image.is_valid())
    present = image.take(given)
    columns = {}
    for column in info.row_columns:
        values = image_column(present, column.name)
        if values is not None:
            columns[column.name] = canonical_texts(column, accept(column, values, how))
    for place, *texts in zip(given.to_pylist(), *columns.values(), strict=True):
        rows[place] = dict(zip(columns, texts, strict=True))
    return rows


# -- keys --------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def key_part(kind: Column, length: int = -1) -> Callable[[str], Any]:
    """Return what makes of a column's text a value that is equal where TiDB's unique keys are equal. ``length``: the
    characters that are indexed, -1 for all. Raises :class:`NotExactError` and :class:`EvaluationError`.
    """
    if kind.type in FLOAT_TYPES:
        return lambda text: "0" if text == "-0" else text
    if kind.type not in STRING_TYPES:
        return str
    if kind.is_binary:
        return str if length < 0 else lambda text: base64.b64decode(text)[:length]
    compare: Callable[[str], Any] = str if kind.collate in EXACT_COLLATIONS else partial(_weights, kind.collate)
    if kind.collate in PADDED_COLLATIONS:
        compare = methodcaller("rstrip", " ")
    return compare if length < 0 else lambda text: compare(text[:length])


@lru_cache(maxsize=65_536)
def _weights(collate: str, text: str) -> Any:
    return collation_keys(pa.scalar(text, pa.string()), collate, ordered=False).as_py()


class UniqueKey:
    """One unique key of a table version. ``name``: as errors show it; ``columns``: in the key's order."""

    def __init__(self, info: TableInfo, name: str, columns: Sequence[str], lengths: Sequence[int] = ()) -> None:
        self.name = name
        self.columns = tuple(info.column(column) for column in columns)
        widths = lengths or [-1] * len(self.columns)
        self._parts = [key_part(column.kind, width) for column, width in zip(self.columns, widths, strict=True)]

    def of(self, row: Row, computed: Row) -> tuple[Any, ...] | None:
        """Return what is equal for rows with the same key, ``None`` with NULL in it. ``computed``: virtual values."""
        parts = []
        for column, part in zip(self.columns, self._parts, strict=True):
            text = row[column.name] if column.name in row else computed[column.name]
            if text is None:
                return None
            parts.append(part(text))
        return tuple(parts)


def unique_keys(info: TableInfo) -> list[UniqueKey]:
    """Return the unique keys of a table in the order in which TiDB reads them: a clustered one is the first."""
    keys = []
    if info.pk_is_handle:
        keys.append(UniqueKey(info, "PRIMARY", [column.name for column in info.whole_primary_key]))
    indexes = sorted(
        (index for index in info.indexes if index.unique), key=lambda index: not (index.primary and info.common_handle)
    )
    return keys + [UniqueKey(info, index.name, index.columns, index.lengths) for index in indexes]


class KeyIndex:
    """The rows of one table by their unique keys: finds the rows that a new one is in conflict with."""

    def __init__(self, info: TableInfo, how: Rendering) -> None:
        self.info = info
        self.keys = unique_keys(info)
        self._how = how
        computed = {column.name: column for key in self.keys for column in key.columns}
        self._computed = [column for column in computed.values() if column.is_virtual or column.hidden]
        self._places: list[dict[tuple[Any, ...], tuple[Any, ...]]] = [{} for _ in self.keys]

    def identities(self, rows: Sequence[Row]) -> list[list[tuple[Any, ...] | None]]:
        """Return of each row what it is in each unique key (:meth:`UniqueKey.of`)."""
        computed: list[Row] = [{} for _ in rows]
        if self._computed and rows:
            values = column_values(self.info, rows, self._how)
            for column in self._computed:
                texts = canonical_texts(column, values.accepted(column))
                for row, text in zip(computed, texts, strict=True):
                    row[column.name] = text
        return [[key.of(row, own) for key in self.keys] for row, own in zip(rows, computed, strict=True)]

    def conflicts(self, identities: Sequence[tuple[Any, ...] | None]) -> list[tuple[UniqueKey, tuple[Any, ...]]]:
        """Return the keys that rows have already, with the place of each such row."""
        found = zip(self.keys, self._places, identities, strict=True)
        return [(key, places[own]) for key, places, own in found if own is not None and own in places]

    def add(self, identities: Sequence[tuple[Any, ...] | None], place: tuple[Any, ...]) -> None:
        for places, identity in zip(self._places, identities, strict=True):
            if identity is not None:
                places[identity] = place

    def remove(self, identities: Sequence[tuple[Any, ...] | None]) -> None:
        for places, identity in zip(self._places, identities, strict=True):
            if identity is not None:
                places.pop(identity, None)
