"""ALTER TABLE, and clauses of a fixed form. Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``AlterTableSpec``)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from ticdc_emit.sql import nodes
from ticdc_emit.sql.parser.base import Lead, Rules, rules_by_word
from ticdc_emit.sql.parser.columns import datum_of
from ticdc_emit.sql.parser.tables import TableGrammar

_LAST_WORDS = ("PARTITION", "REMOVE", "REORGANIZE", "SPLIT", "MERGE")


class AlterGrammar(TableGrammar):
    # -- kinds of values in forms ----------------------------------------------------------------------------

    def _location_labels(self) -> tuple[str, ...]:
        return self._list(self._string) if self._accept("LOCATION", "LABELS") else ()

    def _partition_names(self) -> tuple[str, ...]:
        return self._names("a partition")

    def _validation(self) -> bool:
        if self._accept("WITHOUT", "VALIDATION"):
            return False
        self._accept("WITH", "VALIDATION")
        return True

    _KINDS: ClassVar[dict[str, Callable[[Any], Any]]] = {
        **TableGrammar._KINDS,
        "columns": lambda self: self._list(self._column),
        "condition": lambda self: (
            "IF NOT EXISTS " if self._if_not_exists() else "IF EXISTS " if self._if_exists() else ""
        ),
        "definitions": TableGrammar._definitions,
        "if exists": lambda self: self._if_exists(),
        " if not exists": lambda self: self._if_not_exists(),
        "labels": _location_labels,
        "order": lambda self: self._list(lambda: nodes.OrderItem(self._column(), self._descending())),
        "partitions": _partition_names,
        "partitions or all": lambda self: () if self._accept("ALL") else self._partition_names(),
        "table": lambda self: self._table_name(),
        "tables": lambda self: self._list(self._table_name),
        "text or default": lambda self: None if self._accept("DEFAULT") else self._string(),
        "validation": _validation,
        "visible": lambda self: self._expect_any("VISIBLE", "INVISIBLE") == "VISIBLE",
    }

    def _algorithm_and_lock(self) -> tuple[str, str]:
        given = {"ALGORITHM": "", "LOCK": ""}
        while (word := self._word_at()) in given and not given[word]:
            given[word] = self._fields(nodes.WORK[word])["how"]
        return given["ALGORITHM"], given["LOCK"]

    # -- ALTER TABLE -----------------------------------------------------------------------------------------

    def _altered_table(self) -> nodes.TableName:
        self._expect("ALTER")
        self._accept("IGNORE")
        self._expect("TABLE")
        return self._table_name()

    def _changes(self, table: nodes.TableName) -> nodes.AlterTable:
        clauses: list[nodes.AlterSpec] = []
        if not self._at_end and self._word_at() not in _LAST_WORDS:
            clauses += self._list(self._alter_spec)
        if not self._at_end:
            clauses.append(self._last_change())
        return nodes.AlterTable(table, tuple(clauses))

    def _alter_spec(self) -> nodes.AlterSpec:
        if rule := self._rule_of(_CHANGES):
            change: nodes.AlterSpec = rule(self)
            return change
        if self._accept("CONVERT", "TO"):
            return self._convert_to()
        options = self._table_options(commas=False)
        if options:
            return nodes.AlterOptions(options)
        if not self._accept("FORCE"):
            self._fail("expected a change of the table")
        return nodes.MinorChange(nodes.FORCE)

    # -- columns and indexes ---------------------------------------------------------------------------------

    def _alter_add(self) -> nodes.AlterSpec:
        self._expect("ADD")
        if self._accept("PARTITION"):
            self._retreat(self._index - 2)
            return self._read(nodes.AddPartitions)
        constraint = self._constraint()
        if constraint is not None:
            return nodes.AddConstraint(constraint)
        self._accept("COLUMN")
        if_not_exists = self._if_not_exists()
        if self._symbol_at("("):
            return nodes.AddColumns(*self._table_elements(), if_not_exists)
        return nodes.AddColumn(self._column_def(), self._position(), if_not_exists)

    def _position(self) -> nodes.Position | None:
        if self._accept("FIRST"):
            return nodes.Position()
        if not self._accept("AFTER"):
            return None
        *qualifier, name = self._column().parts
        return nodes.Position(name, tuple(qualifier))

    def _alter_drop(self) -> nodes.AlterSpec:
        self._expect("DROP")
        if self._accept("PRIMARY", "KEY"):
            return nodes.DropIndex("PRIMARY", is_primary=True)
        self._accept("COLUMN")
        if_exists = self._if_exists()
        *qualifier, name = self._column().parts
        self._accept_any("RESTRICT", "CASCADE")
        return nodes.DropColumn(name, if_exists, tuple(qualifier))

    def _alter_change(self) -> nodes.AlterSpec:
        word = self._accept_any("MODIFY", "CHANGE")
        self._accept("COLUMN")
        if_exists = self._if_exists()
        old = self._column() if word == "CHANGE" else None
        column = self._column_def()
        return nodes.ChangeColumn(old.name if old else column.name, column, self._position(), if_exists, old)

    def _alter_default(self) -> nodes.AlterSpec:
        self._expect("ALTER")
        self._accept("COLUMN")
        *qualifier, name = self._column().parts
        if self._accept("DROP", "DEFAULT"):
            return nodes.SetColumnDefault(name, None, None, tuple(qualifier))
        self._expect("SET", "DEFAULT")
        default, node = self._new_default()
        return nodes.SetColumnDefault(name, default, node, tuple(qualifier))

    def _new_default(self) -> tuple[nodes.Literal | nodes.DefaultExpression, nodes.Node]:
        if not self._symbol_at("("):
            literal = self._signed_literal()
            if literal is None:
                self._fail("expected a constant, or an expression in parentheses")
            return datum_of(literal), literal
        expression = self._parenthesised()
        node = expression.node
        signed = isinstance(node, nodes.Unary) and node.operator in "+-" and isinstance(node.operand, nodes.Constant)
        if isinstance(node, nodes.Constant) or signed:
            return datum_of(node), node
        return self._as_default(expression), node

    def _rename_to(self) -> nodes.AlterSpec:
        self._expect("RENAME")
        _ = self._accept_any("TO", "AS") or self._accept_symbol("=")
        return nodes.RenameTo(self._table_name())

    def _convert_to(self) -> nodes.AlterOptions:
        if not self._charset_keyword():
            self._fail("expected CHARACTER SET")
        charset = None if self._accept("DEFAULT") else self._charset_name()
        options = [nodes.TableOption("charset", charset)]
        if self._accept("COLLATE"):
            options.append(nodes.TableOption("collate", self._collation_name()))
        return nodes.AlterOptions(tuple(options), convert=True)

    # -- partitions ------------------------------------------------------------------------------------------

    def _minor(self, row: nodes.MinorForm) -> nodes.MinorChange:
        return nodes.MinorChange(row, tuple(self._fields(row.form).items()))

    def _change_partitions(self, kind: nodes.PartitionsChange) -> nodes.ChangePartitions:
        return nodes.ChangePartitions(kind, **self._fields(nodes.PARTITION_FORMS[kind]))

    def _interval_change(self) -> nodes.IntervalChange:
        start = self._curr.start
        word = self._expect_any("FIRST", "LAST")
        bound = self._less_than()
        if word == "FIRST":
            self._if_exists()
        no_binlog = word == "LAST" and bool(self._accept_any("NO_WRITE_TO_BINLOG", "LOCAL"))
        return nodes.IntervalChange(word, bound, no_binlog, start, self._prev.end)

    def _last_change(self) -> nodes.AlterSpec:
        """A change that TiDB accepts once, after all other changes and without a comma."""
        start = self._curr.start
        if self._accept("PARTITION", "BY"):
            return nodes.ChangePartitions("partition by", by=self._partition_by())
        if self._accept("REMOVE", "TTL"):
            return nodes.RemoveTtl()
        if self._at_words("REMOVE", "PARTITIONING"):
            return self._change_partitions("remove")
        if self._at_words("REORGANIZE", "PARTITION"):
            return self._change_partitions("reorganize")
        if self._accept("SPLIT", "MAXVALUE"):
            return nodes.IntervalChange("SPLIT MAXVALUE", self._less_than(), False, start, self._prev.end)
        if self._accept("SPLIT"):
            return nodes.SplitRegions(*self._split_index())
        if self._accept("MERGE"):
            self._expect("FIRST")
            return nodes.IntervalChange("MERGE FIRST", self._less_than(), False, start, self._prev.end)
        if not self._accept("PARTITION"):
            self._fail("expected a change of the table")
        name = self._name("a partition")
        if self._at_words("ATTRIBUTES"):
            return self._minor(nodes.PARTITION_ATTRIBUTES)
        return nodes.PartitionOptions(name, self._partition_options())


def form_rule(node: type[nodes.Clause]) -> tuple[Lead, Callable[[AlterGrammar], Any]]:
    return node.form.lead, lambda grammar: grammar._read(node)


_BY_FIRST_WORDS: tuple[nodes.PartitionsChange, ...] = ("drop", "truncate", "coalesce")
_CHANGES: Rules[Callable[[AlterGrammar], Any]] = rules_by_word(
    *((row.form.lead, partial(AlterGrammar._minor, row=row)) for row in nodes.MINOR_CHANGES),
    *(
        (nodes.PARTITION_FORMS[kind].lead, partial(AlterGrammar._change_partitions, kind=kind))
        for kind in _BY_FIRST_WORDS
    ),
    *map(
        form_rule,
        (
            nodes.DropForeignKey,
            nodes.DropIndex,
            nodes.ExchangePartition,
            nodes.RenameColumn,
            nodes.RenameIndex,
            nodes.SetIndexVisibility,
        ),
    ),
    ("FIRST|LAST PARTITION", AlterGrammar._interval_change),
    ("ADD", AlterGrammar._alter_add),
    ("DROP", AlterGrammar._alter_drop),
    ("MODIFY|CHANGE", AlterGrammar._alter_change),
    ("ALTER", AlterGrammar._alter_default),
    ("RENAME", AlterGrammar._rename_to),
)
"""The changes by their first words; the others are table options, CONVERT TO and FORCE."""
