"""DDL statements that apply to the tables of a catalog. Their effect on rows must be known without TiDB: new columns
have a constant DEFAULT or none, MODIFY COLUMN goes to a wider type of the same kind, and every table keeps its handle
key.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from operator import itemgetter
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from ticdc_emit.config.load import refuse_unknown
from ticdc_emit.errors import SchemaError, StrategyError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.defaults import column_names
from ticdc_emit.schema.model import Column, TableInfo, type_desc
from ticdc_emit.sql.types import INTEGER_TYPES, LABEL_TYPES, MySQLType
from ticdc_emit.sql.words import quoted, string_literal
from ticdc_emit.strategies.columns import (
    ColumnType,
    TableOptions,
    TableShape,
    column_clause,
    known_names,
    named_tables,
    same_name,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

_Statements = st.SearchStrategy[str]

_WITHOUT_ZERO = frozenset({"json", "vector", "date", "datetime", "timestamp"})
"""Types whose new columns are NULL in existing rows, because their zero is not an ordinary value."""

_INTEGERS = {
    MySQLType.TINY: "tinyint",
    MySQLType.SHORT: "smallint",
    MySQLType.INT24: "mediumint",
    MySQLType.LONG: "int",
    MySQLType.LONGLONG: "bigint",
}
_BLOBS = {
    MySQLType.TINY_BLOB: ("tinytext", "tinyblob"),
    MySQLType.BLOB: ("text", "blob"),
    MySQLType.MEDIUM_BLOB: ("mediumtext", "mediumblob"),
    MySQLType.LONG_BLOB: ("longtext", "longblob"),
}
_FRACTIONS = {MySQLType.DATETIME: "datetime", MySQLType.TIMESTAMP: "timestamp", MySQLType.DURATION: "time"}
_REWRITTEN = {MySQLType.NEWDECIMAL, MySQLType.FLOAT, *_FRACTIONS}  # anew by a wider type, which no primary key may be
_CHARACTERS = frozenset({MySQLType.STRING, MySQLType.VARCHAR})
_LAST_LABEL = "zz last"
_LONGEST_CHAR, _DIGITS, _SCALE, _FSP = 255, 65, 30, 6


def ddl(
    catalog: Catalog, *, kinds: str | Collection[str] | None = None, **options: Unpack[TableOptions]
) -> st.SearchStrategy[str]:
    """Return statements that apply to ``catalog`` as it is now; drawing one does not apply it.

    ``kinds``: some of :data:`~ticdc_emit.strategies.DDL_KINDS`, ``None`` for all; the last table is not dropped.
    ``options``: as in :func:`~ticdc_emit.strategies.tables`. Raises :class:`~ticdc_emit.errors.StrategyError`.
    """
    refuse_unknown("ddl", options, TableOptions)
    shape = TableShape.of(options)
    statements = applicable(catalog, known_names(kinds, DDL_KINDS, what="kinds of DDL", argument="kinds"), shape)
    if statements is None:
        raise StrategyError(
            "none of the kinds of DDL applies to the catalog",
            remedy="Give more kinds, or a catalog with tables that they change",
            argument="kinds",
        )
    return statements


def applicable(catalog: Catalog, kinds: Collection[str], shape: TableShape) -> st.SearchStrategy[str] | None:
    bases = [info for info in catalog.tables() if not info.is_view]
    choices: list[_Statements] = []
    for kind in kinds:
        if kind == "create table":
            for schema in sorted({info.schema for info in bases}):
                choices.append(named_tables(schema, shape, _table_names(catalog, schema)).map(itemgetter(1)))
        elif kind != "drop table" or len(bases) > 1:
            choices += [strategy for info in bases if (strategy := _BY_KIND[kind](info, shape, catalog)) is not None]
    return st.one_of(choices).filter(lambda query: _applies(catalog, query)) if choices else None


def _applies(catalog: Catalog, query: str) -> bool:
    """Return whether TiDB accepts the statement: tables may have features that these strategies do not know."""
    try:
        return bool(copy.deepcopy(catalog).apply(query))
    except SchemaError:
        return False


def _table_names(catalog: Catalog, schema: str) -> frozenset[str]:
    return frozenset(same_name(info.name) for info in catalog.tables() if info.schema == schema)


# -- tables ----------------------------------------------------------------------------------------------------------


def _rename_table(info: TableInfo, shape: TableShape, catalog: Catalog) -> _Statements:
    names = _table_names(catalog, info.schema)
    fresh = shape.identifiers.filter(lambda name: same_name(name) not in names)
    return fresh.map(lambda name: f"rename table {_quoted_name(info)} to {quoted(info.schema, name)}")


def _of_table(template: str) -> Callable[[TableInfo, TableShape, Catalog], _Statements]:
    return lambda info, shape, catalog: st.just(template.format(_quoted_name(info)))


def _quoted_name(info: TableInfo) -> str:
    return quoted(info.schema, info.name)


# -- columns ---------------------------------------------------------------------------------------------------------


@st.composite
def _add_column(draw: st.DrawFn, info: TableInfo, shape: TableShape, catalog: Catalog) -> str:
    kind: ColumnType = draw(shape.column_types())
    default = draw(st.sampled_from(["", *kind.defaults])) if shape.allow_defaults else ""
    nullable = draw(st.booleans()) or (not default and kind.name in _WITHOUT_ZERO)
    position = draw(st.sampled_from(["", " first", *(f" after {quoted(column.name)}" for column in _visible(info))]))
    clause = column_clause(draw(_new_names(info, shape)), kind, nullable=nullable, default=default)
    return f"alter table {_quoted_name(info)} add column {clause}{position}"


def _drop_column(info: TableInfo, shape: TableShape, catalog: Catalog) -> _Statements | None:
    in_indexes = {name for index in info.indexes if len(index.columns) > 1 for name in index.columns}
    needed = {*info.handle_key_names, *_sources_of_generated(info), *in_indexes}
    free = [column.name for column in _visible(info) if column.name not in needed]
    return _of_columns(free, lambda name: f"alter table {_quoted_name(info)} drop column {quoted(name)}")


def _rename_column(info: TableInfo, shape: TableShape, catalog: Catalog) -> _Statements | None:
    free = [column.name for column in _visible(info) if column.name not in _sources_of_generated(info)]
    if not free:
        return None
    pairs = st.tuples(st.sampled_from(free), _new_names(info, shape))
    return pairs.map(
        lambda pair: f"alter table {_quoted_name(info)} rename column {quoted(pair[0])} to {quoted(pair[1])}"
    )


def _modify_column(info: TableInfo, shape: TableShape, catalog: Catalog) -> _Statements | None:
    generating = _sources_of_generated(info)
    clauses = [
        f"{quoted(column.name)} {wider} {'null' if column.nullable else 'not null'}"
        for column in _visible(info)
        if column.generated is None
        and column.name not in generating
        and not (column.is_primary_key and column.type in _REWRITTEN)
        for wider in _wider_types(column)
    ]
    return _of_columns(clauses, lambda clause: f"alter table {_quoted_name(info)} modify column {clause}")


def _of_columns(columns: list[str], statement: Callable[[str], str]) -> _Statements | None:
    return st.sampled_from(columns).map(statement) if columns else None


def _visible(info: TableInfo) -> list[Column]:
    return [column for column in info.columns if not column.hidden]


def _sources_of_generated(info: TableInfo) -> set[str]:
    return {name for column in info.columns if column.generated for name in column_names(column.generated_expr)}


def _new_names(info: TableInfo, shape: TableShape) -> st.SearchStrategy[str]:
    known_names = {same_name(column.name) for column in info.columns}
    return shape.identifiers.filter(lambda name: same_name(name) not in known_names)


def _wider_types(column: Column) -> list[str]:
    """Return types that keep the text of the column's values, except for zeros after the point."""
    kind, flen, scale = column.type, column.flen, column.fraction_digits
    sign = " unsigned" if column.unsigned else ""
    if kind in INTEGER_TYPES and not column.zerofill:
        larger = list(_INTEGERS)[list(_INTEGERS).index(kind) + 1 :]
        return [_INTEGERS[other] + sign for other in larger]
    if kind is MySQLType.NEWDECIMAL and flen < _DIGITS and scale < _SCALE:
        return [f"decimal({flen + 1},{scale + 1}){sign}"]
    if kind in _FRACTIONS:
        return [f"{_FRACTIONS[kind]}({more})" for more in range(scale + 1, _FSP + 1)]
    if kind in _CHARACTERS and not (column.is_binary and kind is MySQLType.STRING) and 0 < flen < _LONGEST_CHAR:
        return [type_desc(column).replace(f"({flen})", f"({flen + 1})") + _charset(column)]
    if kind in _BLOBS:
        larger = list(_BLOBS)[list(_BLOBS).index(kind) + 1 :]
        return [_BLOBS[other][column.is_binary] + _charset(column) for other in larger]
    if kind in LABEL_TYPES and _LAST_LABEL not in column.elems:
        labels = ",".join(map(string_literal, (*column.elems, _LAST_LABEL)))
        return [f"{kind.name.lower()}({labels}){_charset(column)}"]
    return [f"double{sign}"] if kind is MySQLType.FLOAT and column.decimal < 0 else []


