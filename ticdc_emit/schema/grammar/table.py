"""CREATE TABLE. Tokens in, :class:`~ticdc_emit.schema.statements.CreateTable` out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``CreateTableStmt``).
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.partition import PartitionGrammar
from ticdc_emit.schema.nodes.columns import ColumnDef
from ticdc_emit.schema.nodes.keys import Constraint, Split
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.statements import CreateTable, CreateTableLike

__all__ = ["TableGrammar"]


class TableGrammar(PartitionGrammar):
    def _create_table(self, *, temporary: str) -> CreateTable | CreateTableLike:
        start = self._curr
        if_not_exists = self._if_not_exists()
        table = self._table_name()
        like = self._like()
        if like is not None:
            on_commit = self._on_commit()
            statement: CreateTable | CreateTableLike = CreateTableLike(table, like, if_not_exists, temporary, on_commit)
        else:
            statement = self._table_definition(table, temporary, if_not_exists=if_not_exists)
        if bool(statement.on_commit) != (temporary == "GLOBAL TEMPORARY"):
            self._fail("GLOBAL TEMPORARY and ON COMMIT go together", start)
        return statement

    def _like(self) -> TableName | None:
        if self._accept("LIKE"):
            return self._table_name()
        if not (self._symbol_at("(") and self._word_at(1) == "LIKE"):
            return None
        self._advance(2)
        like = self._table_name()
        self._expect_symbol(")")
        return like

    def _table_definition(self, table: TableName, temporary: str, *, if_not_exists: bool) -> CreateTable:
        columns: tuple[ColumnDef, ...] = ()
        constraints: tuple[Constraint, ...] = ()
        offset = self._curr.start if not self._at_end else self._prev.start
        if self._symbol_at("(") and self._try_subselect_here() is None:
            columns, constraints = self._table_elements()
        options = self._table_options()
        partitioning = self._partition_by() if self._accept("PARTITION", "BY") else None
        splits: list[tuple[str | None, Split]] = []
        while self._accept("SPLIT"):
            splits.append(self._split_index())
        if columns or constraints:
            offset = self._curr.start
        duplicates = self._accept_any("IGNORE", "REPLACE")
        self._accept("AS")
        select = self._query() if self._symbol_at("(") or self._at_query() else None
        return CreateTable(
            table,
            columns,
            constraints,
            options,
            partitioning,
            if_not_exists,
            temporary,
            self._on_commit(),
            tuple(splits),
            duplicates,
            select,
            offset,
        )

    def _at_query(self) -> bool:
        return self._word_at() in ("SELECT", "TABLE", "VALUES", "WITH")

    def _try_subselect_here(self) -> object | None:
        """The query in the parentheses here, if they are not a list of columns. Nothing is consumed."""
        start = self._index
        ahead = 1
        while self._symbol_at("(", ahead):
            ahead += 1
        if self._word_at(ahead) not in ("SELECT", "TABLE", "VALUES", "WITH"):
            return None
        subquery = self._try_subselect()
        self._retreat(start)
        return subquery

    def _on_commit(self) -> str:
        if not self._accept("ON", "COMMIT"):
            return ""
        word = self._expect_any("DELETE", "PRESERVE")
        self._expect("ROWS")
        return word

    def _table_elements(self) -> tuple[tuple[ColumnDef, ...], tuple[Constraint, ...]]:
        elements = self._in_parentheses(lambda: self._list(self._table_element))
        columns = tuple(element for element in elements if isinstance(element, ColumnDef))
        return columns, tuple(element for element in elements if isinstance(element, Constraint))

    def _table_element(self) -> ColumnDef | Constraint:
        constraint = self._constraint()
        return constraint if constraint is not None else self._column_def()
