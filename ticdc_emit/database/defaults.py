"""What columns get that a statement gives no value: their defaults, and the implicit ones of IGNORE.

In: a column. Out: canonical text, or TiDB's error. Rule source: pingcap/tidb ``pkg/table/column.go``
(``GetColDefaultValue``, ``GetZeroValue``).
"""

from __future__ import annotations

import uuid
from dataclasses import replace

from ticdc_emit.columnar.assignment import NOT_NULL
from ticdc_emit.database.refusals import unsupported
from ticdc_emit.database.rows_after_ddl import value_of_old_rows
from ticdc_emit.database.statement import RunningStatement
from ticdc_emit.errors import SchemaError, StatementError
from ticdc_emit.schema.model import NOW, Column
from ticdc_emit.sql.evaluation.values import Value
from ticdc_emit.sql.types import MOMENT_TYPES, MySQLType

NO_DEFAULT = 1364
_EXPRESSION_DEFAULTS = ("rand(", "uuid(", "uuid_to_bin(", "date_format(", "replace(", "upper(", "str_to_date(", "json_")
_SEQUENCES = ("nextval(", "lastval(", "setval(", "next value")
_UUID_EPOCH = 0x01B21DD213814000  # the steps of 100 ns from 1582 to 1970


def null_refused(column: Column) -> StatementError:
    """Return the error of NULL in a NOT NULL column."""
    return StatementError(
        f"Column '{column.name}' cannot be null", remedy="Give a value, or leave the column out", number=NOT_NULL
    )


def implicit_text(column: Column, running: RunningStatement) -> str | None:
    """Return what IGNORE makes of NULL in a NOT NULL column: an ENUM gets no label, unlike one without a value."""
    if column.type is MySQLType.ENUM:
        return ""
    return _default(replace(column, default=None), running)


def default_text(given: Value | Column, column: Column, running: RunningStatement) -> str | None:
    """Return the default of the column ``given``, in canonical text, as the value of ``column``."""
    assert isinstance(given, Column)
    text = _default(given, running)
    if text is None and not column.nullable:
        raise null_refused(column)
    if given is not column and (given.type, given.flen, given.decimal) != (column.type, column.flen, column.decimal):
        raise unsupported(f"the DEFAULT of column {given.name} in a column of another type", "Write the value itself")
    return text


def _default(column: Column, running: RunningStatement) -> str | None:
    default = column.default
    if default is None:
        if column.nullable:
            return None
        if column.type is MySQLType.ENUM:
            return column.elems[0]
        if not running.rules.nearest:
            raise StatementError(
                f"Field '{column.name}' doesn't have a default value", remedy="Give it a value", number=NO_DEFAULT
            )
    if default == NOW and column.type in MOMENT_TYPES:
        return running.moment(column)
    if default == "CURRENT_DATE" and column.type not in (MySQLType.VARCHAR, MySQLType.STRING):
        if column.type is not MySQLType.DATE:
            raise unsupported("DEFAULT CURRENT_DATE of a column that is not a DATE", "Give the column a value")
        return running.values.moment(0)[:10]
    if isinstance(default, str) and default.startswith((*_EXPRESSION_DEFAULTS, *_SEQUENCES)):
        if default == "uuid()" and column.type in (MySQLType.VARCHAR, MySQLType.STRING) and not column.is_binary:
            return _uuid(running)
        raise unsupported(f"DEFAULT {default} of column {column.name}", "Give the column a value")
    try:
        return value_of_old_rows(column, running.rendering.zone)
    except SchemaError as fault:
        raise unsupported(f"the DEFAULT of column {column.name} ({fault.message})", "Give the column a value") from None


def _uuid(running: RunningStatement) -> str:
    """Return a UUID of version 1, as UUID() does: of the statement's time, and a number that is counted up."""
    running.values.uuids += 1
    ticks = int(running.values.now.timestamp() * 10_000_000) + _UUID_EPOCH
    fields = ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 & 0x0FFF | 0x1000
    return str(
        uuid.UUID(fields=(*fields, 0x80, running.values.uuids >> 48 & 0xFF, running.values.uuids & (1 << 48) - 1))
    )
