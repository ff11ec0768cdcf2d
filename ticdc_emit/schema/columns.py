"""A column as TiDB stores it (pingcap/tidb: ``pkg/planner/core/preprocess.go``, ``pkg/ddl/add_column.go``)."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any, NoReturn

from ticdc_emit.errors import DdlError, SchemaError
from ticdc_emit.schema.defaults import INVALID, go_utf8, named_columns, stored_default, stored_text
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.charsets import collation_key, default_collation, max_bytes_per_char, python_codec, resolve
from ticdc_emit.sql.nodes.expressions import DefaultExpression, Expression, Literal
from ticdc_emit.sql.nodes.tables import ColumnDef, Constraint, IndexOptions, KeyPart, TypeSpec
from ticdc_emit.sql.types import (
    BINARY_CHARSET,
    FLOAT_TYPES,
    FSP_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    TYPES,
    UNSPECIFIED_LENGTH,
    ColumnFlag,
    MySQLType,
)

MAX_CHAR_LENGTH, MAX_VARCHAR_BYTES, _MAX_LENGTH = 255, 65535, 4294967295
_MAX_WIDTH, MAX_SCALE, MAX_DECIMAL, _MAX_BITS, _MAX_FSP = 255, 30, 65, 64, 6
_MAX_SET_LABELS, _MAX_VECTOR = 64, 16383
_MAX_LABEL_BYTES, _MAX_LABEL_STORAGE = 255, 1020
_WITH_CHARSET = STRING_TYPES | LABEL_TYPES
_BLOB_SIZES = (
    (MySQLType.TINY_BLOB, 255),
    (MySQLType.BLOB, 65535),
    (MySQLType.MEDIUM_BLOB, 16777215),
    (MySQLType.LONG_BLOB, 4294967295),
)


# -- types -------------------------------------------------------------------------------------------------------------


def build_type(name: str, spec: TypeSpec, collate: str, inherited: tuple[str, str]) -> Column:
    """Return a column of a type, without its options. ``collate``: its own, or "". ``inherited``: the table's pair."""
    _check_type(name, spec)
    charset, collate = _charset(spec, collate, inherited)
    kind, flen, decimal = _lengths(spec, charset)
    labels = _labels(name, spec, charset, collate)
    return Column(0, name, kind, flen, decimal, charset, collate, _flags(spec), labels)


def refuse_column(name: str, message: str, remedy: str) -> NoReturn:
    raise DdlError(f"column {name!r}: {message}", remedy=remedy)


def _check_type(name: str, spec: TypeSpec) -> None:
    kind, flen, decimal = spec.type, spec.flen, spec.decimal
    if flen > _MAX_LENGTH:
        refuse_column(name, f"display width {flen} is too big", "Leave the width out")
    if kind is MySQLType.STRING and flen > MAX_CHAR_LENGTH:
        refuse_column(name, f"length {flen} is too big (at most {MAX_CHAR_LENGTH})", "Use TEXT or BLOB")
    elif kind in INTEGER_TYPES and flen > _MAX_WIDTH:
        refuse_column(name, f"display width {flen} is too big (at most {_MAX_WIDTH})", "Leave the width out")
    elif kind is MySQLType.BIT and not 1 <= flen <= _MAX_BITS:
        refuse_column(name, f"BIT has 1 to {_MAX_BITS} bits, not {flen}", "Use BINARY(n) for more")
    elif kind in FSP_TYPES and decimal > _MAX_FSP:
        refuse_column(name, f"fractional seconds {decimal} are too many (at most {_MAX_FSP})", f"Use {_MAX_FSP}")
    elif kind is MySQLType.VECTOR_FLOAT32 and flen > _MAX_VECTOR:
        refuse_column(name, f"{flen} dimensions are too many (at most {_MAX_VECTOR})", "Use fewer")
    elif kind is MySQLType.NEWDECIMAL:
        _check_scale(name, flen, decimal, MAX_DECIMAL)
    elif kind in FLOAT_TYPES:
        if decimal == UNSPECIFIED_LENGTH and flen != UNSPECIFIED_LENGTH:
            refuse_column(name, f"precision {flen} is too big (at most 53)", "Leave the precision out")
        if decimal != UNSPECIFIED_LENGTH:
            _check_scale(name, flen, decimal, _MAX_WIDTH)
        if flen == 0:
            refuse_column(name, "display width 0 is too small", "Leave the width out")


