"""The type of a column as TiDB stores it: what a type's text leaves out, and what TiDB refuses in it.

In: the type of a column definition (:class:`TypeSpec`), its COLLATE and what the table gives it. Out: a
:class:`ColumnType`, or a :class:`DdlError`. Rule source: pingcap/tidb ``pkg/planner/core/preprocess.go``
(``checkColumn``) and ``pkg/ddl/add_column.go``, with ``sql_mode=''``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.charsets import collation_key, default_collation, max_bytes_per_char, python_codec, resolve
from ticdc_emit.schema.literals import go_utf8
from ticdc_emit.schema.nodes import TypeSpec
from ticdc_emit.schema.typenames import UNSPECIFIED_LENGTH, default_length
from ticdc_emit.schema.types import (
    BINARY_CHARSET,
    FLOAT_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    STRING_TYPES,
    ColumnFlag,
    MySQLType,
)

__all__ = ["ColumnType", "build_type", "refuse_column"]

_MAX_CHAR_LENGTH, _MAX_VARCHAR_BYTES, _MAX_LENGTH = 255, 65535, 4294967295
_MAX_WIDTH, _MAX_SCALE, _MAX_DECIMAL, _MAX_BITS, _MAX_FSP = 255, 30, 65, 64, 6
_MAX_SET_LABELS, _MAX_VECTOR = 64, 16383
_MAX_LABEL_BYTES, _MAX_LABEL_STORAGE = 255, 1020
_WITH_CHARSET = STRING_TYPES | LABEL_TYPES
_BLOB_SIZES = (
    (MySQLType.TINY_BLOB, 255),
    (MySQLType.BLOB, 65535),
    (MySQLType.MEDIUM_BLOB, 16777215),
    (MySQLType.LONG_BLOB, 4294967295),
)
_FSP_TYPES = frozenset({MySQLType.DATETIME, MySQLType.TIMESTAMP, MySQLType.DURATION})


@dataclass(frozen=True)
class ColumnType:
    """The type of a column with all that follows from it; the fields are those of :class:`Column`."""

    type: MySQLType
    flen: int
    decimal: int
    charset: str
    collate: str
    elems: tuple[str, ...]
    flags: ColumnFlag


def build_type(name: str, spec: TypeSpec, collate: str, inherited: tuple[str, str]) -> ColumnType:
    """Return the type of a column; ``DdlError`` if TiDB would refuse it.

    ``collate``: the column's own COLLATE, or empty. ``inherited``: the table's charset and collation.
    """
    _check_type(name, spec)
    charset, collate = _charset(spec, collate, inherited)
    kind, flen, decimal = _lengths(spec, charset)
    labels = _labels(name, spec, charset, collate)
    return ColumnType(kind, flen, decimal, charset, collate, labels, _flags(spec))


def refuse_column(name: str, message: str, remedy: str) -> NoReturn:
    """Raise the :class:`DdlError` of a column."""
    raise DdlError(f"column {name!r}: {message}", remedy=remedy)


def _check_type(name: str, spec: TypeSpec) -> None:
    kind, flen, decimal = spec.type, spec.flen, spec.decimal
    if flen > _MAX_LENGTH:
        refuse_column(name, f"display width {flen} is too big", "Leave the width out")
    if kind is MySQLType.STRING and flen > _MAX_CHAR_LENGTH:
        refuse_column(name, f"length {flen} is too big (at most {_MAX_CHAR_LENGTH})", "Use TEXT or BLOB")
    elif kind in INTEGER_TYPES and flen > _MAX_WIDTH:
        refuse_column(name, f"display width {flen} is too big (at most {_MAX_WIDTH})", "Leave the width out")
    elif kind is MySQLType.BIT and not 1 <= flen <= _MAX_BITS:
        refuse_column(name, f"BIT has 1 to {_MAX_BITS} bits, not {flen}", "Use BINARY(n) for more")
    elif kind in _FSP_TYPES and decimal > _MAX_FSP:
        refuse_column(name, f"fractional seconds {decimal} are too many (at most {_MAX_FSP})", f"Use {_MAX_FSP}")
    elif kind is MySQLType.VECTOR_FLOAT32 and flen > _MAX_VECTOR:
        refuse_column(name, f"{flen} dimensions are too many (at most {_MAX_VECTOR})", "Use fewer")
    elif kind is MySQLType.NEWDECIMAL:
        _check_scale(name, flen, decimal, _MAX_DECIMAL)
    elif kind in FLOAT_TYPES:
        if decimal == UNSPECIFIED_LENGTH and flen != UNSPECIFIED_LENGTH:
            refuse_column(name, f"precision {flen} is too big (at most 53)", "Leave the precision out")
        if decimal != UNSPECIFIED_LENGTH:
            _check_scale(name, flen, decimal, _MAX_WIDTH)
        if flen == 0:
            refuse_column(name, "display width 0 is too small", "Leave the width out")


def _check_scale(name: str, flen: int, decimal: int, width: int) -> None:
    if decimal > _MAX_SCALE:
        refuse_column(name, f"{decimal} decimals are too many (at most {_MAX_SCALE})", "Use fewer decimals")
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
    default_flen, default_decimal = default_length(kind)
    if kind is MySQLType.NEWDECIMAL and flen == 0 and decimal <= 0:
        flen = default_flen
    decimal = default_decimal if decimal == UNSPECIFIED_LENGTH else decimal
    if flen == UNSPECIFIED_LENGTH:
        shorter = spec.unsigned and kind in INTEGER_TYPES and kind is not MySQLType.LONGLONG
        return kind, default_flen - 1 if shorter else default_flen, decimal
    if kind is MySQLType.VARCHAR and flen * max_bytes_per_char(charset) > _MAX_VARCHAR_BYTES:
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
