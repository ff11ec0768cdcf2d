"""SELECT, TABLE, VALUES, WITH and set operations. Tokens in, the nodes of :mod:`~ticdc_emit.schema.nodes.queries` out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``SelectStmt``, ``SetOprStmt``, ``SelectStmtWithClause``,
``SubSelect``). TiDB's tree of a set operation is kept with its oddities: the ORDER BY of a last query without
parentheses belongs to the whole, and a WITH inside the parentheses of the last one prints twice.
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.schema.grammar.select import SelectGrammar
from ticdc_emit.schema.nodes.expressions import Subquery
from ticdc_emit.schema.nodes.queries import (
    CommonTable,
    Query,
    SetClause,
    SetOperation,
    Tail,
    With,
)

__all__ = ["QueryGrammar"]

_QUERY_WORDS = ("SELECT", "TABLE", "VALUES", "WITH")


class QueryGrammar(SelectGrammar):
    def _query(self) -> Query:
        """A query of a statement, perhaps in parentheses as a whole."""
        start = self._index
        subquery = self._try_subselect() if self._symbol_at("(") else None
        if subquery is None:
            return self._bare_query()
        if self._set_operator_at() or self._word_at() in ("ORDER", "LIMIT", "FETCH"):
            self._retreat(start)
            return self._bare_query()
        return replace(_query_of(subquery), in_parentheses=True)

    def _bare_query(self) -> Query:
        common = self._with()
        if not self._symbol_at("("):
            first: Query | Subquery = self._simple_query()
        else:
            first = self._subselect()
        if isinstance(first, Query) and not self._set_operator_at():
            return replace(first, common=common) if common is not None else first
        if isinstance(first, Subquery) and not self._set_operator_at():
            tail = self._order_and_limit()
            query = _query_of(first)
            if tail == Tail():
                inside = isinstance(query, SetOperation)
                return replace(query, common=common, in_parentheses=True, common_inside=inside)
            return SetOperation(tail, common, clauses=(_clause(first, "", last=True),))
        return self._set_operation(first, common)

    def _set_operation(self, first: Query | Subquery, common: With | None) -> Query:
        clauses: list[SetClause] = []
        current, operator, tail = first, "", Tail()
        while following := self._set_operator():
            clauses.append(_clause(current, operator, last=False))
            current = self._subselect() if self._symbol_at("(") else self._simple_query()
            operator = following
        if isinstance(current, Query):
            tail = Tail(current.tail.order, current.tail.limit)
            current = replace(current, tail=Tail(lock=current.tail.lock))
        else:
            tail = self._order_and_limit()
        clauses.append(_clause(current, operator, last=True))
        return SetOperation(tail, common, clauses=tuple(clauses))

    def _set_operator_at(self) -> bool:
        return self._word_at() in ("UNION", "EXCEPT", "INTERSECT")

    def _set_operator(self) -> str:
        word = self._accept_any("UNION", "EXCEPT", "INTERSECT")
        if word and self._accept_any("ALL", "DISTINCT", "DISTINCTROW") == "ALL":
            return word + " ALL"
        return word

    def _with(self) -> With | None:
        if not self._accept("WITH"):
            return None
        recursive = self._accept("RECURSIVE")
        return With(self._list(self._common_table), recursive)

    def _common_table(self) -> CommonTable:
        name = self._name("a name")
        columns = self._in_parentheses(lambda: self._names("a column name")) if self._symbol_at("(") else ()
        self._expect("AS")
        return CommonTable(name, columns, self._subselect())

    # -- subqueries ----------------------------------------------------------------------------------------------

    def _subselect(self) -> Subquery:
        query = self._try_subselect()
        if query is None:
            self._fail("expected (SELECT")
        return query

    def _try_scalar_subselect(self) -> Subquery | None:
        """Like ``_try_subselect``, where an expression is possible too; there, parentheses around a subquery are
        kept.
        """
        start = self._index
        query = self._try_subselect()
        if query is not None and start in self._doubled:
            self._retreat(start)
            return None
        return query

    def _try_subselect(self) -> Subquery | None:
        """Consume a query in parentheses if there is one here. Each position is parsed once, however deeply it is
        nested.
        """
        start = self._index
        if not self._symbol_at("("):
            return None
        if start in self._subselects:
            known = self._subselects[start]
            if known is not None:
                self._retreat(known[1])
            return known[0] if known is not None else None
        self._enter()
        subquery = self._read_subselect()
        self._leave()
        self._subselects[start] = (subquery, self._index) if subquery is not None else None
        if subquery is None:
            self._retreat(start)
        return subquery

    def _read_subselect(self) -> Subquery | None:
        outer = self._index
        self._advance()
        word = self._word_at()
        if word in _QUERY_WORDS and not (word == "VALUES" and self._symbol_at("(", 1)):
            query = self._bare_query()
            self._expect_symbol(")")
            return Subquery(query)
        start = self._index
        inner = self._try_subselect()
        if inner is None:
            return None
        if self._accept_symbol(")"):
            self._doubled.add(outer)
            return inner
        if not (self._set_operator_at() or self._word_at() in ("ORDER", "LIMIT", "FETCH")):
            return None
        self._retreat(start)
        query = self._bare_query()
        self._expect_symbol(")")
        return Subquery(query)


def _query_of(subquery: Subquery) -> Query:
    assert isinstance(subquery.query, Query)
    return subquery.query


def _clause(query: Query | Subquery, operator: str, *, last: bool) -> SetClause:
    if isinstance(query, Query):
        return SetClause((query,), operator)
    inner = _query_of(query)
    if isinstance(inner, SetOperation):
        return SetClause(inner.clauses, operator, True, inner.common, inner.tail)
    return SetClause((inner,), operator, True, inner.common if last else None)
