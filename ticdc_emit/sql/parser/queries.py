"""Queries: optimizer hints, the tables after FROM, SELECT, set operations.

Rule source: pingcap/tidb ``pkg/parser/parser.y``, ``pkg/parser/hintparser.y``. A hint that is not in the tables below
is an error, also one of indexes or of another query block: TiDB drops it with a warning, or prints it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

from ticdc_emit.errors import DdlError
from ticdc_emit.sql import nodes
from ticdc_emit.sql.lexer import SqlMode, Token, scan
from ticdc_emit.sql.parser.base import TokenCursor
from ticdc_emit.sql.parser.functions import CallGrammar

_OF_TABLES = frozenset(
    """
    TIDB_HJ TIDB_SMJ TIDB_INLJ HASH_JOIN HASH_JOIN_BUILD HASH_JOIN_PROBE MERGE_JOIN INL_JOIN BROADCAST_JOIN
    SHUFFLE_JOIN INL_HASH_JOIN INL_MERGE_JOIN NO_HASH_JOIN NO_MERGE_JOIN NO_INDEX_JOIN NO_INDEX_HASH_JOIN
    NO_INDEX_MERGE_JOIN
    """.split()  # noqa: SIM905 (a table of words)
)
_OF_NOTHING = frozenset(
    """
    MPP_1PHASE_AGG MPP_2PHASE_AGG HASH_AGG STREAM_AGG AGG_TO_COP READ_CONSISTENT_REPLICA NO_INDEX_MERGE
    IGNORE_PLAN_CACHE USE_PLAN_CACHE LIMIT_TO_COP STRAIGHT_JOIN MERGE NO_DECORRELATE
    """.split()  # noqa: SIM905 (a table of words)
)
_OPTIONS = (
    "HIGH_PRIORITY",
    "LOW_PRIORITY",
    "DELAYED",
    "SQL_SMALL_RESULT",
    "SQL_BIG_RESULT",
    "SQL_BUFFER_RESULT",
    "SQL_NO_CACHE",
    "SQL_CALC_FOUND_ROWS",
)
_DISTINCT = {"DISTINCT": "DISTINCT", "DISTINCTROW": "DISTINCT", "ALL": "ALL"}
QUERY_WORDS = ("SELECT", "TABLE", "VALUES", "WITH")


class _HintGrammar(TokenCursor):
    def hints(self) -> tuple[nodes.Hint, ...]:
        hints: list[nodes.Hint] = []
        while not self._at_end:
            hints.append(self._hint())
            self._accept_symbol(",")
        return tuple(hints)

    def _hint(self) -> nodes.Hint:
        name = self._curr.value
        word = self._any_word("a hint")
        if word not in _OF_TABLES | _OF_NOTHING:
            self._fail("this optimizer hint is not understood", self._prev)
        tables = self._members(self._table_name)
        if tables and word in _OF_NOTHING:
            self._fail("this optimizer hint takes nothing", self._prev)
        return nodes.Hint(name, tables)


class QueryGrammar(CallGrammar):
    # -- tables after FROM ----------------------------------------------------------------------------------------

    def _table_references(self) -> nodes.TableFactor:
        first = self._table_reference()
        tables: nodes.Join = first if isinstance(first, nodes.Join) else nodes.Join(first)
        length = 0
        while self._accept_symbol(","):
            tables = nodes.Join(tables, self._table_reference())
            length += 1
            self._check_chain(length)
        return tables

    def _table_reference(self) -> nodes.TableFactor:
        self._enter()
        left = self._table_factor()
        for length in count():
            self._check_chain(length)
            if self._accept("JOIN") or self._accept("CROSS", "JOIN") or self._accept("INNER", "JOIN"):
                right = self._table_reference()
                joined = self._conditioned(nodes.Join(left, right))
                left = joined if joined is not None else nodes.cross_join(left, right)
            elif self._accept("STRAIGHT_JOIN"):
                join = nodes.Join(left, self._table_factor(), straight=True)
                left = self._conditioned(join) or join
            elif self._accept("NATURAL"):
                kind = self._outer()
                self._expect("JOIN")
                left = nodes.Join(left, self._table_factor(), kind, natural=True)
            elif kind := self._outer():
                self._expect("JOIN")
                outer = self._conditioned(nodes.Join(left, self._table_reference(), kind))
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

    def _conditioned(self, join: nodes.Join) -> nodes.Join | None:
        if self._accept("ON"):
            return replace(join, on=self._expression())
        return replace(join, using=self._columns()) if self._accept("USING") else None

    def _table_factor(self) -> nodes.TableFactor:
        subquery = self._try_subselect()
        if subquery is not None:
            return nodes.Source(subquery, self._alias())
        if self._accept_symbol("("):
            tables = self._table_references()
            self._expect_symbol(")")
            assert isinstance(tables, nodes.Join)
            return replace(tables, in_parentheses=True)
        return self._named_source()

    def _named_source(self) -> nodes.Source:
        table = self._table_name()
        partitions = self._partition_list()
        alias = "" if self._at_words("AS", "OF") else self._alias()
        as_of = None
        if self._accept("AS", "OF"):
            self._expect("TIMESTAMP")
            as_of = self._expression()
        hints: list[nodes.IndexHint] = []
        while (hint := self._index_hint()) is not None:
            hints.append(hint)
        sample = self._sample() if self._accept("TABLESAMPLE") else None
        return nodes.Source(table, alias, partitions, as_of, tuple(hints), sample)

    def _alias(self) -> str:
        if self._accept("AS") or self._at_name():
            return self._name("an alias")
        return ""

    def _index_hint(self) -> nodes.IndexHint | None:
        if self._word_at(1) not in ("INDEX", "KEY"):
            return None
        word = self._accept_any("USE", "IGNORE", "FORCE")
        if not word:
            return None
        self._advance()
        return nodes.IndexHint(word, self._members(self._index_name))

    def _index_name(self) -> str:
        if self._at_words("PRIMARY"):
            name = self._curr.value
            self._advance()
            return name
        return self._name("an index")

    def _sample(self) -> nodes.Sample:
        method = self._accept_any("SYSTEM", "BERNOULLI", "REGIONS")
        self._expect_symbol("(")
        size, unit = None, ""
        if not self._symbol_at(")"):
            size = self._expression()
            unit = self._accept_any("ROWS", "PERCENT")
        self._expect_symbol(")")
        seed = self._in_parentheses(self._expression) if self._accept("REPEATABLE") else None
        return nodes.Sample("REGION" if method == "REGIONS" else method, size, unit, seed)

    def _row_value(self) -> tuple[nodes.Node, ...]:
        return self._members(lambda: self._default_or(self._expression))

    def _default_or(self, rule: Callable[[], nodes.Node]) -> nodes.Node:
        if self._at_words("DEFAULT") and not self._symbol_at("(", 1):
            self._advance()
            return nodes.Default()
        return rule()

    # -- SELECT, TABLE and VALUES ---------------------------------------------------------------------------------

    def _simple_query(self) -> nodes.Query:
        if self._accept("TABLE"):
            table = self._table_name()
            return nodes.TableQuery(self._tail(), table=table)
        if self._accept("VALUES"):
            rows = self._list(self._values_row)
            return nodes.ValuesQuery(self._tail(), rows=rows)
        if not self._accept("SELECT"):
            self._fail("expected SELECT")
        return self._select()

    def _values_row(self) -> nodes.Row:
        self._expect("ROW")
        return nodes.Row(self._row_value())

    def _select(self) -> nodes.Query:
        options, hints, modifiers = self._select_options()
        fields = self._list(self._field)
        having = self._expression() if self._accept("HAVING") else None
        tables = self._table_references() if self._accept("FROM") and not self._accept("DUAL") else None
        where = self._expression() if self._accept("WHERE") else None
        group_by: tuple[nodes.OrderItem, ...] = ()
        rollup = False
        if self._accept("GROUP", "BY"):
            group_by = self._list(self._order_item)
            rollup = self._accept("WITH", "ROLLUP")
        if having is None and tables is not None and self._accept("HAVING"):
            having = self._expression()
        windows: tuple[nodes.Window, ...] = ()
        if tables is not None and self._accept("WINDOW"):
            windows = self._list(self._window_definition)
        return nodes.Select(
            self._tail(),
            fields=fields,
            options=options,
            hints=hints,
            modifiers=modifiers,
            tables=tables,
            where=where,
            group_by=group_by,
            rollup=rollup,
            having=having,
            windows=windows,
        )

    def _window_definition(self) -> nodes.Window:
        name = self._name("a window")
        self._expect("AS")
        return self._window(name)

    def _select_options(self) -> tuple[tuple[str, ...], tuple[nodes.Node, ...], tuple[str, ...]]:
        words: set[str] = set()
        hints: tuple[nodes.Node, ...] = ()
        while True:
            if self._curr.kind == "hint":
                hints = self._hints(self._curr)
                self._advance()
            elif word := self._accept_any(*_OPTIONS, *_DISTINCT, "STRAIGHT_JOIN", "SQL_CACHE"):
                words.add(_DISTINCT.get(word, word))
            else:
                break
        if words >= {"DISTINCT", "ALL"}:
            self._fail("expected either DISTINCT or ALL", self._prev)
        options = tuple(option for option in _OPTIONS if option in words)
        return options, hints, tuple(word for word in ("DISTINCT", "ALL", "STRAIGHT_JOIN") if word in words)

    def _hints(self, token: Token) -> tuple[nodes.Hint, ...]:
        try:
            return _HintGrammar(token.value, scan(token.value, SqlMode()), SqlMode()).hints()
        except DdlError as error:
            raise DdlError(error.message, statement=self.sql, position=token.start, remedy=error.remedy) from None

    def _field(self) -> nodes.Field:
        start = self._curr.start
        if self._accept_symbol("*"):
            return nodes.Field(nodes.WildCard(), "", start, self._prev.end)
        for parts in (1, 2):
            if self._symbol_at("*", 2 * parts) and all(self._symbol_at(".", 2 * n + 1) for n in range(parts)):
                qualifier = [self._name()]
                while self._accept_symbol(".") and not self._accept_symbol("*"):
                    qualifier.append(self._name())
                return nodes.Field(nodes.WildCard(tuple(qualifier)), "", start, self._prev.end)
        value = self._expression()
        end = self._prev.end
        alias = ""
        if self._accept("AS") or self._curr.kind == "string" or self._at_name():
            alias = self._name_or_string("an alias")
        return nodes.Field(value, alias, start, end)

    # -- what ends a query -----------------------------------------------------------------------------------

    def _order_and_limit(self) -> nodes.Tail:
        return nodes.Tail(self._order_by(), self._limit())

    def _tail(self) -> nodes.Tail:
        tail = nodes.Tail(self._order_by(), self._limit(), self._lock())
        if self._word_at() == "INTO":
            self._fail("INTO is not understood")
        return tail

    def _limit(self) -> nodes.Limit | None:
        if self._accept("LIMIT"):
            first = self._limit_number()
            if self._accept_symbol(","):
                return nodes.Limit(self._limit_number(), first)
            return nodes.Limit(first, self._limit_number()) if self._accept("OFFSET") else nodes.Limit(first)
        return None

    def _limit_number(self) -> nodes.Node:
        return nodes.Constant("integer", str(self._integer("a number of rows")))

    def _lock(self) -> nodes.Lock | None:
        if self._accept("LOCK", "IN", "SHARE", "MODE"):
            return nodes.Lock("FOR SHARE")
        if not self._accept("FOR"):
            return None
        word = self._expect_any("UPDATE", "SHARE")
        tables = self._list(self._table_name) if self._accept("OF") else ()
        wait = self._accept_any("NOWAIT")
        if self._accept("SKIP", "LOCKED"):
            wait = "SKIP LOCKED"
        elif word == "UPDATE" and self._accept("WAIT"):
            wait = f"WAIT {self._integer()}"
        return nodes.Lock(f"FOR {word}", tables, wait)

    # -- set operations, WITH, parentheses ------------------------------------------------------------------------

    def _query(self) -> nodes.Query:
        start = self._index
        subquery = self._try_subselect() if self._symbol_at("(") else None
        if subquery is None:
            return self._bare_query()
        if self._set_operator_at() or self._word_at() in ("ORDER", "LIMIT"):
            self._retreat(start)
            return self._bare_query()
        return replace(_query_of(subquery), in_parentheses=True)

    def _bare_query(self) -> nodes.Query:
        common = self._with()
        if not self._symbol_at("("):
            first: nodes.Query | nodes.Subquery = self._simple_query()
        else:
            first = self._subselect()
        if isinstance(first, nodes.Query) and not self._set_operator_at():
            return replace(first, common=common) if common is not None else first
        if isinstance(first, nodes.Subquery) and not self._set_operator_at():
            tail = self._order_and_limit()
            query = _query_of(first)
            if tail == nodes.Tail():
                inside = isinstance(query, nodes.SetOperation)
                return replace(query, common=common, in_parentheses=True, common_inside=inside)
            return nodes.SetOperation(tail, common, clauses=(_clause(first, "", last=True),))
        return self._set_operation(first, common)

    def _set_operation(self, first: nodes.Query | nodes.Subquery, common: nodes.With | None) -> nodes.Query:
        clauses: list[nodes.SetClause] = []
        current, operator, tail = first, "", nodes.Tail()
        while following := self._set_operator():
            clauses.append(_clause(current, operator, last=False))
            current = self._subselect() if self._symbol_at("(") else self._simple_query()
            operator = following
        if isinstance(current, nodes.Query):
            tail = nodes.Tail(current.tail.order, current.tail.limit)
            current = replace(current, tail=nodes.Tail(lock=current.tail.lock))
        else:
            tail = self._order_and_limit()
        clauses.append(_clause(current, operator, last=True))
        return nodes.SetOperation(tail, common, clauses=tuple(clauses))

    def _set_operator_at(self) -> bool:
        return self._word_at() in ("UNION", "EXCEPT", "INTERSECT")

    def _set_operator(self) -> str:
        word = self._accept_any("UNION", "EXCEPT", "INTERSECT")
        if word and self._accept_any("ALL", "DISTINCT", "DISTINCTROW") == "ALL":
            return word + " ALL"
        return word

    def _with(self) -> nodes.With | None:
        if not self._accept("WITH"):
            return None
        recursive = self._accept("RECURSIVE")
        return nodes.With(self._list(lambda: self._read(nodes.CommonTable)), recursive)

    # -- subqueries ------------------------------------------------------------------------------------------

    def _subselect(self) -> nodes.Subquery:
        query = self._try_subselect()
        if query is None:
            self._fail("expected (SELECT")
        return query

    def _try_scalar_subselect(self) -> nodes.Subquery | None:
        start = self._index
        query = self._try_subselect()
        if query is not None and start in self._doubled:
            self._retreat(start)
            return None
        return query

    def _try_subselect(self) -> nodes.Subquery | None:
        """Consume a query in parentheses, if there is one; each position is parsed once, however deeply nested."""
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

    def _read_subselect(self) -> nodes.Subquery | None:
        outer = self._index
        self._advance()
        word = self._word_at()
        if word in QUERY_WORDS and not (word == "VALUES" and self._symbol_at("(", 1)):
            query = self._bare_query()
            self._expect_symbol(")")
            return nodes.Subquery(query)
        start = self._index
        inner = self._try_subselect()
        if inner is None:
            return None
        if self._accept_symbol(")"):
            self._doubled.add(outer)
            return inner
        if not (self._set_operator_at() or self._word_at() in ("ORDER", "LIMIT")):
            return None
        self._retreat(start)
        query = self._bare_query()
        self._expect_symbol(")")
        return nodes.Subquery(query)

    _KINDS: ClassVar[dict[str, Callable[[Any], Any]]] = {
        "names": lambda self: self._names("a column name"),
        "subquery": _subselect,
    }


def _query_of(subquery: nodes.Subquery) -> nodes.Query:
    assert isinstance(subquery.query, nodes.Query)
    return subquery.query


def _clause(query: nodes.Query | nodes.Subquery, operator: str, *, last: bool) -> nodes.SetClause:
    if isinstance(query, nodes.Query):
        return nodes.SetClause((query,), operator)
    inner = _query_of(query)
    if isinstance(inner, nodes.SetOperation):
        return nodes.SetClause(inner.clauses, operator, True, inner.common, inner.tail)
    return nodes.SetClause((inner,), operator, True, inner.common if last else None)
