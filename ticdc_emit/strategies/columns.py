"""Column types: their SQL, and possible DEFAULT literals."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from hypothesis import strategies as st

from ticdc_emit.strategies.names import chosen, same_name

__all__ = ["NEVER_KEYS", "TYPES", "ColumnType", "column_types", "literal", "without_backslashes"]


@dataclass(frozen=True)
class ColumnType:
    """``sql``: the type in a column definition. ``defaults``: SQL literals."""

    name: str
    sql: str
    defaults: tuple[str, ...] = ()

    @property
    def key(self) -> bool:
        """Whether a key can have columns of the type without a prefix length."""
        return self.name not in NEVER_KEYS


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


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _integers(name: str) -> _Types:
    return st.sampled_from(["", " unsigned"]).map(lambda sign: ColumnType(name, name + sign, ("0", "7", "127")))


def _decimal(precision: int, scale: int) -> ColumnType:
    scale = min(scale, precision)
    return ColumnType("decimal", f"decimal({precision},{scale})", ("0",) if scale == precision else ("0", "1", "-1"))


def _decimals() -> _Types:
    extremes = [_decimal(10, 2), _decimal(_DECIMAL_DIGITS, _DECIMAL_SCALE), _decimal(_DECIMAL_DIGITS, 0)]
    sizes = st.tuples(st.integers(1, _DECIMAL_DIGITS), st.integers(0, _DECIMAL_SCALE))
    return sizes.map(lambda size: _decimal(*size)) | st.sampled_from(extremes)


def _sized(name: str, most: int) -> _Types:
    return st.integers(1, most).map(lambda size: ColumnType(name, f"{name}({size})", ("''", "'x'")))


def _timed(name: str, default: str) -> _Types:
    sizes = st.sampled_from(["", *(f"({fsp})" for fsp in range(1, _FSP + 1))])
    return sizes.map(lambda size: ColumnType(name, name + size, (literal(default),)))


def _labelled(name: str) -> _Types:
    texts = st.text(_LABEL_LETTERS, min_size=1, max_size=5).map(str.strip).filter(bool)
    lists = st.lists(texts, min_size=1, max_size=_MOST_LABELS, unique_by=same_name)
    return lists.map(
        lambda labels: ColumnType(name, f"{name}({','.join(map(literal, labels))})", (literal(labels[0]),))
    )


def _fixed(name: str, *defaults: str) -> _Types:
    return st.just(ColumnType(name, name, defaults))


_BY_NAME: dict[str, _Types] = {
    **{name: _integers(name) for name in _INTEGERS},
    "year": _fixed("year", "2024", "0", "5", "70"),
    "bit": st.integers(1, _BITS).map(lambda size: ColumnType("bit", f"bit({size})", ("b'0'", "b'1'"))),
    "float": _fixed("float", "1.5"),
    "double": _fixed("double", "1.5"),
    "decimal": _decimals(),
    "date": _fixed("date", "'2020-01-01'"),
    "datetime": _timed("datetime", "2020-01-01 01:02:03"),
    "timestamp": _timed("timestamp", "2020-01-01 01:02:03"),
    "time": _timed("time", "01:02:03"),
    "char": _sized("char", _MOST_CHARACTERS),
    "varchar": _sized("varchar", _MOST_CHARACTERS),
    **{name: _fixed(name) for name in _TEXTS},
    "binary": _sized("binary", _MOST_BYTES),
    "varbinary": _sized("varbinary", _MOST_BYTES),
    **{name: _fixed(name) for name in _BLOBS},
    "enum": _labelled("enum"),
    "set": _labelled("set"),
    "json": _fixed("json"),
    "vector": st.integers(1, _MOST_DIMENSIONS).map(lambda size: ColumnType("vector", f"vector({size})")),
}

TYPES = tuple(_BY_NAME)
"""The names of all column types that :func:`~ticdc_emit.strategies.tables` draws."""


def column_types(types: str | Collection[str] | None) -> _Types:
    """Return column types of these names, all of :data:`TYPES` for ``None``; :class:`StrategyError` for others."""
    return _chosen_types(chosen(types, TYPES, what="column types", argument="types"))


@lru_cache(maxsize=64)
def _chosen_types(types: tuple[str, ...]) -> _Types:
    return st.one_of([_BY_NAME[name] for name in types])
