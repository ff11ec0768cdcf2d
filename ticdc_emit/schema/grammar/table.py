"""CREATE TABLE. Tokens in, :class:`~ticdc_emit.schema.statements.CreateTable` out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``CreateTableStmt``).
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.partition import PartitionGrammar
from ticdc_emit.schema.nodes import ColumnDef, Constraint
from ticdc_emit.schema.statements import CreateTable, CreateTableLike

__all__ = ["TableGrammar"]


class TableGrammar(PartitionGrammar):
    def _create_table(self, *, temporary: bool) -> CreateTable | CreateTableLike:
        if_not_exists = self._if_not_exists()
        table = self._table_name()
        if self._accept("LIKE"):
            return CreateTableLike(table, self._table_name(), if_not_exists, temporary)
        if self._symbol_at("(") and self._word_at(1) == "LIKE":
            self._advance(2)
            like = self._table_name()
            self._expect_symbol(")")
            return CreateTableLike(table, like, if_not_exists, temporary)
        if not self._symbol_at("("):
            self._fail("expected the table's columns in parentheses")
        columns, constraints = self._table_elements()
        options = self._table_options()
        partitioning = self._partition_by() if self._accept("PARTITION", "BY") else None
        if self._accept("ON", "COMMIT"):
            _ = self._accept("DELETE", "ROWS") or self._accept("PRESERVE", "ROWS")
        return CreateTable(table, columns, constraints, options, partitioning, if_not_exists, temporary)

    def _table_elements(self) -> tuple[tuple[ColumnDef, ...], tuple[Constraint, ...]]:
        self._expect_symbol("(")
        columns: list[ColumnDef] = []
        constraints: list[Constraint] = []
        while True:
            constraint = self._constraint()
            if constraint is not None:
                constraints.append(constraint)
            else:
                columns.append(self._column_def())
            if not self._accept_symbol(","):
                break
        self._expect_symbol(")")
        return tuple(columns), tuple(constraints)
