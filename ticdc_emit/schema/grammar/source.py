"""The sources of a SELECT. Tokens in, :class:`Source` and :class:`Join` nodes out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``TableRefs``, ``TableRef``, ``TableFactor``, ``JoinTable``). A join
with a condition extends its right side over all following joins; the condition then belongs to the innermost join
without one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from ticdc_emit.schema.grammar.call import CallGrammar
from ticdc_emit.schema.grammar.hint import read_hints
from ticdc_emit.schema.nodes.expressions import Default
from ticdc_emit.schema.nodes.joins import IndexHint, Join, Sample, Source, TableFactor, cross_join
from ticdc_emit.schema.nodes.style import Node
from ticdc_emit.schema.tokens import Token

__all__ = ["SourceGrammar"]


class SourceGrammar(CallGrammar):
    def _hints(self, token: Token) -> tuple[Node, ...]:
        return read_hints(token, self.sql)

    def _table_references(self) -> TableFactor:
        first = self._escaped_reference()
        tables: Join = first if isinstance(first, Join) else Join(first)
        length = 0
        while self._accept_symbol(","):
            tables = Join(tables, self._escaped_reference())
            length += 1
            self._check_chain(length)
        return tables

    def _escaped_reference(self) -> TableFactor:
        if not self._accept_symbol("{"):
            return self._table_reference()
        self._name("OJ")
        reference = self._table_reference()
        self._expect_symbol("}")
        return reference

    def _table_reference(self) -> TableFactor:
        self._enter()
        left = self._table_factor()
        for length in count():
            self._check_chain(length)
            if self._accept("JOIN") or self._accept("CROSS", "JOIN") or self._accept("INNER", "JOIN"):
                right = self._table_reference()
                joined = self._conditioned(Join(left, right))
                left = joined if joined is not None else cross_join(left, right)
            elif self._accept("STRAIGHT_JOIN"):
                join = Join(left, self._table_factor(), straight=True)
                left = self._conditioned(join) or join
            elif self._accept("NATURAL"):
                kind = self._outer()
                self._expect("JOIN")
                left = Join(left, self._table_factor(), kind, natural=True)
            elif kind := self._outer():
                self._expect("JOIN")
                outer = self._conditioned(Join(left, self._table_reference(), kind))
                if outer is None:
                    self._fail("expected ON or USING")
                left = outer
            else:
                break
        self._leave()
        return left

    def _outer(self) -> str:
        kind = self._accept_any("LEFT", "RIGHT")
        if kind:
            self._accept("OUTER")
        return kind

    def _conditioned(self, join: Join) -> Join | None:
        if self._accept("ON"):
            return replace(join, on=self._expression())
        return replace(join, using=self._columns()) if self._accept("USING") else None

    def _table_factor(self) -> TableFactor:
        if self._accept("LATERAL"):
            origin = self._subselect()
            alias = self._alias()
            if not alias:
                self._fail("expected the alias of a LATERAL table")
            columns = self._in_parentheses(lambda: self._names("a column name")) if self._symbol_at("(") else ()
            return Source(origin, alias, lateral=True, columns=columns)
        subquery = self._try_subselect()
        if subquery is not None:
            return Source(subquery, self._alias())
        if self._accept_symbol("("):
            tables = self._table_references()
            self._expect_symbol(")")
            assert isinstance(tables, Join)
            return replace(tables, in_parentheses=True)
        return self._named_source()

    def _named_source(self) -> Source:
        table = self._table_name()
        partitions: tuple[str, ...] = ()
        if self._accept("PARTITION"):
            partitions = self._in_parentheses(lambda: self._names("a partition"))
        alias = "" if self._at_words("AS", "OF") else self._alias()
        as_of = None
        if self._accept("AS", "OF"):
            self._expect("TIMESTAMP")
            as_of = self._expression()
        hints: list[IndexHint] = []
        while (hint := self._index_hint()) is not None:
            hints.append(hint)
        sample = self._sample() if self._accept("TABLESAMPLE") else None
        return Source(table, alias, partitions, as_of, tuple(hints), sample)

    def _alias(self) -> str:
        if self._accept("AS") or self._at_name():
            return self._name("an alias")
        return ""

    def _index_hint(self) -> IndexHint | None:
        if self._word_at(1) not in ("INDEX", "KEY"):
            return None
        word = self._accept_any("USE", "IGNORE", "FORCE")
        if not word:
            return None
        self._advance()
        scope = ""
        if self._accept("FOR"):
            scope = self._expect_any("JOIN", "ORDER", "GROUP")
            if scope != "JOIN":
                self._expect("BY")
                scope += " BY"
        self._expect_symbol("(")
        names = () if self._symbol_at(")") else self._list(self._index_name)
        self._expect_symbol(")")
        return IndexHint(word, scope, names)

    def _index_name(self) -> str:
        if self._at_words("PRIMARY"):
            name = self._curr.value
            self._advance()
            return name
        return self._name("an index")

    def _sample(self) -> Sample:
        method = self._accept_any("SYSTEM", "BERNOULLI", "REGIONS")
        self._expect_symbol("(")
        size, unit = None, ""
        if not self._symbol_at(")"):
            size = self._expression()
            unit = self._accept_any("ROWS", "PERCENT")
        self._expect_symbol(")")
        seed = self._in_parentheses(self._expression) if self._accept("REPEATABLE") else None
        return Sample("REGION" if method == "REGIONS" else method, size, unit, seed)

    def _default_or(self, rule: Callable[[], Node]) -> Node:
        if self._at_words("DEFAULT") and not self._symbol_at("(", 1):
            self._advance()
            return Default()
        return rule()
