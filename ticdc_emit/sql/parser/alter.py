"""ALTER TABLE. Tokens in, one node for each change out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``AlterTableSpec``, ``AlterTableSpecSingleOpt``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ticdc_emit.sql.nodes.alter import (
    AddColumn,
    AddColumns,
    AddConstraint,
    AddPartitions,
    AlterAttributes,
    AlterCheck,
    AlterOptions,
    AlterSpec,
    ChangeColumn,
    ChangePartitions,
    DropCheck,
    DropColumn,
    DropForeignKey,
    DropIndex,
    ExchangePartition,
    ExtendedStatistics,
    Forced,
    IntervalChange,
    MaskingPolicyChange,
    MaskingRule,
    NoSchemaChange,
    OrderByColumns,
    PartitionMaintenance,
    PartitionOptions,
    Position,
    RemoveTtl,
    RenameColumn,
    RenameIndex,
    RenameTo,
    SetColumnDefault,
    SetIndexVisibility,
    SplitRegions,
    TiFlashReplica,
)
from ticdc_emit.sql.nodes.base import Node
from ticdc_emit.sql.nodes.expressions import ColumnName, Constant, DefaultExpression, Literal, Unary
from ticdc_emit.sql.nodes.statements import AlterTable
from ticdc_emit.sql.nodes.tables import PartitionDefinition, TableOption
from ticdc_emit.sql.parser.columns import datum_of
from ticdc_emit.sql.parser.tables import TableGrammar

__all__ = ["AlterGrammar"]


_MAINTENANCE = ("OPTIMIZE", "REPAIR", "REBUILD", "CHECK", "IMPORT", "DISCARD")
_WITH_BINLOG = ("OPTIMIZE", "REPAIR", "REBUILD")
_PHRASES = (
    ("WITH", "VALIDATION"),
    ("WITHOUT", "VALIDATION"),
    ("ENABLE", "KEYS"),
    ("DISABLE", "KEYS"),
    ("IMPORT", "TABLESPACE"),
    ("DISCARD", "TABLESPACE"),
    ("READ", "ONLY"),
    ("READ", "WRITE"),
    ("SECONDARY_LOAD",),
    ("SECONDARY_UNLOAD",),
)
_ALGORITHMS = ("DEFAULT", "COPY", "INPLACE", "INSTANT")
_RESTRICTED = ("INSERT_INTO_SELECT", "UPDATE_SELECT", "DELETE_SELECT", "CTAS")
_MASKING_ACTIONS = {"ADD": "create", "DROP": "drop", "MODIFY": "alter", "ENABLE": "alter", "DISABLE": "alter"}
_LOCKS = ("DEFAULT", "NONE", "SHARED", "EXCLUSIVE")
PartitionChange: TypeAlias = AddPartitions | ChangePartitions | ExchangePartition | NoSchemaChange
_LAST_WORDS = ("PARTITION", "REMOVE", "REORGANIZE", "SPLIT", "MERGE")


class AlterGrammar(TableGrammar):
    """The changes of ALTER TABLE."""

    # -- changes that may stand anywhere ---------------------------------------------------------------------

    def _minor_change(self) -> PartitionChange | None:
        word = self._word_at()
        if self._word_at(1) == "PARTITION" and (change := self._partition_change(word)) is not None:
            return change
        if word in _MASKING_ACTIONS and self._at_words(word, "MASKING", "POLICY"):
            return self._masking_change(word)
        rules: dict[str, Callable[[], NoSchemaChange]] = {
            "ALGORITHM": self._algorithm,
            "LOCK": self._lock_clause,
            "CACHE": lambda: self._word_change("alter table cache"),
            "NOCACHE": lambda: self._word_change("alter table nocache"),
            "ATTRIBUTES": lambda: self._attributes("alter table attributes"),
            "STATS_OPTIONS": lambda: self._attributes(""),
            "SET": self._tiflash_replica,
            "ORDER": self._order_by_columns,
        }
        if rule := rules.get(word):
            return rule()
        for phrase in _PHRASES:
            if self._accept(*phrase):
                return NoSchemaChange(" ".join(phrase))
        return None

    def _forced(self) -> NoSchemaChange:
        return Forced()

    def _word_change(self, action: str) -> NoSchemaChange:
        return NoSchemaChange(self._any_word("a word"), action)

    def _algorithm(self) -> NoSchemaChange:
        return NoSchemaChange("ALGORITHM = " + self._work("ALGORITHM", _ALGORITHMS))

    def _lock_clause(self) -> NoSchemaChange:
        return NoSchemaChange("LOCK = " + self._work("LOCK", _LOCKS))

    def _work(self, word: str, choices: tuple[str, ...]) -> str:
        self._expect(word)
        self._equals()
        return self._expect_any(*choices)

    def _algorithm_and_lock(self) -> tuple[str, str]:
        given = {"ALGORITHM": "", "LOCK": ""}
        while (word := self._word_at()) in given and not given[word]:
            given[word] = self._work(word, _ALGORITHMS if word == "ALGORITHM" else _LOCKS)
        return given["ALGORITHM"], given["LOCK"]

    def _attributes(self, action: str) -> AlterAttributes:
        word = self._any_word("ATTRIBUTES")
        self._equals()
        return AlterAttributes(word, action, None if self._accept("DEFAULT") else self._string())

    def _tiflash_replica(self) -> TiFlashReplica:
        self._expect("SET")
        self._accept("HYPO")
        self._expect("TIFLASH", "REPLICA")
        count = self._integer("a number of replicas")
        return TiFlashReplica("", "set tiflash replica", count, self._location_labels())

    def _location_labels(self) -> tuple[str, ...]:
        return self._list(self._string) if self._accept("LOCATION", "LABELS") else ()

    def _order_by_columns(self) -> OrderByColumns:
        self._expect("ORDER", "BY")
        return OrderByColumns(columns=self._list(self._ordered_column))

    def _ordered_column(self) -> tuple[ColumnName, bool]:
        column = self._column()
        return column, self._descending()

    # -- masking policies ------------------------------------------------------------------------------------

    def _masking_change(self, word: str) -> MaskingPolicyChange:
        self._advance(3)
        action, name = f"{_MASKING_ACTIONS[word]} masking policy", self._name("a policy")
        if word == "ADD":
            self._expect("ON")
            return MaskingPolicyChange(word, action, name, self._masking_rule())
        if word != "MODIFY":
            return MaskingPolicyChange(word, action, name)
        self._expect("SET")
        if self._at_words("RESTRICT"):
            return MaskingPolicyChange(word, action, name, restricted=self._restricted())
        self._expect("EXPRESSION")
        self._expect_symbol("=")
        return MaskingPolicyChange(word, action, name, expression=self._expression())

    def _masking_rule(self) -> MaskingRule:
        column = self._in_parentheses(lambda: self._name("a column name"))
        self._expect("AS")
        expression, restricted = self._expression(), self._restricted()
        return MaskingRule(column, expression, restricted, self._accept_any("ENABLE", "DISABLE"))

    def _restricted(self) -> tuple[str, ...]:
        """Consume RESTRICT ON with its operations, which print in an order of their own, each once."""
        if not self._accept("RESTRICT"):
            return ()
        self._expect("ON")
        if self._accept("NONE"):
            return ()
        given = self._in_parentheses(lambda: self._list(lambda: self._expect_any(*_RESTRICTED)))
        return tuple(operation for operation in _RESTRICTED if operation in given)

    # -- partitions ------------------------------------------------------------------------------------------

    def _partition_change(self, word: str) -> PartitionChange | None:
        if word in _MAINTENANCE:
            self._advance(2)
            no_binlog = word in _WITH_BINLOG and self._no_binlog()
            names = self._partition_names_or_all()
            if word in ("IMPORT", "DISCARD"):
                self._expect("TABLESPACE")
            return PartitionMaintenance(word, "", names, no_binlog)
        if word == "TRUNCATE":
            self._advance(2)
            return ChangePartitions("truncate", self._partition_names_or_all())
        if word == "COALESCE":
            self._advance(2)
            no_binlog = self._no_binlog()
            return ChangePartitions("coalesce", count=self._integer("a number of partitions"), no_binlog=no_binlog)
        if word == "EXCHANGE":
            self._advance(2)
            return self._exchange_partition()
        if word in ("FIRST", "LAST"):
            start = self._curr.start
            self._advance()
            bound = self._less_than()
            if word == "FIRST":
                self._if_exists()
            no_binlog = word == "LAST" and self._no_binlog()
            return IntervalChange(word, "", bound, no_binlog, start, self._prev.end)
        return None

    def _exchange_partition(self) -> ExchangePartition:
        name = self._name("a partition")
        self._expect("WITH", "TABLE")
        table = self._table_name()
        if self._accept("WITHOUT", "VALIDATION"):
            return ExchangePartition(name, table, validate=False)
        self._accept("WITH", "VALIDATION")
        return ExchangePartition(name, table)

    def _no_binlog(self) -> bool:
        return self._accept("NO_WRITE_TO_BINLOG") or self._accept("LOCAL")

    def _partition_names_or_all(self) -> tuple[str, ...]:
        return () if self._accept("ALL") else self._names("a partition")

    def _add_partitions(self) -> AddPartitions:
        if_not_exists = self._if_not_exists()
        no_binlog = self._no_binlog()
        if self._accept("PARTITIONS"):
            count = self._integer("a number of partitions")
            return AddPartitions(count=count, if_not_exists=if_not_exists, no_binlog=no_binlog)
        definitions: tuple[PartitionDefinition, ...] = ()
        if self._symbol_at("("):
            definitions = self._partition_definitions()
        return AddPartitions(definitions, 0, if_not_exists, no_binlog)

    def _drop_partitions(self) -> ChangePartitions:
        if_exists = self._if_exists()
        return ChangePartitions("drop", self._names("a partition"), if_exists=if_exists)

    # -- changes that stand last -----------------------------------------------------------------------------

    def _partition_by_change(self) -> ChangePartitions:
        return ChangePartitions("partition by", by=self._partition_by())

    def _last_partition_change(self) -> PartitionChange:
        if self._accept("REMOVE", "PARTITIONING"):
            return ChangePartitions("remove")
        if self._accept("REORGANIZE", "PARTITION"):
            return self._reorganize()
        if self._accept("SPLIT"):
            start = self._prev.start
            if self._accept("MAXVALUE"):
                return IntervalChange("SPLIT MAXVALUE", "", self._less_than(), start=start, end=self._prev.end)
            index, split = self._split_index()
            return SplitRegions("SPLIT", "", index, split)
        if self._accept("MERGE"):
            start = self._prev.start
            self._expect("FIRST")
            return IntervalChange("MERGE FIRST", "", self._less_than(), start=start, end=self._prev.end)
        if not self._accept("PARTITION"):
            self._fail("expected a change of the table")
        name = self._name("a partition")
        if self._at_words("ATTRIBUTES"):
            return self._attributes("alter table partition attributes")
        return PartitionOptions("", "alter table partition placement", name, self._partition_options())

    def _reorganize(self) -> ChangePartitions:
        no_binlog = self._no_binlog()
        if self._at_end:
            return ChangePartitions("reorganize", no_binlog=no_binlog)
        names = self._names("a partition")
        self._expect("INTO")
        return ChangePartitions("reorganize", names, self._partition_definitions(), no_binlog=no_binlog)

    # -- ALTER TABLE ----------------------------------------------------------------------------------------------

    def _alter_table(self) -> AlterTable:
        table = self._table_name()
        clauses: list[AlterSpec] = []
        if not self._at_end and self._word_at() not in _LAST_WORDS:
            clauses += self._list(self._alter_spec)
        if not self._at_end:
            clauses.append(self._last_change())
        return AlterTable(table, tuple(clauses))

    def _alter_spec(self) -> AlterSpec:
        word = self._word_at()
        if self._word_at(1) == "MASKING" and (change := self._minor_change()) is not None:
            return change
        rules: dict[str, Callable[[], AlterSpec]] = {
            "ADD": self._alter_add,
            "DROP": self._alter_drop,
            "MODIFY": self._alter_change,
            "CHANGE": self._alter_change,
            "ALTER": self._alter_alter,
            "RENAME": self._alter_rename,
        }
        if rule := rules.get(word):
            return rule()
        minor = self._minor_change()
        if minor is not None:
            return minor
        if self._accept("CONVERT", "TO"):
            return self._convert_to()
        options = self._table_options(commas=False)
        if options:
            return AlterOptions(options)
        if not self._accept("FORCE"):
            self._fail("expected a change of the table")
        return self._forced()

    # -- columns and indexes ---------------------------------------------------------------------------------

    def _alter_add(self) -> AlterSpec:
        self._expect("ADD")
        if self._accept("PARTITION"):
            return self._add_partitions()
        if self._accept("STATS_EXTENDED"):
            return self._add_statistics()
        constraint = self._constraint()
        if constraint is not None:
            return AddConstraint(constraint)
        self._accept("COLUMN")
        if_not_exists = self._if_not_exists()
        if self._symbol_at("("):
            return AddColumns(*self._table_elements(), if_not_exists)
        return AddColumn(self._column_def(), self._position(), if_not_exists)

    def _add_statistics(self) -> AlterSpec:
        absent = "IF NOT EXISTS " if self._if_not_exists() else ""
        name = self._name("the statistics' name")
        kind = self._expect_any("CARDINALITY", "DEPENDENCY", "CORRELATION")
        return ExtendedStatistics(f"ADD STATS_EXTENDED {absent}", "", name, kind, self._columns())

    def _position(self) -> Position | None:
        if self._accept("FIRST"):
            return Position()
        if not self._accept("AFTER"):
            return None
        *qualifier, name = self._column().parts
        return Position(name, tuple(qualifier))

    def _alter_drop(self) -> AlterSpec:
        self._expect("DROP")
        if self._accept("PRIMARY", "KEY"):
            return DropIndex("PRIMARY", is_primary=True)
        if self._accept("FOREIGN", "KEY"):
            return DropForeignKey(self._name("a foreign key"))
        if self._accept("PARTITION"):
            return self._drop_partitions()
        if self._accept_any("KEY", "INDEX"):
            if_exists = self._if_exists()
            return DropIndex(self._name("an index"), if_exists)
        if self._accept_any("CHECK", "CONSTRAINT"):
            return DropCheck(name=self._name("a constraint"))
        if self._accept("STATS_EXTENDED"):
            present = "IF EXISTS " if self._if_exists() else ""
            return ExtendedStatistics(f"DROP STATS_EXTENDED {present}", "", self._name("the statistics' name"))
        self._accept("COLUMN")
        if_exists = self._if_exists()
        *qualifier, name = self._column().parts
        self._accept_any("RESTRICT", "CASCADE")
        return DropColumn(name, if_exists, tuple(qualifier))

    def _alter_change(self) -> AlterSpec:
        word = self._accept_any("MODIFY", "CHANGE")
        self._accept("COLUMN")
        if_exists = self._if_exists()
        old = self._column() if word == "CHANGE" else None
        column = self._column_def()
        return ChangeColumn(old.name if old else column.name, column, self._position(), if_exists, old)

    def _alter_alter(self) -> AlterSpec:
        self._expect("ALTER")
        if self._accept("INDEX"):
            name = self._name("an index")
            return SetIndexVisibility(name, self._expect_any("VISIBLE", "INVISIBLE") == "VISIBLE")
        if self._accept_any("CHECK", "CONSTRAINT"):
            name = self._name("a constraint")
            enforced = not self._accept("NOT")
            self._expect("ENFORCED")
            return AlterCheck(name=name, enforced=enforced)
        self._accept("COLUMN")
        *qualifier, name = self._column().parts
        if self._accept("DROP", "DEFAULT"):
            return SetColumnDefault(name, None, None, tuple(qualifier))
        self._expect("SET", "DEFAULT")
        default, node = self._new_default()
        return SetColumnDefault(name, default, node, tuple(qualifier))

    def _new_default(self) -> tuple[Literal | DefaultExpression, Node]:
        if not self._symbol_at("("):
            literal = self._signed_literal()
            if literal is None:
                self._fail("expected a constant, or an expression in parentheses")
            return datum_of(literal), literal
        expression = self._parenthesised()
        node = expression.node
        signed = isinstance(node, Unary) and node.operator in "+-" and isinstance(node.operand, Constant)
        if isinstance(node, Constant) or signed:
            return datum_of(node), node
        return self._as_default(expression), node

    def _alter_rename(self) -> AlterSpec:
        self._expect("RENAME")
        if self._accept("COLUMN"):
            old = self._name("a column name")
            self._expect("TO")
            return RenameColumn(old, self._name("a column name"))
        if self._accept_any("KEY", "INDEX"):
            old = self._name("an index")
            self._expect("TO")
            return RenameIndex(old, self._name("an index"))
        _ = self._accept_any("TO", "AS") or self._accept_symbol("=")
        return RenameTo(self._table_name())

    def _convert_to(self) -> AlterOptions:
        if not self._charset_keyword():
            self._fail("expected CHARACTER SET")
        charset = None if self._accept("DEFAULT") else self._charset_name()
        options = [TableOption("charset", charset, convert=True)]
        if self._accept("COLLATE"):
            options.append(TableOption("collate", self._collation_name()))
        return AlterOptions(tuple(options), convert=True)

    def _last_change(self) -> AlterSpec:
        """A change that TiDB accepts once, after all other changes and without a comma."""
        if self._accept("PARTITION", "BY"):
            return self._partition_by_change()
        if self._accept("REMOVE", "TTL"):
            return RemoveTtl()
        return self._last_partition_change()
