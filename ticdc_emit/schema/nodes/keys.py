"""Keys, indexes, foreign keys and checks of a table, and how they print.

Rule source: pingcap/tidb ``pkg/parser/ast/ddl.go`` (``Constraint``, ``IndexOption``, ``IndexPartSpecification``,
``ReferenceDef``, ``SplitOption``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Choice
from typing import TypeAlias

from ticdc_emit.schema.identifiers import quoted
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.style import WIRE, Node, Style, joined, special_comment, string
from ticdc_emit.schema.nodes.values import Expression

__all__ = ["Constraint", "ConstraintKind", "IndexOptions", "KeyPart", "Reference", "Split"]


@dataclass(frozen=True)
class KeyPart:
    """A column, perhaps a prefix of ``length``, or an expression."""

    column: str = ""
    length: int = -1
    expression: Expression | None = None
    descending: bool = False
    qualifier: tuple[str, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        descending = " DESC" if self.descending else ""
        if self.expression is not None:
            return f"({self.expression.restore(style)}){descending}"
        length = f"({self.length})" if self.length > 0 else ""
        return quoted(*self.qualifier, self.column) + length + descending


@dataclass(frozen=True)
class Reference:
    """REFERENCES; ``parts`` is None if no columns are named; the actions are "" if there are none."""

    table: TableName
    parts: tuple[KeyPart, ...] | None = None
    match: str = ""
    on_delete: str = ""
    on_update: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(part.column for part in self.parts or ())

    def restore(self, style: Style = WIRE) -> str:
        parts = f"({joined(self.parts, style, ', ')})" if self.parts is not None else ""
        clauses = (("MATCH", self.match), ("ON DELETE", self.on_delete), ("ON UPDATE", self.on_update))
        text = "".join(style.word(f" {words} {action}") for words, action in clauses if action)
        return style.word("REFERENCES ") + self.table.restore(style) + parts + text


@dataclass(frozen=True)
class Split:
    """Where regions are split: BETWEEN ``low`` AND ``high`` into ``regions``, or BY ``rows`` of values."""

    low: tuple[Node, ...] = ()
    high: tuple[Node, ...] = ()
    regions: int = 0
    rows: tuple[tuple[Node, ...], ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        if self.rows:
            return style.word("BY ") + ",".join(f"({joined(row, style)})" for row in self.rows)
        bounds = f"({joined(self.low, style)}){style.word(' AND ')}({joined(self.high, style)})"
        return f"{style.word('BETWEEN ')}{bounds}{style.word(' REGIONS')} {self.regions}"


@dataclass(frozen=True)
class IndexOptions:
    """Options after an index's columns. ``visible`` and ``clustered`` are None if not given."""

    clustered: bool | None = None
    visible: bool | None = None
    comment: str = ""
    using: str = ""
    parser: str = ""
    key_block_size: int = 0
    is_global: bool = False
    columnar_on_demand: bool = False
    pre_split: Split | None = None
    engine_attribute: str = ""
    where: Expression | None = None

    def restore(self, style: Style = WIRE) -> str:
        parts: list[str] = []
        if self.columnar_on_demand:
            parts.append(style.word("ADD_COLUMNAR_REPLICA_ON_DEMAND"))
        if self.clustered is not None:
            parts.append(special_comment("CLUSTERED" if self.clustered else "NONCLUSTERED", "clustered_index", style))
        if self.key_block_size:
            parts.append(style.word(f"KEY_BLOCK_SIZE={self.key_block_size}"))
        if self.using:
            parts.append(style.word(f"USING {self.using}"))
        if self.parser:
            parts.append(style.word("WITH PARSER ") + quoted(self.parser))
        if self.comment:
            parts.append(style.word("COMMENT ") + string(self.comment))
        if self.is_global:
            parts.append(special_comment("GLOBAL", "global_index", style))
        if self.visible is not None:
            parts.append(style.word("VISIBLE" if self.visible else "INVISIBLE"))
        if self.pre_split is not None:
            only_count = self.pre_split.regions and not self.pre_split.low
            split = str(self.pre_split.regions) if only_count else f"({self.pre_split.restore(style)})"
            parts.append(special_comment(f"PRE_SPLIT_REGIONS = {split}", "pre_split", style))
        if self.engine_attribute:
            parts.append(style.word("SECONDARY_ENGINE_ATTRIBUTE = ") + string(self.engine_attribute))
        if self.where is not None:
            parts.append(style.word("WHERE ") + self.where.restore(style))
        return " ".join(parts)


ConstraintKind: TypeAlias = Choice["primary", "unique", "index", "foreign", "check", "fulltext", "columnar"]
_WORDS = {"primary": "PRIMARY KEY", "unique": "UNIQUE", "index": "INDEX", "fulltext": "FULLTEXT"}
_IF_NOT_EXISTS = ("index", "columnar")


@dataclass(frozen=True)
class Constraint:
    """``word``: VECTOR or COLUMNAR of a columnar index. ``has_empty_name``: a name is written, but an empty one."""

    kind: ConstraintKind
    name: str = ""
    keys: tuple[KeyPart, ...] = ()
    options: IndexOptions = IndexOptions()
    if_not_exists: bool = False
    reference: Reference | None = None
    check: Expression | None = None
    enforced: bool = True
    word: str = ""
    has_empty_name: bool = False
    offset: int = 0

    @property
    def clustered(self) -> bool | None:
        return self.options.clustered

    @property
    def visible(self) -> bool:
        return self.options.visible is not False

    def restore(self, style: Style = WIRE) -> str:
        name = quoted(self.name) if self.name or self.has_empty_name else ""
        keys = f"({joined(self.keys, style, ', ')})"
        if self.check is not None:
            constraint = f"{style.word('CONSTRAINT')} {name} " if self.name else ""
            enforced = style.word("ENFORCED" if self.enforced else "NOT ENFORCED")
            return f"{constraint}{style.word('CHECK')}({self.check.restore(style)}) {enforced}"
        if self.reference is not None:
            constraint = style.word("CONSTRAINT ") + (f"{name} " if self.name else "")
            absent = special_comment("IF NOT EXISTS ", style=style) if self.if_not_exists else ""
            return f"{constraint}{style.word('FOREIGN KEY ')}{absent}{keys} {self.reference.restore(style)}"
        text = style.word(f"{self.word} INDEX" if self.kind == "columnar" else _WORDS[self.kind])
        if self.if_not_exists and self.kind in _IF_NOT_EXISTS:
            text += special_comment(" IF NOT EXISTS", style=style)
        options = self.options.restore(style)
        return text + (f" {name}" if name else "") + keys + (f" {options}" if options else "")
