"""Changes of several tables that are encoded as those of one: their messages differ in constants only.

In: tables whose rows have columns of the same names and kinds, such as the shards of one table. Out: what a message
says of its table (names, ids, headers), row by row. A block of many tables has few rows of each, and most of what these
cost is paid per table; as peers they cost what rows of one table do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.columnar.assemble import Fragment, gather
from ticdc_emit.columnar.cells import Piece, chosen

if TYPE_CHECKING:
    from ticdc_emit.changes.row_encoder import RowEncoder
    from ticdc_emit.schema.model import TableInfo

__all__ = ["Peers", "arrangement", "likeness"]


@dataclass(frozen=True)
class Peers:
    """The row encoders of several tables of one :func:`likeness`; ``codes``: of each row, the place of its own."""

    encoders: tuple[RowEncoder, ...]
    codes: npt.NDArray[np.int32]

    def constant(self, of: Callable[[Any], bytes]) -> Fragment:
        """Return what ``of`` says of each row's encoder: one constant where it says the same of all."""
        forms = [of(encoder) for encoder in self.encoders]
        return forms[0] if forms.count(forms[0]) == len(forms) else gather(forms, self.codes)

    def pieces(self, of: Callable[[Any], bytes]) -> list[Piece]:
        """Return the same for binary formats."""
        forms = [of(encoder) for encoder in self.encoders]
        return [forms[0]] if forms.count(forms[0]) == len(forms) else chosen(self.codes, forms)

    def dictionary(self, of: Callable[[Any], bytes]) -> pa.DictionaryArray:
        """Return the same as a dictionary with an entry for each encoder."""
        forms = pa.array([of(encoder) for encoder in self.encoders], pa.binary())
        return pa.DictionaryArray.from_arrays(pa.array(self.codes), forms)

    def numbers(self, of: Callable[[Any], int]) -> npt.NDArray[np.int64]:
        """Return the number that ``of`` says of each row's encoder."""
        of_rows: npt.NDArray[np.int64] = np.array([of(encoder) for encoder in self.encoders], np.int64)[self.codes]
        return of_rows

    def take(self, rows: npt.NDArray[np.int64]) -> Peers:
        """Return those of some rows."""
        return Peers(self.encoders, self.codes[rows])


def likeness(table: TableInfo) -> Hashable:
    """Return what tables have in common whose rows are accepted and shown alike, but for what is constant of a table.

    The order of column ids is that of checksums, the clustered primary key that of row keys; Open Protocol shows of
    each column whether it is of an index, and of each row its partition.
    """
    return _same(tuple(_told(table)))


def arrangement(table: TableInfo) -> Hashable:
    """Return what tables have in common whose rows are arranged alike: their keys' columns."""
    keys = (table.whole_handle_key, table.order_columns, table.splitting_columns)
    return _same(tuple(tuple((column.name, column.kind) for column in columns) for columns in keys))


@lru_cache(maxsize=16384)
def _same(told: Hashable) -> Hashable:
    """Return the same object for what is equal, so that it is compared and hashed in full only here."""
    return object()


def _told(table: TableInfo) -> Iterator[Hashable]:
    yield tuple((column.name, column.kind) for column in table.columns)
    yield tuple(np.argsort([column.id for column in table.columns]).tolist())
    for columns in (
        table.shown_columns,
        table.whole_handle_key,
        table.shown_handle_key,
        table.handle_key,
        table.primary_key,
    ):
        yield tuple(column.name for column in columns)
    yield table.pk_is_handle, table.common_handle
    yield next(((index.columns, index.prefixes) for index in table.indexes if index.primary), None)
    yield tuple(column.collate for column in table.whole_primary_key)
    yield tuple((index.columns, index.unique, index.primary, index.marks) for index in table.indexes)
    yield bool(table.partitions)