def _charset(column: Column) -> str:
    return "" if column.charset == "binary" else f" character set {column.charset} collate {column.collate}"


# -- indexes ---------------------------------------------------------------------------------------------------------


def _add_index(info: TableInfo, shape: TableShape, catalog: Catalog) -> _Statements | None:
    never = (*_BLOBS, MySQLType.JSON, MySQLType.VECTOR_FLOAT32)
    columns = [column.name for column in _visible(info) if column.generated is None and column.type not in never]
    return _of_columns(columns, lambda name: f"alter table {_quoted_name(info)} add index ({quoted(name)})")


def _drop_index(info: TableInfo, shape: TableShape, catalog: Catalog) -> _Statements | None:
    """A unique index may be the handle key of a table without primary key."""
    may_go = not info.whole_primary_key
    free = [index.name for index in info.indexes if not index.primary and not (index.unique and may_go)]
    return _of_columns(free, lambda name: f"alter table {_quoted_name(info)} drop index {quoted(name)}")


_BY_KIND: dict[str, Callable[[TableInfo, TableShape, Catalog], _Statements | None]] = {
    "add column": _add_column,
    "drop column": _drop_column,
    "rename column": _rename_column,
    "modify column": _modify_column,
    "add index": _add_index,
    "drop index": _drop_index,
    "comment": _of_table("alter table {} comment = 'a comment'"),
    "rename table": _rename_table,
    "truncate table": _of_table("truncate table {}"),
    "drop table": _of_table("drop table {}"),
}

DDL_KINDS = (*_BY_KIND, "create table")
"""The kinds of statements that :func:`ddl` draws."""
