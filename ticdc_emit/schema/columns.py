"""Make a :class:`Column` from a column definition, with everything that TiDB derives: its type, flags and default.

Rule source: pingcap/tidb ``pkg/ddl/add_column.go`` (``buildColumnAndConstraint``, ``columnDefToCol``,
``processColumnFlags``), with ``sql_mode=''``. What follows from the type alone is in ``schema.column_types``.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import NoReturn

from ticdc_emit.errors import DdlError, SchemaError
from ticdc_emit.schema.column_types import ColumnType, build_type, refuse_column
from ticdc_emit.schema.defaults import stored_default
from ticdc_emit.schema.expressions import named_columns, stored_text
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.nodes import (
    ColumnDef,
    Constraint,
    DefaultExpression,
    Expression,
    IndexOptions,
    KeyPart,
    Literal,
)
from ticdc_emit.schema.types import FLOAT_TYPES, INTEGER_TYPES, ColumnFlag, MySQLType

__all__ = ["BuiltColumn", "build_column", "with_default"]

_MAX_NAME, _MAX_COMMENT = 64, 1024
_AUTO_INCREMENT_TYPES = INTEGER_TYPES | FLOAT_TYPES


@dataclass(frozen=True)
class BuiltColumn:
    """A column and the key constraints that its own options declare."""

    column: Column
    constraints: tuple[Constraint, ...] = ()


def build_column(definition: ColumnDef, charset: str, collate: str, zone: dt.tzinfo, number: int = 0) -> BuiltColumn:
    """Build a column under the table's ``charset`` and ``collate``; ``DdlError`` if TiDB would refuse it.

    ``number`` is its id.
    """
    try:
        return _Builder(definition, charset, collate, zone).build(number)
    except SchemaError as error:
        context = {"column": definition.name, "position": definition.offset, **error.context}
        raise DdlError(error.message, remedy=error.remedy, **context) from None


def with_default(column: Column, default: Literal | DefaultExpression | None, zone: dt.tzinfo) -> Column:
    """ALTER COLUMN SET DEFAULT (or DROP DEFAULT, None): return the column with its new default."""
    if default is None:
        return replace(column, default=None)
    if column.generated:
        raise DdlError(
            f"generated column {column.name!r} cannot have a default",
            remedy="Leave the default out",
            column=column.name,
        )
    stored = stored_default(default, column, zone)
    _check_default(column, stored is None)
    return replace(column, default=stored)


def _check_default(column: Column, is_null: bool) -> None:
    if is_null and not column.nullable:
        raise DdlError(
            f"invalid default value for {column.name!r}: NULL in a NOT NULL column",
            remedy="Give a value, or make the column NULL",
            column=column.name,
        )
    if column.flags & ColumnFlag.AUTO_INCREMENT and not is_null:
        raise DdlError(
            f"AUTO_INCREMENT column {column.name!r} cannot have a default",
            remedy="Leave the default out",
            column=column.name,
        )


@dataclass
class _Options:
    """The content of a column's options."""

    flags: ColumnFlag
    constraints: list[Constraint]
    comment: str = ""
    generated: str | None = None
    generated_expr: str = ""
    default: Literal | DefaultExpression | None = None


