"""One SELECT, TABLE or VALUES. Tokens in, one :class:`Query` node out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``SelectStmt`` and its clauses).
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.source import SourceGrammar
from ticdc_emit.schema.nodes.calls import Window
from ticdc_emit.schema.nodes.expressions import Row
from ticdc_emit.schema.nodes.literals import Constant
from ticdc_emit.schema.nodes.queries import (
    Field,
    Limit,
    Lock,
    OrderItem,
    Query,
    Select,
    TableQuery,
    Tail,
    ValuesQuery,
    WildCard,
)
from ticdc_emit.schema.nodes.style import Node

__all__ = ["SelectGrammar"]

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


class SelectGrammar(SourceGrammar):
    def _simple_query(self) -> Query:
        if self._accept("TABLE"):
            table = self._table_name()
            return TableQuery(self._tail(), table=table)
        if self._accept("VALUES"):
            rows = self._list(self._values_row)
            return ValuesQuery(self._tail(), rows=rows)
        if not self._accept("SELECT"):
            self._fail("expected SELECT")
        return self._select()

    def _values_row(self) -> Row:
        self._expect("ROW")
        self._expect_symbol("(")
        if self._accept_symbol(")"):
            return Row(())
        members = self._list(lambda: self._default_or(self._expression))
        self._expect_symbol(")")
        return Row(members)

    def _select(self) -> Query:
        """SELECT has been consumed."""
        options, hints, modifiers = self._select_options()
        fields = self._list(self._field)
        having = self._expression() if self._accept("HAVING") else None
        tables = self._table_references() if self._accept_from() else None
        where = self._expression() if self._accept("WHERE") else None
        group_by: tuple[OrderItem, ...] = ()
        rollup = False
        if self._accept("GROUP", "BY"):
            group_by = self._list(self._order_item)
            rollup = self._accept("WITH", "ROLLUP")
        if having is None and tables is not None and self._accept("HAVING"):
            having = self._expression()
        windows: tuple[Window, ...] = ()
        if tables is not None and self._accept("WINDOW"):
            windows = self._list(self._window_definition)
        return Select(
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

    def _accept_from(self) -> bool:
        """Consume FROM; the table DUAL means no table."""
        if not self._accept("FROM"):
            return False
        return not self._accept("DUAL")

    def _window_definition(self) -> Window:
        name = self._name("a window")
        self._expect("AS")
        return self._window(name)

    def _select_options(self) -> tuple[tuple[str, ...], tuple[Node, ...], tuple[str, ...]]:
        words: set[str] = set()
        hints: tuple[Node, ...] = ()
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

    def _field(self) -> Field:
        start = self._curr.start
        if self._accept_symbol("*"):
            return Field(WildCard(), "", start, self._prev.end)
        for parts in (1, 2):
            if self._symbol_at("*", 2 * parts) and all(self._symbol_at(".", 2 * n + 1) for n in range(parts)):
                qualifier = [self._name()]
                while self._accept_symbol(".") and not self._accept_symbol("*"):
                    qualifier.append(self._name())
                return Field(WildCard(tuple(qualifier)), "", start, self._prev.end)
        value = self._expression()
        end = self._prev.end
        alias = ""
        if self._accept("AS") or self._curr.kind == "string" or self._at_name():
            alias = self._name_or_string("an alias")
        return Field(value, alias, start, end)

    # -- what ends a query ---------------------------------------------------------------------------------------

    def _order_and_limit(self) -> Tail:
        return Tail(self._order_by(), self._limit())

    def _tail(self) -> Tail:
        tail = Tail(self._order_by(), self._limit(), self._lock())
        if self._word_at() == "INTO":
            self._fail("INTO is not understood")
        return tail

    def _limit(self) -> Limit | None:
        if self._accept("LIMIT"):
            first = self._limit_number()
            if self._accept_symbol(","):
                return Limit(self._limit_number(), first)
            return Limit(first, self._limit_number()) if self._accept("OFFSET") else Limit(first)
        if self._accept("FETCH"):
            self._expect_any("FIRST", "NEXT")
            count: Node = Constant("integer", "1") if self._word_at() in ("ROW", "ROWS") else self._limit_number()
            self._expect_any("ROW", "ROWS")
            self._expect("ONLY")
            return Limit(count)
        return None

    def _limit_number(self) -> Node:
        return Constant("integer", str(self._integer("a number of rows")))

    def _lock(self) -> Lock | None:
        if self._accept("LOCK", "IN", "SHARE", "MODE"):
            return Lock("FOR SHARE")
        if not self._accept("FOR"):
            return None
        word = self._expect_any("UPDATE", "SHARE")
        tables = self._list(self._table_name) if self._accept("OF") else ()
        if self._accept("NOWAIT"):
            return Lock(f"FOR {word}", tables, "NOWAIT")
        if self._accept("SKIP"):
            self._expect("LOCKED")
            return Lock(f"FOR {word}", tables, "SKIP LOCKED")
        if word == "UPDATE" and self._accept("WAIT"):
            return Lock(f"FOR {word}", tables, f"WAIT {self._integer()}")
        return Lock(f"FOR {word}", tables)
