"""The SQL modes that change how TiDB parses a statement. In: names as for SET SQL_MODE. Out: flags.

Rule source: pingcap/tidb ``pkg/parser/mysql/const.go`` (``Str2SQLMode``, ``CombinationSQLMode``). Modes that change
what a statement may do, but not its meaning, are known names without effect here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.identifiers import keyword

__all__ = ["SqlMode", "sql_mode_of"]

_FLAGS = {
    "ANSI_QUOTES": "ansi_quotes",
    "HIGH_NOT_PRECEDENCE": "high_not_precedence",
    "IGNORE_SPACE": "ignore_space",
    "NO_BACKSLASH_ESCAPES": "no_backslash_escapes",
    "PIPES_AS_CONCAT": "pipes_as_concat",
    "REAL_AS_FLOAT": "real_as_float",
}
_DIALECT = ("PIPES_AS_CONCAT", "ANSI_QUOTES", "IGNORE_SPACE")
_COMBINATIONS = {
    "ANSI": ("REAL_AS_FLOAT", *_DIALECT),
    "DB2": _DIALECT,
    "MAXDB": _DIALECT,
    "MSSQL": _DIALECT,
    "MYSQL323": ("HIGH_NOT_PRECEDENCE",),
    "MYSQL40": ("HIGH_NOT_PRECEDENCE",),
    "ORACLE": _DIALECT,
    "POSTGRESQL": _DIALECT,
}
_WITHOUT_EFFECT = frozenset(
    """
    ALLOW_INVALID_DATES ERROR_FOR_DIVISION_BY_ZERO NO_AUTO_CREATE_USER NO_AUTO_VALUE_ON_ZERO NO_DIR_IN_CREATE
    NO_ENGINE_SUBSTITUTION NO_FIELD_OPTIONS NO_KEY_OPTIONS NO_TABLE_OPTIONS NO_UNSIGNED_SUBTRACTION NO_ZERO_DATE
    NO_ZERO_IN_DATE ONLY_FULL_GROUP_BY PAD_CHAR_TO_FULL_LENGTH STRICT_ALL_TABLES STRICT_TRANS_TABLES TRADITIONAL
    """.split()  # noqa: SIM905 (a table of words)
)


@dataclass(frozen=True)
class SqlMode:
    """The flags of the parser; by default none, as in TiDB's default mode."""

    ansi_quotes: bool = False
    high_not_precedence: bool = False
    ignore_space: bool = False
    no_backslash_escapes: bool = False
    pipes_as_concat: bool = False
    real_as_float: bool = False


@lru_cache(maxsize=256)
def sql_mode_of(names: str) -> SqlMode:
    """Return the flags of ``ANSI_QUOTES,STRICT_TRANS_TABLES``; ``SchemaError`` for a name that is not an SQL mode."""
    flags: set[str] = set()
    for name in (keyword(part.strip()) for part in names.split(",")):
        if name in _COMBINATIONS or name in _FLAGS:
            flags.update(_FLAGS[member] for member in _COMBINATIONS.get(name, (name,)))
        elif name and name not in _WITHOUT_EFFECT:
            raise SchemaError(f"unknown SQL mode {name!r}", remedy="Give modes as in SET SQL_MODE", mode=name)
    return SqlMode(**dict.fromkeys(flags, True))
