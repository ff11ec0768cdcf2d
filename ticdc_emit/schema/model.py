"""The schema of one table version, as TiCDC's encoders read it; immutable, hashable, picklable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Any

from ticdc_emit.errors import SchemaError
from ticdc_emit.sql.types import (
    BINARY_CHARSET,
    FLOAT_TYPES,
    FSP_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    STRING_TYPES,
    TYPES,
    UNSPECIFIED_LENGTH,
    ColumnFlag,
    MySQLType,
    type_name,
)

# compared as numbers: an IntFlag makes a new flag of every "&"
_NOT_NULL, _UNSIGNED = int(ColumnFlag.NOT_NULL), int(ColumnFlag.UNSIGNED)
_MOST_NAMED = 8
NOW = "CURRENT_TIMESTAMP"
"""The stored default of a column that takes the time of the change."""
NO_LIMIT = -1
"""The maximum length of a text column that has none."""


@dataclass(frozen=True)
class Column:
    """One column; ``flen``/``decimal`` are TiDB's (-1: unspecified), ``default`` the text or bytes that TiDB stores."""

    id: int
    name: str
    type: MySQLType
    flen: int
    decimal: int
    charset: str = BINARY_CHARSET
    collate: str = BINARY_CHARSET
    flags: ColumnFlag = ColumnFlag.NONE
    elems: tuple[str, ...] = ()
    default: str | bytes | None = None
    original_default: str | bytes | None = None  # what rows older than the column have
    comment: str = ""
    generated: str | None = None  # None, "virtual" or "stored"
    generated_expr: str = ""
    hidden: bool = False  # made by TiDB for an expression index; not in rows

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def kind(self) -> Column:
        """All but its id, name, comment and original default. Equal kinds are the same object."""
        return _kept_kind(replace(self, id=0, name="", comment="", original_default=None))

    @cached_property
    def kind_of_any_length(self) -> Column:
        """Of a text column its kind without the maximum length, of others their kind."""
        return replace(self.kind, flen=NO_LIMIT).kind if self.is_text else self.kind

    @property
    def length(self) -> int:
        """``flen``, or the type's if the DDL has none."""
        return TYPES[self.type].length if self.flen == UNSPECIFIED_LENGTH else self.flen

    @property
    def scale(self) -> int:
        """``decimal``, or the type's if the DDL has none."""
        return TYPES[self.type].decimals if self.decimal == UNSPECIFIED_LENGTH else self.decimal

    @property
    def fraction_digits(self) -> int:
        """The digits after the point: a DECIMAL's scale, a time's fsp; 0 if the DDL has none."""
        return max(self.decimal, 0)

    @property
    def nullable(self) -> bool:
        return not int.__and__(self.flags, _NOT_NULL)

    @property
    def unsigned(self) -> bool:
        return int.__and__(self.flags, _UNSIGNED) != 0

    @property
    def zerofill(self) -> bool:
        return bool(self.flags & ColumnFlag.ZEROFILL)

    @property
    def is_primary_key(self) -> bool:
        return bool(self.flags & ColumnFlag.PRIMARY_KEY)

    @property
    def is_virtual(self) -> bool:
        return self.generated == "virtual"

    @property
    def is_binary(self) -> bool:
        """True for BINARY, VARBINARY and the BLOBs: string types whose charset is ``binary``."""
        return self.type in STRING_TYPES and self.charset == BINARY_CHARSET

    @cached_property
    def is_text(self) -> bool:
        """True for CHAR, VARCHAR and the TEXTs: string types of another charset."""
        return self.type in STRING_TYPES and self.charset != BINARY_CHARSET


@lru_cache(maxsize=16384)
def _kept_kind(kind: Column) -> Column:
    return kind


@dataclass(frozen=True)
class Index:
    """One index; ``columns`` in index order (hidden columns of expression indexes by their internal name)."""

    id: int
    name: str
    columns: tuple[str, ...]
    unique: bool = False
    primary: bool = False
    visible: bool = True
    lengths: tuple[int, ...] = ()
    """The characters of each column that are indexed, -1 for all; () if that is so for every column."""
    marks: bool = True
    """Whether TiDB marks its first column: not for an index that CREATE TABLE adds for a foreign key."""


@dataclass(frozen=True)
class Partition:
    """One partition of a partitioned table; ``id`` is the physical table id of its rows."""

    id: int
    name: str


