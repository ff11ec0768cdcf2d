"""Parts of a table's definition, and how they print; lengths that were not written are -1.

Rule source: pingcap/tidb ``pkg/parser/types/field_type.go`` (``FieldType.Restore``), ``pkg/parser/ast/ddl.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias
from typing import Literal as Choice

from ticdc_emit.errors import UnprintableDdlError
from ticdc_emit.sql.nodes.base import WIRE, Node, Style, TableName, joined, special_comment, string
from ticdc_emit.sql.nodes.expressions import ColumnName, Default, DefaultExpression, Expression, Literal
from ticdc_emit.sql.nodes.forms import PRINTERS, Clause, Form
from ticdc_emit.sql.types import BLOB_TYPES, FLOAT_TYPES, FSP_TYPES, LABEL_TYPES, MySQLType, type_name
from ticdc_emit.sql.words import quoted

_WITH_SCALE = FLOAT_TYPES | {MySQLType.NEWDECIMAL}
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
        text = style.word(type_name(self.type, self.charset).upper()) + self._precision()
        if self.unsigned or self.zerofill:
            text += style.word(" UNSIGNED")
        if self.zerofill:
            text += style.word(" ZEROFILL")
        if self.binary and self.charset != _BINARY:
            text += style.word(" BINARY")
        if self.charset not in ("", _BINARY) and self.type in _CHARS + BLOB_TYPES:
            text += style.word(f" CHARACTER SET {self.charset}")
        return text

    def _precision(self) -> str:
        if self.type in LABEL_TYPES:
            labels = (elem if isinstance(elem, str) else elem.decode(errors="surrogateescape") for elem in self.elems)
            return f"({','.join(map(string, labels))})"
        length = self.decimal if self.type in FSP_TYPES else self.flen
        if length < 0:
            return ""
        return f"({length},{self.decimal})" if self.type in _WITH_SCALE and self.decimal >= 0 else f"({length})"


OptionValue: TypeAlias = "Literal | DefaultExpression | Expression | Reference | str | int | bool | None"
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
    """``value``: by kind a comment, a collation, a clause's words, the expression of a generated column, a reference;
    for PRIMARY KEY whether it is clustered, None if not given.
    """

    kind: OptionKind
    value: OptionValue = None

    def restore(self, style: Style = WIRE) -> str:
        printer = _OPTION_PRINTERS.get(self.kind)
        return style.word(self.kind) if printer is None else printer(self.value, style)


def _generated(expression: Expression, style: Style, stored: str) -> str:
    return f"{style.word('GENERATED ALWAYS AS')}({expression.restore(style)}){style.word(stored)}"


_OPTION_PRINTERS: dict[OptionKind, Callable[[Any, Style], str]] = {
    "clause": lambda words, style: words,
    "collate": lambda name, style: style.word("COLLATE ") + name,
    "comment": lambda text, style: style.word("COMMENT ") + string(text.replace("\\", "\\\\")),
    "generated stored": lambda expression, style: _generated(expression, style, " STORED"),
    "generated virtual": lambda expression, style: _generated(expression, style, " VIRTUAL"),
    "references": lambda reference, style: reference.restore(style),
}
"""How options print from their value; the others print their kind, or are nodes of their own."""


@dataclass(frozen=True)
class KeyOption(ColumnOption):
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
class CheckOption(Clause, ColumnOption):
    form = Form("<CONSTRAINT {name} >CHECK({value:node}) {enforced}")
    name: str = ""
    enforced: bool = True


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


@dataclass(frozen=True)
class KeyPart:
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
class Reference(Clause):
    """REFERENCES; ``parts`` is None if no columns are named; the actions are "" if there are none."""

    form = Form(
        "REFERENCES {table}<({parts:list})>< MATCH {match:word}>"
        "< ON DELETE {on_delete:word}>< ON UPDATE {on_update:word}>"
    )
    table: TableName
    parts: tuple[KeyPart, ...] | None = None
    match: str = ""
    on_delete: str = ""
    on_update: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(part.column for part in self.parts or ())


@dataclass(frozen=True)
class Split:
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
class IndexOptions(Clause):
    """Options after an index's columns, each after a blank. ``visible`` and ``clustered`` are None if not given."""

    form = Form(
        "{columnar_on_demand? ADD_COLUMNAR_REPLICA_ON_DEMAND}{clustered: clustered}"
        "< KEY_BLOCK_SIZE={key_block_size:number}>< USING|TYPE {using:BTREE|HASH|RTREE|HYPO|HNSW|INVERTED}>"
        "< WITH PARSER {parser:parser}>< COMMENT {comment:string}>"
        "{is_global: global}{visible: visible}{pre_split: pre split}"
        "< SECONDARY_ENGINE_ATTRIBUTE = {engine_attribute:string}>< WHERE {where:expression}>"
    )
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