class _Builder:
    def __init__(self, definition: ColumnDef, charset: str, collate: str, zone: dt.tzinfo) -> None:
        self._definition = definition
        self._options = {option.kind: option for option in definition.options}
        self._inherited = (charset, collate)
        self._zone = zone

    def _fail(self, message: str, remedy: str) -> NoReturn:
        refuse_column(self._definition.name, message, remedy)

    def build(self, number: int) -> BuiltColumn:
        definition = self._definition
        if definition.name != definition.name.rstrip(" ") or len(definition.name) > _MAX_NAME:
            self._fail(
                f"a name has at most {_MAX_NAME} characters and no trailing space", "Shorten it, or remove the space"
            )
        if definition.name.lower() == "_tidb_rowid":
            self._fail("the name is reserved", "Choose another name")
        collation = self._options.get("collate")
        collate = str(collation.value) if collation else ""
        column_type = build_type(definition.name, definition.type, collate, self._inherited)
        options = self._options_given(column_type)
        column = Column(
            id=number,
            name=definition.name,
            type=column_type.type,
            flen=column_type.flen,
            decimal=column_type.decimal,
            charset=column_type.charset,
            collate=column_type.collate,
            flags=options.flags,
            elems=column_type.elems,
            comment=options.comment,
            generated=options.generated,
            generated_expr=options.generated_expr,
        )
        self._check_options(column, options.default)
        return BuiltColumn(self._with_stored_default(column, options.default), tuple(options.constraints))

    def _options_given(self, column_type: ColumnType) -> _Options:
        flags = column_type.flags
        constraints: list[Constraint] = []
        options = _Options(flags, constraints)
        for option in self._definition.options:
            if option.kind == "not null":
                flags |= ColumnFlag.NOT_NULL
            elif option.kind == "null":
                flags &= ~ColumnFlag.NOT_NULL
            elif option.kind == "auto_increment":
                flags |= ColumnFlag.AUTO_INCREMENT | ColumnFlag.NOT_NULL
            elif option.kind == "primary key" and not flags & ColumnFlag.PRIMARY_KEY:
                flags |= ColumnFlag.PRIMARY_KEY | ColumnFlag.NOT_NULL
                clustered = option.value if isinstance(option.value, bool) else None
                constraints.append(self._key("primary", clustered))
            elif option.kind == "unique" and all(constraint.kind != "unique" for constraint in constraints):
                constraints.append(self._key("unique", None))
            elif option.kind == "default" and isinstance(option.value, (Literal, DefaultExpression)):
                options.default = option.value
            elif option.kind == "on update" and isinstance(option.value, DefaultExpression):
                flags |= self._on_update(column_type, option.value)
            elif option.kind == "comment":
                options.comment = str(option.value)[:_MAX_COMMENT]
            elif option.kind.startswith("generated") and isinstance(option.value, Expression):
                options.generated = "stored" if option.kind == "generated stored" else "virtual"
                options.generated_expr = stored_text(option.value.node)
        options.flags = flags
        return options

    def _key(self, kind: str, clustered: bool | None) -> Constraint:
        part = KeyPart(column=self._definition.name)
        options = IndexOptions(clustered=clustered)
        offset = self._definition.offset
        return Constraint("primary" if kind == "primary" else "unique", "", (part,), options, offset=offset)

    def _on_update(self, column_type: ColumnType, value: DefaultExpression) -> ColumnFlag:
        if column_type.type not in (MySQLType.TIMESTAMP, MySQLType.DATETIME) or value.fsp != column_type.decimal:
            self._fail(
                "invalid ON UPDATE clause", "Use ON UPDATE CURRENT_TIMESTAMP with the column's fractional digits"
            )
        return ColumnFlag.ON_UPDATE_NOW

    def _check_options(self, column: Column, default: Literal | DefaultExpression | None) -> None:
        options = self._options
        if "primary key" in options and "null" in options:
            self._fail("a PRIMARY KEY column cannot be NULL", "Remove NULL")
        if column.flags & ColumnFlag.AUTO_INCREMENT and column.type not in _AUTO_INCREMENT_TYPES:
            self._fail("AUTO_INCREMENT needs a numeric type", "Use BIGINT")
        if "auto_random" in options and (
            column.type is not MySQLType.LONGLONG or "auto_increment" in options or default is not None
        ):
            self._fail(
                "AUTO_RANDOM needs a BIGINT without AUTO_INCREMENT and DEFAULT", "Use BIGINT, and leave the others out"
            )
        if column.generated:
            if default is not None or {"auto_increment", "on update"} & options.keys():
                self._fail("a generated column takes no DEFAULT, AUTO_INCREMENT or ON UPDATE", "Leave them out")
            if column.name.lower() in (name.lower() for name in self._generated_from()):
                self._fail("a generated column cannot refer to itself", "Use other columns")

    def _generated_from(self) -> tuple[str, ...]:
        values = (option.value for option in self._definition.options if option.kind.startswith("generated"))
        return tuple(name for value in values if isinstance(value, Expression) for name in named_columns(value.node))

    def _with_stored_default(self, column: Column, default: Literal | DefaultExpression | None) -> Column:
        if default is None:
            no_default = column.type is MySQLType.YEAR and not column.nullable and not column.generated
            return replace(column, default="0000") if no_default else column
        stored = stored_default(default, column, self._zone)
        _check_default(column, stored is None)
        return replace(column, default=stored)
