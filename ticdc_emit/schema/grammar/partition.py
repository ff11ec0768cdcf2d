"""Partitioning of a table. Tokens in, :class:`~ticdc_emit.schema.nodes.Partitioning` nodes out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``PartitionOpt``, ``PartitionDefinition``).
"""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from ticdc_emit.schema.grammar.table_option import TableOptionGrammar
from ticdc_emit.schema.nodes import MAX_PARTITIONS, Expression, Partitioning, PartitionMethod

__all__ = ["PartitionGrammar"]

_PARTITION_METHODS: dict[str, PartitionMethod] = {
    "RANGE": "range",
    "LIST": "list",
    "HASH": "hash",
    "KEY": "key",
}


class PartitionGrammar(TableOptionGrammar):
    def _partition_by(self) -> Partitioning:
        """PARTITION BY has been consumed."""
        self._accept("LINEAR")
        word = self._accept_any(*_PARTITION_METHODS)
        if not word:
            self._fail("expected RANGE, LIST, HASH or KEY")
        if word == "KEY" and self._accept("ALGORITHM"):
            self._expect_symbol("=")
            self._integer()
        columns, expression = self._partition_key(by_columns=self._accept("COLUMNS") or word == "KEY")
        if self._accept("INTERVAL"):
            self._fail("INTERVAL partitioning is not understood; write the partitions out", self._prev)
        count = self._partition_count() if self._accept("PARTITIONS") else 0
        if self._accept("SUBPARTITION", "BY"):
            self._fail("TiDB has no subpartitions", self._prev)
        method = _PARTITION_METHODS[word]
        names = self._partition_definitions(method) if self._symbol_at("(") else ()
        if not names:
            if word in ("RANGE", "LIST"):
                self._fail("expected the partition definitions")
            names = tuple(f"p{number}" for number in range(count or 1))
        elif count and count != len(names):
            self._fail(f"PARTITIONS {count}, but {len(names)} are defined", self._prev)
        self._update_indexes()
        return Partitioning(method, names, columns, expression)

    def _partition_count(self) -> int:
        """Consume how many partitions there are to be; nothing is made of a count before it is checked."""
        count = self._integer("a number of partitions")
        if not count:
            self._fail("the number of partitions must not be 0", self._prev)
        if count > MAX_PARTITIONS:
            self._fail(f"more than {MAX_PARTITIONS} partitions", self._prev)
        return count

    def _partition_key(self, *, by_columns: bool) -> tuple[tuple[str, ...], Expression | None]:
        if not by_columns:
            return (), self._parenthesised()
        self._expect_symbol("(")
        columns = () if self._symbol_at(")") else self._names("a column name")
        self._expect_symbol(")")
        return columns, None

    def _update_indexes(self) -> None:
        if self._accept("UPDATE", "INDEXES"):
            self._skip_parentheses()

    def _partition_definitions(self, method: PartitionMethod = "") -> tuple[str, ...]:
        """Definitions in parentheses; ``method`` tells which VALUES clause they need, if it is known."""
        self._expect_symbol("(")
        names = [self._partition_definition(method)]
        while self._accept_symbol(","):
            names.append(self._partition_definition(method))
        self._expect_symbol(")")
        if len(names) > MAX_PARTITIONS:
            self._fail(f"more than {MAX_PARTITIONS} partitions", self._prev)
        return tuple(names)

    def _partition_definition(self, method: PartitionMethod) -> str:
        self._expect("PARTITION")
        name = self._name("a partition name")
        if method in ("", "range") and self._accept("VALUES", "LESS", "THAN"):
            if not self._accept("MAXVALUE"):
                self._parenthesised("values")
        elif method in ("", "list") and self._accept("VALUES", "IN"):
            self._parenthesised("values")
        elif not (method in ("", "list") and self._accept("DEFAULT")) and (
            method in ("range", "list") or self._word_at() == "VALUES"
        ):
            self._fail("expected the partition's VALUES")
        while self._partition_option():
            pass
        return name

    def _partition_option(self) -> bool:
        if self._accept_any("COMMENT", "NODEGROUP", "MAX_ROWS", "MIN_ROWS", "TABLESPACE", "ENGINE"):
            pass
        elif not (
            self._accept("STORAGE", "ENGINE")
            or self._accept("DATA", "DIRECTORY")
            or self._accept("INDEX", "DIRECTORY")
            or self._accept("PLACEMENT", "POLICY")
        ):
            return False
        self._accept_symbol("=")
        if self._curr.token_type is TokenType.NUMBER:
            self._advance()
        else:
            self._text_value()
        return True
