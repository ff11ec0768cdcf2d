"""Column definitions: types and options, and how they print.

Names keep the case in which they were written; lengths that were not written are -1. Rule source: pingcap/tidb
``pkg/parser/types/field_type.go`` (``FieldType.Restore``), ``pkg/parser/ast/ddl.go`` (``ColumnDef``, ``ColumnOption``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Choice
from typing import TypeAlias

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.keys import Reference
from ticdc_emit.schema.nodes.style import WIRE, Node, Style, special_comment, string
from ticdc_emit.schema.nodes.values import DefaultExpression, Expression, Literal
from ticdc_emit.schema.types import BLOB_TYPES, LABEL_TYPES, MySQLType

__all__ = [
    "AutoRandom",
    "CheckOption",
    "ClauseOption",
    "CollateOption",
    "ColumnDef",
    "ColumnOption",
    "CommentOption",
    "ComputedOption",
    "GeneratedOption",
    "KeyOption",
    "ReferenceOption",
    "TypeSpec",
]

_NAMES = {
    MySQLType.TINY: "TINYINT",
    MySQLType.SHORT: "SMALLINT",
    MySQLType.INT24: "MEDIUMINT",
    MySQLType.LONG: "INT",
    MySQLType.LONGLONG: "BIGINT",
    MySQLType.FLOAT: "FLOAT",
    MySQLType.DOUBLE: "DOUBLE",
    MySQLType.NEWDECIMAL: "DECIMAL",
    MySQLType.BIT: "BIT",
    MySQLType.DATE: "DATE",
    MySQLType.DATETIME: "DATETIME",
    MySQLType.TIMESTAMP: "TIMESTAMP",
    MySQLType.DURATION: "TIME",
    MySQLType.YEAR: "YEAR",
    MySQLType.STRING: "CHAR",
    MySQLType.VARCHAR: "VARCHAR",
    MySQLType.TINY_BLOB: "TINYTEXT",
    MySQLType.BLOB: "TEXT",
    MySQLType.MEDIUM_BLOB: "MEDIUMTEXT",
    MySQLType.LONG_BLOB: "LONGTEXT",
    MySQLType.JSON: "JSON",
    MySQLType.ENUM: "ENUM",
    MySQLType.SET: "SET",
    MySQLType.VECTOR_FLOAT32: "VECTOR",
}
_TIMES = (MySQLType.DATETIME, MySQLType.TIMESTAMP, MySQLType.DURATION)
_WITH_SCALE = (MySQLType.FLOAT, MySQLType.DOUBLE, MySQLType.NEWDECIMAL)
_CHARS = (MySQLType.STRING, MySQLType.VARCHAR)
_BINARY = "binary"


@dataclass(frozen=True)
class TypeSpec:
    """A column type as written; ``binary`` is the BINARY attribute, bytes labels come from hex or bit literals."""

    type: MySQLType
    flen: int = -1
    decimal: int = -1
    unsigned: bool = False
    zerofill: bool = False
    charset: str = ""
    binary: bool = False
    elems: tuple[str | bytes, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        text = style.word(self._name()) + self._precision()
        if self.unsigned or self.zerofill:
            text += style.word(" UNSIGNED")
        if self.zerofill:
            text += style.word(" ZEROFILL")
        if self.binary and self.charset != _BINARY:
            text += style.word(" BINARY")
        if self.charset not in ("", _BINARY) and self.type in _CHARS + BLOB_TYPES:
            text += style.word(f" CHARACTER SET {self.charset}")
        return text

    def _name(self) -> str:
        name = _NAMES[self.type]
        if self.charset != _BINARY:
            return name
        return name.replace("TEXT", "BLOB") if self.type in BLOB_TYPES else name.replace("CHAR", "BINARY")

    def _precision(self) -> str:
        if self.type in LABEL_TYPES:
            labels = (elem if isinstance(elem, str) else elem.decode(errors="surrogateescape") for elem in self.elems)
            return f"({','.join(map(string, labels))})"
        length = self.decimal if self.type in _TIMES else self.flen
        if length < 0:
            return ""
        return f"({length},{self.decimal})" if self.type in _WITH_SCALE and self.decimal >= 0 else f"({length})"


OptionValue: TypeAlias = "Literal | DefaultExpression | Expression | str | int | bool | None"
OptionKind: TypeAlias = Choice[
    "not null",
    "null",
    "auto_increment",
    "auto_random",
    "primary key",
    "unique",
    "default",
    "on update",
    "comment",
    "collate",
    "generated virtual",
    "generated stored",
    "check",
    "references",
    "clause",
]


@dataclass(frozen=True)
class ColumnOption:
    """One column option, in the order written. ``value`` is what the catalog needs; by default a node prints its kind.

    ``value`` for PRIMARY KEY: clustered (True, False or None).
    """

    kind: OptionKind
    value: OptionValue = None

    def restore(self, style: Style = WIRE) -> str:
        return style.word(self.kind)


@dataclass(frozen=True)
class KeyOption(ColumnOption):
    """PRIMARY KEY or UNIQUE KEY of a column."""

    is_global: bool = False

    def restore(self, style: Style = WIRE) -> str:
        text = style.word("PRIMARY KEY" if self.kind == "primary key" else "UNIQUE KEY")
        if isinstance(self.value, bool):
            text += " " + special_comment("CLUSTERED" if self.value else "NONCLUSTERED", "clustered_index", style)
        return text + (style.word(" GLOBAL") if self.is_global else "")


@dataclass(frozen=True)
class AutoRandom(ColumnOption):
    """``value`` and ``range_bits``: the bits in parentheses."""

    range_bits: int = -1

    def restore(self, style: Style = WIRE) -> str:
        bits = f"{self.value}, {self.range_bits}" if self.range_bits >= 0 else str(self.value)
        return special_comment(f"AUTO_RANDOM({bits})" if self.value != -1 else "AUTO_RANDOM", "auto_rand", style)


@dataclass(frozen=True)
class ComputedOption(ColumnOption):
    """DEFAULT or ON UPDATE: ``node`` is the expression, ``value`` its value for the catalog."""

    node: Node | None = None
    needs_parentheses: bool = False

    def restore(self, style: Style = WIRE) -> str:
        assert self.node is not None
        text = self.node.restore(style)
        return f"{style.word(self.kind)} {f'({text})' if self.needs_parentheses else text}"


@dataclass(frozen=True)
class CommentOption(ColumnOption):
    def restore(self, style: Style = WIRE) -> str:
        return style.word("COMMENT ") + string(str(self.value).replace("\\", "\\\\"))


@dataclass(frozen=True)
class CollateOption(ColumnOption):
    def restore(self, style: Style = WIRE) -> str:
        return style.word("COLLATE ") + str(self.value)


@dataclass(frozen=True)
class GeneratedOption(ColumnOption):
    def restore(self, style: Style = WIRE) -> str:
        assert isinstance(self.value, Expression)
        stored = " STORED" if self.kind == "generated stored" else " VIRTUAL"
        return f"{style.word('GENERATED ALWAYS AS')}({self.value.restore(style)}){style.word(stored)}"


@dataclass(frozen=True)
class CheckOption(ColumnOption):
    name: str = ""
    enforced: bool = True

    def restore(self, style: Style = WIRE) -> str:
        assert isinstance(self.value, Expression)
        name = f"{style.word('CONSTRAINT')} {quoted(self.name)} " if self.name else ""
        enforced = style.word(" ENFORCED" if self.enforced else " NOT ENFORCED")
        return f"{name}{style.word('CHECK')}({self.value.restore(style)}){enforced}"


@dataclass(frozen=True)
class ReferenceOption(ColumnOption):
    reference: Reference | None = None

    def restore(self, style: Style = WIRE) -> str:
        assert self.reference is not None
        return self.reference.restore(style)


@dataclass(frozen=True)
class ClauseOption(ColumnOption):
    """COLUMN_FORMAT, STORAGE or SECONDARY_ENGINE_ATTRIBUTE: without effect in TiDB; ``words`` is the printed form."""

    words: str = ""

    def restore(self, style: Style = WIRE) -> str:
        return self.words


@dataclass(frozen=True)
class ColumnDef:
    """``qualifier``: schema and table, if the definition has them before the column."""

    name: str
    type: TypeSpec
    options: tuple[ColumnOption, ...] = ()
    offset: int = 0  # of the definition in the statement, for errors
    qualifier: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        head = quoted(*self.qualifier, self.name)
        return " ".join([head, self.type.restore(style), *(option.restore(style) for option in self.options)])