@dataclass(frozen=True, repr=False)
class TableInfo:
    """One version of one table (or view). ``version`` and ``update_ts`` are TSOs, ``columns`` are in table order.

    ``selected``: the names of the columns that remain after column selectors; ``None``: all. ``virtual_keys``: messages
    may show a unique key over virtual columns as the handle key. ``joined_keys``: they show a unique key before a
    non-clustered primary key as a part of it. ``source``: the own schema and name, if table routing changed them.
    """

    schema: str
    name: str
    id: int
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...] = ()
    charset: str = "utf8mb4"
    collate: str = "utf8mb4_bin"
    version: int = 0
    update_ts: int = 0
    pk_is_handle: bool = False
    common_handle: bool = False
    comment: str = ""
    partitions: tuple[Partition, ...] = ()
    is_view: bool = False
    selected: frozenset[str] | None = None
    virtual_keys: bool = False
    joined_keys: bool = False
    source: tuple[str, str] | None = None

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns[:_MOST_NAMED])
        more = ", …" if len(self.columns) > _MOST_NAMED else ""
        return f"<{'View' if self.is_view else 'Table'} {self.full_name} ({names}{more}), version {self.version}>"

    @property
    def source_name(self) -> tuple[str, str]:
        """The schema and name before table routing, which rows, filters, dispatchers and errors use."""
        return self.source or (self.schema, self.name)

    @property
    def full_name(self) -> str:
        return ".".join(self.source_name)

    def column(self, name: str) -> Column:
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def row_columns(self) -> tuple[Column, ...]:
        """The columns whose values a row has, in table order: not virtual and not hidden (semantics 2.0.6)."""
        return tuple(c for c in self.columns if not c.is_virtual and not c.hidden)

    @cached_property
    def data_columns(self) -> tuple[Column, ...]:
        """The columns in row changes, in table order: those of the row that remain after selectors."""
        return self._left(self.row_columns)

    @cached_property
    def shown_columns(self) -> tuple[Column, ...]:
        """All columns that remain after selectors, including virtual and hidden ones, in table order."""
        return self._left(self.columns)

    @cached_property
    def primary_key(self) -> tuple[Column, ...]:
        """The PRIMARY KEY columns that remain after selectors, in table order; empty without a primary key."""
        return self._left(self.whole_primary_key)

    @cached_property
    def handle_key(self) -> tuple[Column, ...]:
        """The columns of :attr:`shown_handle_key` that rows have and that remain after selectors."""
        return self._left(tuple(column for column in self.shown_handle_key if not column.is_virtual))

    @cached_property
    def order_columns(self) -> tuple[Column, ...]:
        """The columns that order changes of equal commit_ts: the whole handle key, or the whole row without one."""
        return self.whole_handle_key or self.row_columns

    @cached_property
    def splitting_columns(self) -> tuple[Column, ...]:
        """The columns of the primary key and of all unique keys, in table order; their change splits an update."""
        keyed = {name for index in self.indexes if index.unique or index.primary for name in index.columns}
        return tuple(column for column in self.row_columns if column.is_primary_key or column.name in keyed)

    @cached_property
    def whole_primary_key(self) -> tuple[Column, ...]:
        """The PRIMARY KEY columns in table order, ignoring selectors; empty without a primary key."""
        return tuple(c for c in self.row_columns if c.is_primary_key)

    @property
    def tidb_primary_key(self) -> tuple[str, ...]:
        """The primary key's names in its order, as TiDB's ``GetPrimaryKey``; selectors do not count.

        Without one: the first unique index whose columns are all NOT NULL and not hidden, else ().
        """
        if self.pk_is_handle:
            return tuple(column.name for column in self.whole_primary_key)
        filled = {column.name for column in self.columns if not column.nullable and not column.hidden}
        implicit = (index for index in self.indexes if index.unique and filled.issuperset(index.columns))
        key = next((index for index in self.indexes if index.primary), None) or next(implicit, None)
        return () if key is None else key.columns

    @cached_property
    def whole_handle_key(self) -> tuple[Column, ...]:
        """The handle key in table order, ignoring selectors (semantics 2.0.5): primary key, else unique index, else ().

        That has the fewest columns, all NOT NULL and none virtual; tie by smallest index id.
        """
        return self.whole_primary_key or self._best_key(self.row_columns)

    @cached_property
    def handle_key_names(self) -> tuple[str, ...]:
        """The names of the :attr:`whole_handle_key`'s columns."""
        return tuple(column.name for column in self.whole_handle_key)

    @cached_property
    def shown_handle_key(self) -> tuple[Column, ...]:
        """The handle key as messages show it, in table order. With ``virtual_keys`` it may have virtual or hidden
        columns, of which rows have no values; with ``joined_keys`` a unique key before a non-clustered primary key.
        """
        if self.whole_primary_key:
            if not self.joined_keys or self.pk_is_handle or self.common_handle:
                return self.whole_primary_key
            before = tuple(takewhile(lambda index: not index.primary, self.indexes))
            joined = {*self.whole_primary_key, *self._best_key(self.row_columns, before)}
            return tuple(column for column in self.row_columns if column in joined)
        return self._best_key(self.columns) if self.virtual_keys else self.whole_handle_key

    def _best_key(self, columns: tuple[Column, ...], indexes: tuple[Index, ...] | None = None) -> tuple[Column, ...]:
        filled = {column.name for column in columns if not column.nullable}
        candidates = self.indexes if indexes is None else indexes
        usable = [index for index in candidates if index.unique and filled.issuperset(index.columns)]
        best = min(usable, key=lambda index: (len(index.columns), index.id), default=None)
        return () if best is None else tuple(column for column in columns if column.name in best.columns)

    def _left(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return columns if self.selected is None else tuple(c for c in columns if c.name in self.selected)


# The type texts of a column. Source: semantics 2.0.4 and pingcap/tidb pkg/parser/types (TypeToStr,
# FieldType.CompactStr, ColumnInfo.GetTypeDesc). TiCDC does not enable the strict integer display width, so integers
# always have their width.
_LABEL_ESCAPES = str.maketrans({"'": "''", "\0": "\\0", "\n": "\\n", "\r": "\\r"})  # parser/format: OutputFormat
_UNSIGNED_IS_SILENT = frozenset({MySQLType.BIT, MySQLType.YEAR})
_LENGTH_ONLY = frozenset({MySQLType.BIT, MySQLType.VARCHAR, MySQLType.STRING, MySQLType.VAR_STRING, MySQLType.YEAR})


def sql_type(column: Column) -> str:
    """Return the type with its length but without UNSIGNED and ZEROFILL: ``decimal(10,2)``, ``enum('a','b')`` ..."""
    return type_name(column.type, column.charset) + _length_suffix(column)


def type_desc(column: Column) -> str:
    """Return the full type text (``int(10) unsigned zerofill``), as Canal-JSON's ``content-compatible`` prints it."""
    return sql_type(column) + _sign_suffix(column)


def mysql_type_name(column: Column) -> str:
    """Return the type without its length but with UNSIGNED and ZEROFILL: Canal-JSON's ``mysqlType``."""
    return type_name(column.type, column.charset) + _sign_suffix(column)


def _sign_suffix(column: Column) -> str:
    suffix = " unsigned" if column.unsigned and column.type not in _UNSIGNED_IS_SILENT else ""
    if column.zerofill and column.type is not MySQLType.YEAR:
        suffix += " zerofill"
    return suffix


def _length_suffix(column: Column) -> str:
    kind = column.type
    if kind in LABEL_TYPES:
        return "(" + ",".join("'" + label.translate(_LABEL_ESCAPES) + "'" for label in column.elems) + ")"
    length, scale = column.length, column.scale
    has_scale = scale not in (TYPES[kind].decimals, 0)
    if kind in FSP_TYPES:
        return f"({scale})" if has_scale else ""
    if kind in FLOAT_TYPES:
        return f"({length},{scale})" if has_scale else ""
    if kind is MySQLType.NEWDECIMAL:
        return f"({length},{scale})"
    if kind in _LENGTH_ONLY or kind in INTEGER_TYPES:
        return f"({length})"
    if kind is MySQLType.VECTOR_FLOAT32 and column.flen != UNSPECIFIED_LENGTH:
        return f"({column.flen})"
    return ""


def schema_and_name(table: str | None, known: list[tuple[str, str]]) -> tuple[str, str]:
    """Return (schema, name) of ``schema.name``; a bare name is in ``test``; without a name, the only known table's."""
    if table is None:
        if len(known) == 1:
            return known[0]
        if not known:
            raise SchemaError(
                "the catalog has no table yet",
                remedy="Give CREATE TABLE in the schema, as ddl, or in rows with op = 'ddl'",
            )
        raise SchemaError(
            f"the catalog has {len(known)} tables: which one do the rows belong to?",
            remedy="Name it: table='schema.name'",
        )
    schema, dot, name = table.partition(".")
    return (schema, name) if dot else ("test", table)