def _pre_split(split: Split | None, style: Style) -> str:
    if split is None:
        return ""
    shown = str(split.regions) if split.regions and not split.low else f"({split.restore(style)})"
    return " " + special_comment(f"PRE_SPLIT_REGIONS = {shown}", "pre_split", style)


ConstraintKind: TypeAlias = Choice["primary", "unique", "index", "foreign", "check", "fulltext", "columnar"]
_WORDS = {"primary": "PRIMARY KEY", "unique": "UNIQUE", "index": "INDEX", "fulltext": "FULLTEXT"}
_IF_NOT_EXISTS = ("index", "columnar")
_CONSTRAINT_FORMS: dict[ConstraintKind, Form] = {
    "check": Form("<CONSTRAINT {name} >CHECK({check:node}) {enforced}"),
    "foreign": Form("CONSTRAINT <{name} >FOREIGN KEY {if_not_exists:own if not exists}({keys:list}) {reference}"),
}


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
        if form := _CONSTRAINT_FORMS.get(self.kind):
            return form.restore_node(self, style)
        text = style.word(f"{self.word} INDEX" if self.kind == "columnar" else _WORDS[self.kind])
        if self.if_not_exists and self.kind in _IF_NOT_EXISTS:
            text += special_comment(" IF NOT EXISTS", style=style)
        name = " " + quoted(self.name) if self.name or self.has_empty_name else ""
        return f"{text}{name}({joined(self.keys, style, ', ')}){self.options.restore(style)}"


MAX_PARTITIONS = 8192
"""TiDB's limit for one table."""
PartitionMethod: TypeAlias = Choice["", "range", "list", "hash", "key", "system_time"]


@dataclass(frozen=True)
class PartitionValues:
    """``kind``: LESS THAN, IN, DEFAULT, HISTORY or CURRENT; ``rows`` of one value each, or of one for each column."""

    kind: str
    rows: tuple[tuple[Node, ...], ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        is_default = self.kind == "IN" and len(self.rows) == 1 and self.rows[0] == (Default(),)
        if not self.rows or is_default:
            return style.word(" DEFAULT" if is_default else f" {self.kind}")
        rows = (joined(row, style, ", ") if len(row) == 1 else f"({joined(row, style, ', ')})" for row in self.rows)
        return style.word(f" VALUES {self.kind} ") + f"({', '.join(rows)})"


@dataclass(frozen=True)
class PartitionDefinition(Clause):
    """A partition or (``word``) subpartition."""

    form = Form("{word:word} {name}<{values}>{options:each}< ({subpartitions})>")
    name: str
    values: PartitionValues | None = None
    options: tuple[TableOption, ...] = ()
    subpartitions: tuple[PartitionDefinition, ...] = ()
    word: str = "PARTITION"


@dataclass(frozen=True)
class Interval(Clause):
    """INTERVAL partitioning: TiDB makes the partitions from ``first`` to ``last``; with its place in the statement."""

    form = Form(
        " INTERVAL ({amount:bit expression}< {unit:time unit}>)"
        "< FIRST PARTITION LESS THAN ({first:bit expression}) LAST PARTITION LESS THAN ({last:bit expression})>"
        "{null_partition? NULL PARTITION}{max_partition? MAXVALUE PARTITION}"
    )
    amount: Node
    unit: str = ""
    first: Node | None = None
    last: Node | None = None
    null_partition: bool = False
    max_partition: bool = False
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True)
class PartitionKey:
    """The method and its expression or columns. ``count``: the number of partitions, 0 if not given."""

    method: PartitionMethod
    columns: tuple[ColumnName, ...] = ()
    expression: Expression | None = None
    linear: bool = False
    algorithm: int | None = None
    count: int = 0
    interval: Interval | None = None

    def restore(self, style: Style = WIRE) -> str:
        text = style.word(("LINEAR " if self.linear else "") + self.method)
        if self.algorithm is not None:
            text += style.word(" ALGORITHM") + f" = {self.algorithm}"
        if self.method == "system_time":
            return text
        if self.expression is not None:
            text += f" ({self.expression.restore(style)})"
        else:
            by_columns = style.word(" COLUMNS") if self.method in ("range", "list") else ""
            text += f"{by_columns} ({joined(self.columns, style)})"
        return text + (self.interval.restore(style) if self.interval is not None else "")


