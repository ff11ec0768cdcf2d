"""Names, column types with all their sizes, and CREATE TABLE statements of tables that TiDB accepts, as SQL text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypedDict

from hypothesis import strategies as st

from ticdc_emit import hints
from ticdc_emit.config.load import refuse_unknown
from ticdc_emit.errors import StrategyError
from ticdc_emit.sql.words import quoted, string_literal

if TYPE_CHECKING:
    from typing_extensions import Unpack


_LONGEST = 8
_FIRST = "abcdefghijklmnopqrstuvwxyz"
_REST = f"{_FIRST}0123456789_"
_ODD = "aB0_ -.\"'\\<>&%:é中`"

_PLAIN = st.tuples(st.sampled_from(_FIRST), st.text(_REST, max_size=_LONGEST - 1)).map("".join)
_ODD_ONES = st.tuples(st.text(_ODD, max_size=_LONGEST - 1), st.sampled_from(_FIRST)).map("".join)  # no trailing blank
_ANY = _PLAIN | _ODD_ONES


def names(*, allow_odd: bool = False) -> st.SearchStrategy[str]:
    """Return names of lower-case letters, digits and underscores; ``allow_odd``: also what backquotes allow."""
    return _ANY if allow_odd else _PLAIN


def same_name(name: str) -> str:
    """Return a key that is equal for names that are equal in TiDB."""
    return name.lower()


def known_names(
    value: str | Iterable[str] | None, known: tuple[str, ...], *, what: str, argument: str
) -> tuple[str, ...]:
    """Return the names that an option gives, all for ``None``. Raises :class:`StrategyError` for an unknown one."""
    given = known if value is None else hints.values(value)
    unknown = [name for name in given if name not in known]
    if given and not unknown:
        return given
    hint = hints.did_you_mean(unknown[0], known) if unknown and isinstance(unknown[0], str) else ""
    raise StrategyError(
        f"{argument}={value!r}: {f'not all are {what}' if unknown else f'it has none of the {what}'}",
        remedy=f"{hint}Give some of {', '.join(known)}",
        argument=argument,
    )


@dataclass(frozen=True)
class ColumnType:
    """``sql``: the type in a column definition. ``defaults``: SQL literals."""

    name: str
    sql: str
    defaults: tuple[str, ...] = ()


_Types = st.SearchStrategy[ColumnType]
_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
_TEXTS = ("tinytext", "text", "mediumtext", "longtext")
_BLOBS = ("tinyblob", "blob", "mediumblob", "longblob")

NEVER_KEYS = frozenset({*_TEXTS, *_BLOBS, "json", "vector"})
"""The names of types that a key cannot have without a prefix length."""

_MOST_CHARACTERS, _MOST_BYTES, _MOST_LABELS, _MOST_DIMENSIONS = 40, 32, 4, 4
_DECIMAL_DIGITS, _DECIMAL_SCALE, _FSP, _BITS = 65, 30, 6, 64
_BACKSLASH = "\\\\"  # in an SQL literal
_LABEL_LETTERS = "abcXYZ019 '\"\\<>&é中😀"


def without_backslashes(kind: ColumnType) -> ColumnType:
    """Return a type with ``/`` for each backslash of its labels. No other label has one, so they stay different."""
    return ColumnType(
        kind.name, kind.sql.replace(_BACKSLASH, "/"), tuple(d.replace(_BACKSLASH, "/") for d in kind.defaults)
    )


def _integers(name: str) -> _Types:
    return st.sampled_from(["", " unsigned"]).map(lambda sign: ColumnType(name, name + sign, ("0", "7", "127")))


def _decimal(precision: int, scale: int) -> ColumnType:
    scale = min(scale, precision)
    return ColumnType("decimal", f"decimal({precision},{scale})", ("0",) if scale == precision else ("0", "1", "-1"))


def _decimals() -> _Types:
    extremes = [_decimal(10, 2), _decimal(_DECIMAL_DIGITS, _DECIMAL_SCALE), _decimal(_DECIMAL_DIGITS, 0)]
    sizes = st.tuples(st.integers(1, _DECIMAL_DIGITS), st.integers(0, _DECIMAL_SCALE))
    return sizes.map(lambda size: _decimal(*size)) | st.sampled_from(extremes)


def _with_length(name: str, most: int) -> _Types:
    return st.integers(1, most).map(lambda size: ColumnType(name, f"{name}({size})", ("''", "'x'")))


def _with_fsp(name: str, default: str) -> _Types:
    sizes = st.sampled_from(["", *(f"({fsp})" for fsp in range(1, _FSP + 1))])
    return sizes.map(lambda size: ColumnType(name, name + size, (string_literal(default),)))


def _with_labels(name: str) -> _Types:
    texts = st.text(_LABEL_LETTERS, min_size=1, max_size=5).map(str.strip).filter(bool)
    lists = st.lists(texts, min_size=1, max_size=_MOST_LABELS, unique_by=same_name)
    return lists.map(
        lambda labels: ColumnType(
            name, f"{name}({','.join(map(string_literal, labels))})", (string_literal(labels[0]),)
        )
    )


def _without_size(name: str, *defaults: str) -> _Types:
    return st.just(ColumnType(name, name, defaults))


_BY_NAME: dict[str, _Types] = {
    **{name: _integers(name) for name in _INTEGERS},
    "year": _without_size("year", "2024", "0", "5", "70"),
    "bit": st.integers(1, _BITS).map(lambda size: ColumnType("bit", f"bit({size})", ("b'0'", "b'1'"))),
    "float": _without_size("float", "1.5"),
    "double": _without_size("double", "1.5"),
    "decimal": _decimals(),
    "date": _without_size("date", "'2020-01-01'"),
    "datetime": _with_fsp("datetime", "2020-01-01 01:02:03"),
    "timestamp": _with_fsp("timestamp", "2020-01-01 01:02:03"),
    "time": _with_fsp("time", "01:02:03"),
    "char": _with_length("char", _MOST_CHARACTERS),
    "varchar": _with_length("varchar", _MOST_CHARACTERS),
    **{name: _without_size(name) for name in _TEXTS},
    "binary": _with_length("binary", _MOST_BYTES),
    "varbinary": _with_length("varbinary", _MOST_BYTES),
    **{name: _without_size(name) for name in _BLOBS},
    "enum": _with_labels("enum"),
    "set": _with_labels("set"),
    "json": _without_size("json"),
    "vector": st.integers(1, _MOST_DIMENSIONS).map(lambda size: ColumnType("vector", f"vector({size})")),
}

TYPES = tuple(_BY_NAME)
"""The names of all column types that :func:`~ticdc_emit.strategies.columns` draws."""


@lru_cache(maxsize=64)
def _chosen_types(types: tuple[str, ...]) -> _Types:
    return st.one_of([_BY_NAME[name] for name in types])


_MOST_COLUMNS = 1000
_MOST_KEY_COLUMNS = 3
_KEYS = ("primary key ({})", "primary key ({}) nonclustered", "unique key ({})")
_ADDABLE = frozenset({"tinyint", "smallint", "mediumint", "int"})


class TableOptions(TypedDict, total=False):
    """The arguments of all strategies that make tables: the fields of :class:`TableShape`."""

    types: str | Collection[str] | None
    names: st.SearchStrategy[str] | None
    max_columns: int
    allow_keyless: bool
    allow_defaults: bool
    allow_virtual: bool
    allow_backslashes: bool


@dataclass(frozen=True)
class TableShape:
    """The checked arguments of :func:`tables`."""

    types: tuple[str, ...] = TYPES
    names: st.SearchStrategy[str] | None = None
    max_columns: int = 6
    allow_keyless: bool = False
    allow_defaults: bool = True
    allow_virtual: bool = True
    allow_backslashes: bool = True

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> TableShape:
        types = known_names(options.get("types"), TYPES, what="column types", argument="types")
        shape = cls(**{**options, "types": types})
        if not 1 <= shape.max_columns <= _MOST_COLUMNS:
            raise StrategyError(
                f"max_columns={shape.max_columns!r} is out of its range",
                remedy=f"Give a number from 1 to {_MOST_COLUMNS}",
                argument="max_columns",
            )
        if not shape.key_types:
            raise StrategyError("none of the types can be in a key", remedy="Add one, such as int", argument="types")
        return shape

    def column_types(self, names: tuple[str, ...] | None = None) -> st.SearchStrategy[ColumnType]:
        """Return the types of columns; ``names``: some of ``types``."""
        kinds = _chosen_types(self.types if names is None else names)
        return kinds if self.allow_backslashes else kinds.map(without_backslashes)

    @property
    def key_types(self) -> tuple[str, ...]:
        return tuple(name for name in self.types if name not in NEVER_KEYS)

    @property
    def identifiers(self) -> st.SearchStrategy[str]:
        return names() if self.names is None else self.names


def tables(*, schema: str = "test", **options: Unpack[TableOptions]) -> st.SearchStrategy[str]:
    """Return CREATE TABLE statements of tables in the database ``schema``.

    A table has a primary key, clustered or not, or a unique key whose columns are NOT NULL; some have another unique
    key, and a virtual column. ``types``: some of :data:`~ticdc_emit.strategies.TYPES`, ``None`` for all. ``names``: of
    tables and columns, default :func:`~ticdc_emit.strategies.names`. ``max_columns``: default 6, without the virtual
    one. ``allow_keyless``: also tables without a handle key, which TiCDC replicates with ``force-replicate`` only;
    default ``False``. ``True`` by default: ``allow_defaults``; ``allow_virtual``: virtual columns, with which
    debezium-avro refuses all rows; ``allow_backslashes``: in labels of ENUM and SET, which DDL of a running TiCDC loses
    (``ddl_text``). Raises :class:`~ticdc_emit.errors.StrategyError` for an unknown type, if no type can be in a key,
    and for ``max_columns`` outside 1..1000.
    """
    refuse_unknown("tables", options, TableOptions)
    return named_tables(schema, TableShape.of(options)).map(itemgetter(1))


@st.composite
def named_tables(
    draw: st.DrawFn, schema: str, shape: TableShape, used: frozenset[str] = frozenset()
) -> tuple[str, str]:
    """Return tables' names and statements; ``used``: names that tables must not have, as returned by ``same_name``."""
    is_keyed = not (shape.allow_keyless and draw(st.booleans()))
    key_count = draw(st.integers(1, min(shape.max_columns, _MOST_KEY_COLUMNS))) if is_keyed else 0
    types = [draw(shape.column_types(shape.key_types)) for _ in range(key_count)]
    others = st.lists(shape.column_types(), min_size=0 if is_keyed else 1, max_size=shape.max_columns - key_count)
    types += draw(others)
    count = len(types) + 2
    several = st.lists(shape.identifiers, min_size=count, max_size=count, unique_by=same_name)
    table, virtual, *columns = draw(several.filter(lambda drawn: same_name(drawn[0]) not in used))
    clauses = []
    for number, (name, kind) in enumerate(zip(columns, types, strict=True)):
        default = draw(st.sampled_from(["", *kind.defaults])) if shape.allow_defaults else ""
        clauses.append(column_clause(name, kind, nullable=number >= key_count and draw(st.booleans()), default=default))
    numbers = [name for name, kind in zip(columns, types, strict=True) if kind.name in _ADDABLE]
    if shape.allow_virtual and numbers and bool(draw(st.booleans())):
        expression = f"{quoted(draw(st.sampled_from(numbers)))} + 1"
        clauses.append(f"{quoted(virtual)} bigint generated always as ({expression}) virtual")
    if is_keyed:
        clauses.append(draw(st.sampled_from(_KEYS)).format(",".join(map(quoted, columns[:key_count]))))
    unique = [
        name for name, kind in zip(columns[key_count:], types[key_count:], strict=True) if kind.name not in NEVER_KEYS
    ]
    if unique and is_keyed and draw(st.booleans()):
        clauses.append(f"unique key ({quoted(draw(st.sampled_from(unique)))})")
    return table, f"create table {quoted(schema, table)} ({', '.join(clauses)})"


def column_clause(name: str, kind: ColumnType, *, nullable: bool, default: str) -> str:
    """Return a column's definition; ``default``: an SQL literal, "" for none."""
    null = "null" if nullable else "not null"
    return f"{quoted(name)} {kind.sql} {null}{f' default {default}' if default else ''}"
