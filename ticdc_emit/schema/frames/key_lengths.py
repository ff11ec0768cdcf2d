"""What columns take in a key of TiDB, and the types with a length that a key needs for text and bytes.

In: type texts of TiDB's DDL. Out: bytes, and type texts. Rule source: pingcap/tidb ``pkg/ddl/index.go``
(``getIndexColumnLength``, ``checkIndexColumn``, 3072 bytes of a key).
"""

from __future__ import annotations

import re

from ticdc_emit.schema.columns import build_type
from ticdc_emit.sql.charsets import max_bytes_per_char
from ticdc_emit.sql.nodes.statements import CreateTable
from ticdc_emit.sql.script import parse_ddl
from ticdc_emit.sql.types import STRING_TYPES, MySQLType
from ticdc_emit.sql.words import quoted

MAX_KEY_BYTES = 3072
"""TiDB's default of ``max-index-length``: all columns of a key together, a character as its longest form."""

_CHARSET = "utf8mb4", "utf8mb4_bin"
CHARACTER_BYTES = max_bytes_per_char(_CHARSET[0])

_OPEN = re.compile(r"^(TINY|MEDIUM|LONG)?(TEXT|BLOB)\b", re.IGNORECASE)
_TEXT = re.compile(r"^((TINY|MEDIUM|LONG)?TEXT|(VAR)?CHAR)\b(\(\d+\))?", re.IGNORECASE)
_BYTES = re.compile(r"^((TINY|MEDIUM|LONG)?BLOB|(VAR)?BINARY)\b(\(\d+\))?", re.IGNORECASE)
_FIXED_BYTES = {
    MySQLType.TINY: 1,
    MySQLType.SHORT: 2,
    MySQLType.INT24: 3,
    MySQLType.LONG: 4,
    MySQLType.LONGLONG: 8,
    MySQLType.FLOAT: 4,
    MySQLType.DOUBLE: 8,
    MySQLType.YEAR: 1,
    MySQLType.DATE: 3,
    MySQLType.DURATION: 3,
    MySQLType.DATETIME: 8,
    MySQLType.TIMESTAMP: 4,
    MySQLType.BIT: 8,
}
"""What a value takes in a key, in bytes."""


def may_be_in_key(kind: str) -> bool:
    """Return whether TiDB takes columns of a type in keys at all: all types but JSON and VECTOR."""
    return not re.match(r"(JSON|VECTOR)\b", kind, re.IGNORECASE)


def key_bytes(kind: str) -> int | None:
    """Return what a column of a type takes in a key; ``None`` for TEXT and BLOB, which have no length.

    Raises :class:`~ticdc_emit.errors.DdlError` for a text that is not a type of TiDB.
    """
    if _OPEN.match(kind):
        return None
    statement = parse_ddl(f"CREATE TABLE t (c {kind})")
    assert isinstance(statement, CreateTable)
    built = build_type("c", statement.columns[0].type, "", _CHARSET)
    if built.type in STRING_TYPES:
        return built.flen * max_bytes_per_char(built.charset)
    if built.type is MySQLType.NEWDECIMAL:
        return built.flen // 9 * 4 + (built.flen % 9 + 1) // 2
    return _FIXED_BYTES.get(built.type, 8)


def has_length(kind: str) -> bool:
    """Return whether a type is text or bytes, which :func:`of_length` shortens."""
    return bool(_TEXT.match(kind) or _BYTES.match(kind))


def of_length(name: str, kind: str, most_bytes: int) -> tuple[str, str]:
    """Return text or bytes as VARCHAR or VARBINARY of at most so many bytes, and the sentence about the column; what
    follows the type stays.
    """
    is_bytes = _BYTES.match(kind) is not None
    length = most_bytes if is_bytes else most_bytes // CHARACTER_BYTES
    text = _BYTES.sub(f"VARBINARY({length})", kind) if is_bytes else _TEXT.sub(f"VARCHAR({length})", kind)
    unit = "bytes" if is_bytes else "characters"
    return text, (
        f"{quoted(name)} is {text}, because a key has a length: values of more than {length} {unit} are refused."
    )
