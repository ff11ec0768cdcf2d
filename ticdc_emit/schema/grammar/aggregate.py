"""Aggregates and window functions. Tokens in, :class:`Aggregate` and :class:`WindowCall` nodes out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``SumExpr``, ``WindowFuncCall``, ``WindowSpec``).
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.expression import ExpressionGrammar
from ticdc_emit.schema.nodes.calls import Aggregate, Window, WindowCall
from ticdc_emit.schema.nodes.literals import Constant
from ticdc_emit.schema.nodes.queries import OrderBy, OrderItem
from ticdc_emit.schema.nodes.style import Node
from ticdc_emit.schema.nodes.windows import Frame, FrameBound

__all__ = ["AggregateGrammar"]

_WITH_DISTINCT = {
    "AVG": "AVG",
    "MAX": "MAX",
    "MIN": "MIN",
    "SUM": "SUM",
    "STD": "STDDEV_POP",
    "STDDEV": "STDDEV_POP",
    "STDDEV_POP": "STDDEV_POP",
    "STDDEV_SAMP": "",
    "VARIANCE": "VAR_POP",
    "VAR_POP": "VAR_POP",
    "VAR_SAMP": "",
}
_WITH_ALL = ("BIT_AND", "BIT_OR", "BIT_XOR", "JSON_ARRAYAGG")
_NO_ARGUMENT = ("ROW_NUMBER", "RANK", "DENSE_RANK", "CUME_DIST", "PERCENT_RANK")
_WINDOWED = (*_NO_ARGUMENT, "NTILE", "LEAD", "LAG", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE")
_KEYWORDS_AS_CALLS = ("AVG", "JSON_ARRAYAGG", "JSON_OBJECTAGG", *_WINDOWED)


class AggregateGrammar(ExpressionGrammar):
    def _aggregate(self) -> Node | None:
        """Consume an aggregate or window function if one follows; its parenthesis is the next token."""
        name = self._curr.text
        if self._curr.kind != "call" and name not in _KEYWORDS_AS_CALLS:
            return None
        if name in _WINDOWED:
            return self._window_function(name)
        shown = self._curr.value
        if name in ("APPROX_COUNT_DISTINCT", "APPROX_PERCENTILE"):
            self._advance()
            return Aggregate(shown, self._parenthesised_expressions())
        if name in _WITH_DISTINCT:
            self._advance(2)
            distinct = self._distinct()
            return self._summed(_WITH_DISTINCT[name] or shown, (self._expression(),), distinct=distinct)
        if name in _WITH_ALL:
            self._advance(2)
            self._accept("ALL")
            return self._summed(shown, (self._expression(),))
        if name == "JSON_OBJECTAGG":
            self._advance(2)
            self._accept("ALL")
            key = self._expression()
            self._expect_symbol(",")
            self._accept("ALL")
            return self._summed(shown, (key, self._expression()))
        if name == "COUNT":
            return self._count(shown)
        return self._group_concat(shown) if name == "GROUP_CONCAT" else None

    def _distinct(self) -> bool:
        """DISTINCT, ALL or neither; DISTINCT ALL is DISTINCT."""
        if self._accept_any("DISTINCT", "DISTINCTROW"):
            self._accept("ALL")
            return True
        self._accept("ALL")
        return False

    def _summed(self, name: str, arguments: tuple[Node, ...], *, distinct: bool = False) -> Node:
        self._expect_symbol(")")
        if self._word_at() == "OVER":
            return WindowCall(name, arguments, self._over(), distinct)
        return Aggregate(name, arguments, distinct)

    def _count(self, shown: str) -> Node:
        self._advance(2)
        if self._accept_any("DISTINCT", "DISTINCTROW"):
            arguments = self._expressions()
            self._expect_symbol(")")
            return Aggregate(shown, arguments, distinct=True)
        if self._accept_symbol("*"):
            return self._summed(shown, (Constant("integer", "1"),))
        self._accept("ALL")
        return self._summed(shown, (self._expression(),))

    def _group_concat(self, shown: str) -> Node:
        self._advance(2)
        distinct = self._distinct()
        arguments = self._expressions()
        order = self._order_by()
        separator = Constant("string", self._string() if self._accept("SEPARATOR") else ",")
        self._expect_symbol(")")
        if self._word_at() == "OVER":
            return WindowCall(shown, (*arguments, separator), self._over(), distinct)
        return Aggregate(shown, arguments, distinct, order, separator)

    # -- windows -------------------------------------------------------------------------------------------------

    def _window_function(self, name: str) -> Node:
        shown = self._curr.value
        self._advance(2)
        arguments: tuple[Node, ...] = ()
        if name == "NTILE":
            arguments = (self._simple(),)
        elif name not in _NO_ARGUMENT:
            arguments = (self._expression(),)
        if name in ("LEAD", "LAG") and self._accept_symbol(","):
            offset = self._number()
            if offset is None:
                self._fail("expected a number")
            arguments += (offset, self._expression()) if self._accept_symbol(",") else (offset,)
        elif name == "NTH_VALUE":
            self._expect_symbol(",")
            arguments += (self._simple(),)
        self._expect_symbol(")")
        from_last = name == "NTH_VALUE" and self._accept("FROM") and self._expect_any("FIRST", "LAST") == "LAST"
        ignore_nulls = False
        if name in ("LEAD", "LAG", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"):
            ignore_nulls = self._accept("IGNORE", "NULLS")
            if not ignore_nulls:
                self._accept("RESPECT", "NULLS")
        return WindowCall(shown, arguments, self._over(), False, from_last, ignore_nulls)

    def _over(self) -> Window:
        self._expect("OVER")
        if self._symbol_at("("):
            return self._window("")
        return Window(self._name("a window"), only_name=True)

    def _window(self, name: str) -> Window:
        self._expect_symbol("(")
        based_on = ""
        if not self._at_words("PARTITION") and self._at_name() and self._word_at() not in ("ROWS", "RANGE", "GROUPS"):
            based_on = self._name()
        partition_by: tuple[OrderItem, ...] = ()
        if self._accept("PARTITION", "BY"):
            partition_by = self._list(self._order_item)
        order = self._order_by()
        frame = self._frame()
        self._expect_symbol(")")
        return Window(name, False, based_on, partition_by, order, frame)

    def _frame(self) -> Frame | None:
        unit = self._accept_any("ROWS", "RANGE")
        if not unit:
            return None
        if self._accept("BETWEEN"):
            start = self._frame_bound()
            self._expect("AND")
            return Frame(unit, start, self._frame_bound())
        return Frame(unit, self._frame_bound(), FrameBound("CURRENT ROW"))

    def _frame_bound(self) -> FrameBound:
        if self._accept("CURRENT", "ROW"):
            return FrameBound("CURRENT ROW")
        if self._accept("UNBOUNDED"):
            return FrameBound("UNBOUNDED " + self._expect_any("PRECEDING", "FOLLOWING"))
        if self._word_at() == "INTERVAL":
            amount, unit = self._interval()
            return FrameBound(self._expect_any("PRECEDING", "FOLLOWING"), amount, unit)
        amount_or_none = self._number()
        if amount_or_none is None:
            self._fail("expected the bound of a window's frame")
        return FrameBound(self._expect_any("PRECEDING", "FOLLOWING"), amount_or_none)

    # -- the order, of windows and of queries --------------------------------------------------------------------

    def _order_by(self) -> OrderBy | None:
        return OrderBy(self._list(self._order_item)) if self._accept("ORDER", "BY") else None

    def _order_item(self) -> OrderItem:
        value = self._expression()
        return OrderItem(value, self._accept_any("ASC", "DESC") == "DESC")
