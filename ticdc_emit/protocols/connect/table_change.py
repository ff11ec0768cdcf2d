"""The table in a DDL message: ``tableChanges[].table``.

In: the table after the statement, and the statement. Out: JSON text. Rule sources: semantics 2.4; reference
``pingcap/tiflow: pkg/sink/codec/debezium/helper.go``, ``pingcap/tidb: pkg/meta/model/table.go`` (GetPrimaryKey).
"""

from __future__ import annotations

from ticdc_emit.protocols.connect.jsontext import Json, json_object
from ticdc_emit.protocols.connect.redefined import redefined_columns
from ticdc_emit.protocols.connect.types import jdbc_type
from ticdc_emit.schema.defaults import go_utf8
from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.schema.type_names import default_length, type_name
from ticdc_emit.sql.types import (
    BINARY_CHARSET,
    FLOAT_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    STRING_TYPES,
    ColumnFlag,
    MySQLType,
)

__all__ = ["table_description"]

_BARE_NAMES = frozenset({MySQLType.YEAR, MySQLType.BIT, MySQLType.VARCHAR, MySQLType.STRING, MySQLType.NEWDECIMAL})
_WITH_CHARSET = (
    (STRING_TYPES - {MySQLType.VAR_STRING})
    | LABEL_TYPES
    | {
        MySQLType.TIMESTAMP,
        MySQLType.DURATION,
        MySQLType.NEWDECIMAL,
    }
)
_LENGTH_IS_FSP = frozenset({MySQLType.TIMESTAMP, MySQLType.DURATION, MySQLType.DATETIME})
_LENGTH_UNLESS_DEFAULT = (
    FLOAT_TYPES
    | INTEGER_TYPES
    | {
        MySQLType.BIT,
        MySQLType.VARCHAR,
        MySQLType.STRING,
        MySQLType.VAR_STRING,
        MySQLType.VECTOR_FLOAT32,
    }
)
_WIDER_WITH_SIGN = INTEGER_TYPES - {MySQLType.LONGLONG}
_BITS = 8


def table_description(table: TableInfo, query: str) -> bytes:
    """Return ``table`` as JSON text. Raises the errors of ``redefined_columns``."""
    columns = enumerate(redefined_columns(table, query), 1)
    return json_object(
        ("defaultCharsetName", table.charset),
        ("primaryKeyColumnNames", _primary_key(table)),
        ("columns", [_description(column, place) for place, column in columns if not column.hidden]),
        ("comment", None),
    )


def _primary_key(table: TableInfo) -> tuple[str, ...]:
    """Return the primary key in its own order; without one, the first unique index over visible NOT NULL columns."""
    if table.pk_is_handle:
        return tuple(column.name for column in table.whole_primary_key)
    keys = [index for index in table.indexes if index.primary] or [
        index for index in table.indexes if index.unique and _stands_for_key(index, table)
    ]
    return keys[0].columns if keys else ()


def _stands_for_key(index: Index, table: TableInfo) -> bool:
    columns = [table.column(name) for name in index.columns]
    return not any(column.nullable or column.hidden for column in columns)


def _description(column: Column, position: int) -> bytes:
    name, expression = _type_texts(column)
    counted = bool(column.flags & ColumnFlag.AUTO_INCREMENT)
    counted |= bool(column.flags & ColumnFlag.ON_UPDATE_NOW) and column.type is MySQLType.TIMESTAMP
    return json_object(
        ("name", column.name),
        ("jdbcType", jdbc_type(column)),
        ("nativeType", None),
        ("comment", column.comment or None),
        ("defaultValueExpression", _default(column)),
        ("enumValues", [f"'{label}'" for label in column.elems] or None),
        ("typeName", name),
        ("typeExpression", expression),
        ("charsetName", column.charset if _shows_charset(column) else None),
        ("length", _length(column)),
        ("scale", _scale(column)),
        ("position", position),
        ("optional", column.nullable),
        ("autoIncremented", counted),
        ("generated", counted),
    )


def _default(column: Column) -> Json:
    default = column.default
    if default is None or default == "<nil>":
        return None
    if column.type is MySQLType.BIT:
        raw = default.encode() if isinstance(default, str) else default
        return _binary_digits(go_utf8(raw).encode(), column.flen)  # TiDB also stores it as text
    if isinstance(default, str) and default.upper() == "CURRENT_TIMESTAMP":
        return "1970-01-01 00:00:00"
    return default if isinstance(default, str) else go_utf8(default)


def _binary_digits(raw: bytes, bits: int) -> str:
    if not raw:
        return ""
    return f"{raw[0]:0{bits % _BITS}b}" + "".join(f"{byte:08b}" for byte in raw[1:])


def _type_texts(column: Column) -> tuple[str, str]:
    """Return ``typeName`` and ``typeExpression``."""
    name = type_name(column.type, column.charset).upper()
    if column.type in _BARE_NAMES:
        return name, name
    sign = " UNSIGNED ZEROFILL" if column.zerofill else " UNSIGNED" if column.unsigned else ""
    return name + sign, name + _type_length(column) + sign


def _type_length(column: Column) -> str:
    if column.type is MySQLType.DOUBLE and column.decimal > 0:
        width = column.flen if column.flen >= 0 else default_length(column.type)[0]
        return f"({width},{column.decimal})"
    return f"({column.flen})" if column.type is MySQLType.VECTOR_FLOAT32 and column.flen >= 0 else ""


def _shows_charset(column: Column) -> bool:
    return column.charset != BINARY_CHARSET and column.type in _WITH_CHARSET


def _length(column: Column) -> int | None:
    kind = column.type
    if kind in _LENGTH_UNLESS_DEFAULT:
        return None if column.flen in (_usual_length(column), -1) else column.flen
    if kind is MySQLType.SET:
        return 2 * len(column.elems) - 1
    if kind is MySQLType.ENUM:
        return 1
    length = -1
    if kind in _LENGTH_IS_FSP:
        length = column.decimal
    elif kind in (MySQLType.YEAR, MySQLType.NEWDECIMAL):
        length = column.flen
    return None if length < 0 else length


def _usual_length(column: Column) -> int:
    usual = default_length(column.type)[0]
    if column.unsigned and column.type in _WIDER_WITH_SIGN:
        usual -= 1
    return usual + 1 if column.type is MySQLType.TINY and column.zerofill else usual


def _scale(column: Column) -> int | None:
    has_scale = column.type is MySQLType.NEWDECIMAL or column.type in FLOAT_TYPES
    return column.decimal if has_scale and column.decimal >= 0 else None