def _check_scale(name: str, flen: int, decimal: int, width: int) -> None:
    if decimal > MAX_SCALE:
        refuse_column(name, f"{decimal} decimals are too many (at most {MAX_SCALE})", "Use fewer decimals")
    if flen > width:
        refuse_column(name, f"precision {flen} is too big (at most {width})", "Use a smaller precision")
    if flen < decimal:
        refuse_column(
            name, f"precision {flen} is less than its {decimal} decimals", f"Make the precision {decimal} or more"
        )


def _charset(spec: TypeSpec, collate: str, inherited: tuple[str, str]) -> tuple[str, str]:
    if spec.type not in _WITH_CHARSET:
        resolve("", collate)  # an unknown collation is an error even if it has no effect
        return BINARY_CHARSET, BINARY_CHARSET
    charset, resolved = resolve(spec.charset, collate, inherited)
    if spec.binary and not (spec.charset and collate) and charset != BINARY_CHARSET:
        resolved = default_collation(charset)
    return charset, resolved


def _lengths(spec: TypeSpec, charset: str) -> tuple[MySQLType, int, int]:
    kind, flen, decimal = spec.type, spec.flen, spec.decimal
    default_flen, default_decimal = TYPES[kind].length, TYPES[kind].decimals
    if kind is MySQLType.NEWDECIMAL and flen == 0 and decimal <= 0:
        flen = default_flen
    decimal = default_decimal if decimal == UNSPECIFIED_LENGTH else decimal
    if flen == UNSPECIFIED_LENGTH:
        shorter = spec.unsigned and kind in INTEGER_TYPES and kind is not MySQLType.LONGLONG
        return kind, default_flen - 1 if shorter else default_flen, decimal
    if kind is MySQLType.VARCHAR and flen * max_bytes_per_char(charset) > MAX_VARCHAR_BYTES:
        kind = MySQLType.BLOB  # sql_mode='' turns a VARCHAR that is too long into a TEXT
    if kind is MySQLType.BLOB:
        bytes_needed = flen * max_bytes_per_char(charset)
        for blob, size in _BLOB_SIZES:
            if bytes_needed <= size:
                return blob, size, decimal
    return kind, flen, decimal


def _labels(name: str, spec: TypeSpec, charset: str, collate: str) -> tuple[str, ...]:
    if spec.type not in LABEL_TYPES:
        return ()
    codec = python_codec(charset) or "utf-8"
    labels = tuple(
        label if isinstance(label, str) else go_utf8(label) if codec == "utf-8" else label.decode(codec, "replace")
        for label in spec.elems
    )
    if spec.type is MySQLType.SET:
        if len(labels) > _MAX_SET_LABELS:
            refuse_column(
                name,
                f"a SET has at most {_MAX_SET_LABELS} labels, not {len(labels)}",
                "Use fewer labels, or a table of its own",
            )
        if any("," in label for label in labels):
            refuse_column(name, "a SET label cannot contain a comma", "Use another character")
    seen: set[str] = set()
    for label in labels:
        size = len(label.encode())
        if size > _MAX_LABEL_BYTES or size * max_bytes_per_char(charset) > _MAX_LABEL_STORAGE:
            refuse_column(name, f"label {label[:20]!r}... is too long", "Use a shorter label")
        key = collation_key(label, collate)
        if key in seen:
            refuse_column(
                name, f"label {label!r} occurs twice", "Remove one; the collation decides which labels are the same"
            )
        seen.add(key)
    return labels


def _flags(spec: TypeSpec) -> ColumnFlag:
    if spec.type is MySQLType.BIT:
        return ColumnFlag.UNSIGNED
    if spec.type is MySQLType.YEAR:
        return ColumnFlag.UNSIGNED | ColumnFlag.ZEROFILL
    flags = ColumnFlag.UNSIGNED if spec.unsigned or spec.zerofill else ColumnFlag.NONE
    return flags | ColumnFlag.ZEROFILL if spec.zerofill else flags


# -- columns -----------------------------------------------------------------------------------------------------------

MAX_NAME, MAX_COMMENT = 64, 1024
_AUTO_INCREMENT_TYPES = INTEGER_TYPES | FLOAT_TYPES


