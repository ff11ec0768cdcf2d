"""ALTER TABLE: a list of changes. Tokens in, the nodes of :class:`AlterTable` out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``AlterTableStmt``, ``AlterTableSpec``, ``AlterTableSpecSingleOpt``).
"""

from __future__ import annotations

from collections.abc import Callable

from ticdc_emit.schema.grammar.alter_minor import MinorChangeGrammar
from ticdc_emit.schema.grammar.literal import datum_of
from ticdc_emit.schema.nodes.alter import (
    AddColumn,
    AddColumns,
    AddConstraint,
    AlterOptions,
    AlterSpec,
    ChangeColumn,
    DropColumn,
    DropForeignKey,
    DropIndex,
    Position,
    RemoveTtl,
    RenameColumn,
    RenameIndex,
    RenameTo,
    SetColumnDefault,
    SetIndexVisibility,
)
from ticdc_emit.schema.nodes.expressions import Unary
from ticdc_emit.schema.nodes.literals import Constant
from ticdc_emit.schema.nodes.minor_changes import AlterCheck, DropCheck, ExtendedStatistics
from ticdc_emit.schema.nodes.style import Node
from ticdc_emit.schema.nodes.table_options import TableOption
from ticdc_emit.schema.nodes.values import DefaultExpression, Literal
from ticdc_emit.schema.statements import AlterTable

__all__ = ["AlterGrammar"]

_LAST_WORDS = ("PARTITION", "REMOVE", "REORGANIZE", "SPLIT", "MERGE")


class AlterGrammar(MinorChangeGrammar):
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

    # -- columns and indexes -------------------------------------------------------------------------------------

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