@dataclass(frozen=True)
class Partitioning(Clause):
    """PARTITION BY. ``names``: those of the definitions, or p0 ... for HASH and KEY."""

    form = Form(
        "PARTITION BY {key}< PARTITIONS {count:number}>< SUBPARTITION BY {sub}>< SUBPARTITIONS {sub_count:number}>"
        "< ({definitions:nodes})>< UPDATE INDEXES ({update_indexes:updates})>"
    )
    key: PartitionKey
    definitions: tuple[PartitionDefinition, ...] = ()
    sub: PartitionKey | None = None
    update_indexes: tuple[tuple[str, bool], ...] = ()
    offset: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        if self.definitions:
            return tuple(definition.name for definition in self.definitions)
        return tuple(f"p{number}" for number in range(self.key.count))

    @property
    def count(self) -> int:
        return 0 if self.definitions else self.key.count

    @property
    def sub_count(self) -> int:
        return self.sub.count if self.sub is not None else 0


class OptionRow(NamedTuple):
    """``reads``: the kind of the value. ``prints``: "plain", "string" and "name" in quotes, "word" in the style's case.
    ``feature``: that of the comment around an option of TiDB alone ("" for no name); None for MySQL's.
    """

    reads: str
    prints: Choice["plain", "string", "name", "word"] = "plain"
    feature: str | None = None


TABLE_OPTIONS = {
    "affinity": OptionRow("name or string", "string", "affinity"),
    "auto_id_cache": OptionRow("number", "plain", "auto_id_cache"),
    "auto_increment": OptionRow("number"),
    "auto_random_base": OptionRow("number", "plain", "auto_rand_base"),
    "autoextend_size": OptionRow("name or string"),
    "avg_row_length": OptionRow("number"),
    "checksum": OptionRow("number"),
    "comment": OptionRow("string", "string"),
    "compression": OptionRow("string", "string"),
    "connection": OptionRow("string", "string"),
    "data_directory": OptionRow("string", "string"),
    "delay_key_write": OptionRow("number"),
    "encryption": OptionRow("'Y' or 'N'", "string"),
    "engine": OptionRow("name or string"),
    "engine_attribute": OptionRow("name or string"),
    "ietf_quotes": OptionRow("name or string"),
    "index_directory": OptionRow("string", "string"),
    "insert_method": OptionRow("name or string", "word"),
    "key_block_size": OptionRow("number"),
    "max_rows": OptionRow("number"),
    "min_rows": OptionRow("number"),
    "nodegroup": OptionRow("number"),
    "pack_keys": OptionRow("number or DEFAULT"),
    "page_checksum": OptionRow("number"),
    "page_compressed": OptionRow("number"),
    "page_compression_level": OptionRow("number"),
    "password": OptionRow("string", "string"),
    "pre_split_regions": OptionRow("number", "plain", ""),
    "row_format": OptionRow("row format", "word"),
    "secondary_engine": OptionRow("engine or NULL", "string"),
    "secondary_engine_attribute": OptionRow("string", "string"),
    "sequence": OptionRow("number"),
    "shard_row_id_bits": OptionRow("number", "plain", ""),
    "stats_auto_recalc": OptionRow("0, 1 or DEFAULT"),
    "stats_buckets": OptionRow("number"),
    "stats_col_choice": OptionRow("string", "string"),
    "stats_col_list": OptionRow("string", "string"),
    "stats_persistent": OptionRow("number or DEFAULT"),
    "stats_sample_pages": OptionRow("number or DEFAULT"),
    "stats_sample_rate": OptionRow("rate"),
    "stats_topn": OptionRow("number"),
    "table_checksum": OptionRow("number"),
    "tablespace": OptionRow("tablespace", "name"),
    "transactional": OptionRow("number"),
    "ttl_enable": OptionRow("'ON' or 'OFF'", "string", "ttl"),
    "ttl_job_interval": OptionRow("duration", "string", "ttl"),
}
"""Options of the form ``KEYWORD = value`` by their keyword in lower case; the parser and the printer read them here."""
_NOT_SUPPORTED = {"stats_persistent": "TableOptionStatsPersistent", "pack_keys": "TableOptionPackKeys"}
_PLACEMENT = "placement_policy"