def build_column(
    definition: ColumnDef, charset: str, collate: str, zone: dt.tzinfo, number: int = 0
) -> tuple[Column, tuple[Constraint, ...]]:
    """Build the column with the id ``number`` under the table's charset and collation, and the keys it declares."""
    try:
        return _Builder(definition, charset, collate, zone).build(number)
    except SchemaError as error:
        context = {"column": definition.name, "position": definition.offset, **error.context}
        raise DdlError(error.message, remedy=error.remedy, **context) from None


def with_default(column: Column, default: Literal | DefaultExpression | None, zone: dt.tzinfo) -> Column:
    """Return the column with its new default (None: DROP DEFAULT)."""
    if default is None:
        return replace(column, default=None)
    if column.generated:
        raise DdlError(
            f"generated column {column.name!r} cannot have a default",
            remedy="Leave the default out",
            column=column.name,
        )
    stored = stored_default(default, column, zone)
    if stored is None and not column.nullable:
        raise DdlError(
            f"invalid default value for {column.name!r}: NULL in a NOT NULL column",
            remedy="Give a value, or make the column NULL",
            column=column.name,
            number=INVALID,
        )
    if column.flags & ColumnFlag.AUTO_INCREMENT and stored is not None:
        raise DdlError(
            f"AUTO_INCREMENT column {column.name!r} cannot have a default",
            remedy="Leave the default out",
            column=column.name,
        )
    return replace(column, default=stored)


class _Builder:
    def __init__(self, definition: ColumnDef, charset: str, collate: str, zone: dt.tzinfo) -> None:
        self._definition = definition
        self._options = {option.kind: option for option in definition.options}
        self._inherited = (charset, collate)
        self._zone = zone

    def _fail(self, message: str, remedy: str) -> NoReturn:
        refuse_column(self._definition.name, message, remedy)

    def build(self, number: int) -> tuple[Column, tuple[Constraint, ...]]:
        definition = self._definition
        if not definition.name or definition.name.endswith(" ") or len(definition.name) > MAX_NAME:
            self._fail(
                f"a name has 1 to {MAX_NAME} characters and no trailing space", "Shorten it, or remove the space"
            )
        if definition.name.lower() == "_tidb_rowid":
            self._fail("the name is reserved", "Choose another name")
        collation = self._options.get("collate")
        collate = str(collation.value) if collation else ""
        column = build_type(definition.name, definition.type, collate, self._inherited)
        column, default, constraints = self._with_options(replace(column, id=number))
        self._check_options(column, default)
        if default is not None:
            column = with_default(column, default, self._zone)
        elif column.type is MySQLType.YEAR and not column.nullable and not column.generated:
            column = replace(column, default="0000")
        return column, constraints

    def _with_options(
        self, column: Column
    ) -> tuple[Column, Literal | DefaultExpression | None, tuple[Constraint, ...]]:
        flags, default, texts = column.flags, None, dict[str, Any]()
        constraints: list[Constraint] = []
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
                default = option.value
            elif option.kind == "on update" and isinstance(option.value, DefaultExpression):
                if column.type not in MOMENT_TYPES or option.value.fsp != column.decimal:
                    remedy = "Use ON UPDATE CURRENT_TIMESTAMP with the column's fractional digits"
                    self._fail("invalid ON UPDATE clause", remedy)
                flags |= ColumnFlag.ON_UPDATE_NOW
            elif option.kind == "comment":
                texts["comment"] = str(option.value)[:MAX_COMMENT]
            elif option.kind.startswith("generated") and isinstance(option.value, Expression):
                texts["generated"] = "stored" if option.kind == "generated stored" else "virtual"
                texts["generated_expr"] = stored_text(option.value.node)
        return replace(column, flags=flags, **texts), default, tuple(constraints)

    def _key(self, kind: str, clustered: bool | None) -> Constraint:
        part = KeyPart(column=self._definition.name)
        options = IndexOptions(clustered=clustered)
        offset = self._definition.offset
        return Constraint("primary" if kind == "primary" else "unique", "", (part,), options, offset=offset)

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
            values = [option.value for option in self._definition.options if option.kind.startswith("generated")]
            names = [each for value in values if isinstance(value, Expression) for each in named_columns(value.node)]
            if column.name.lower() in map(str.lower, names):
                self._fail("a generated column cannot refer to itself", "Use other columns")