@dataclass(frozen=True)
class TableOption:
    """``value``: None for DEFAULT; a column's name for TTL. ``forced``: FORCE."""

    name: str
    value: str | int | None = ""
    forced: bool = False
    offset: int = 0

    def restore(self, style: Style = WIRE) -> str:
        name = self.name
        if name == "engine_attribute":
            raise UnprintableDdlError(
                "TiDB does not print ENGINE_ATTRIBUTE", remedy="Leave the option out", position=self.offset
            )
        if name == _PLACEMENT:
            return "" if style.sent else style.word("PLACEMENT POLICY") + f" = {quoted(str(self.value or 'DEFAULT'))}"
        if name in _NOT_SUPPORTED:
            return style.word(f"{name} = DEFAULT") + f" /* {_NOT_SUPPORTED[name]} is not supported */ "
        text = self._assignment(style)
        if name in TABLE_OPTIONS and (feature := TABLE_OPTIONS[name].feature) is not None:
            text = special_comment(text, feature, style)
        return special_comment("FORCE ", "force_inc", style) + text if self.forced else text

    def _assignment(self, style: Style) -> str:
        name, value = self.name, self.value
        if name == "charset":
            return style.word("DEFAULT CHARACTER SET = " + ("DEFAULT" if value is None else str(value)))
        if name == "collate":
            return style.word(f"DEFAULT COLLATE = {value}")
        if name == "storage":
            return style.word(f"STORAGE {value}")
        prints = TABLE_OPTIONS[name].prints
        if value is None:
            shown = style.word("NULL" if name == "secondary_engine" else "DEFAULT")
        elif prints == "string":
            shown = string(str(value))
        elif prints == "name":
            shown = quoted(str(value))
        else:
            shown = style.word(str(value)) if prints == "word" else str(value) or "''"
        return f"{style.word(name.replace('_directory', ' directory'))} = {shown}"


@dataclass(frozen=True)
class TtlOption(TableOption):
    amount: Node | None = None
    unit: str = ""

    def restore(self, style: Style = WIRE) -> str:
        assert self.amount is not None
        text = f"TTL = {quoted(str(self.value))} + INTERVAL {self.amount.restore(style)} {self.unit}"
        return special_comment(text, "ttl", style)


@dataclass(frozen=True)
class UnionOption(TableOption):
    tables: tuple[TableName, ...] = ()

    def restore(self, style: Style = WIRE) -> str:
        return f"{style.word('UNION')} = ({joined(self.tables, style)})"


def is_placement(option: TableOption) -> bool:
    return option.name == _PLACEMENT


def with_ttl_off(options: tuple[TableOption, ...]) -> tuple[TableOption, ...]:
    """Return the options as a changefeed sends them: every TTL is off, so that rows do not expire downstream."""
    result: list[TableOption] = []
    for option in options:
        if option.name == "ttl_enable":
            continue
        result.append(option)
        if option.name == "ttl":
            result.append(TableOption("ttl_enable", "OFF"))
    return tuple(result)


PRINTERS["table options"] = lambda options, style: PRINTERS["each"](
    with_ttl_off(options) if style.sent else options, style
)
PRINTERS[" pre split"] = _pre_split
PRINTERS["updates"] = lambda updates, style: ",".join(
    f"{quoted(name)} {'GLOBAL' if on else 'LOCAL'}" for name, on in updates
)
