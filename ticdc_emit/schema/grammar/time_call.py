"""Calls of the functions of dates and times. Tokens in, the nodes of :mod:`~ticdc_emit.schema.nodes.calls` out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``FunctionCallNonKeyword``, ``TimestampUnit``).
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.cast import CastGrammar
from ticdc_emit.schema.nodes import calls
from ticdc_emit.schema.nodes.literals import Constant
from ticdc_emit.schema.nodes.style import Node

__all__ = ["TimeCallGrammar"]

_SIMPLE_UNITS = ("MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")


class TimeCallGrammar(CastGrammar):
    def _precise_time(self) -> Node:
        name = self._opened()
        arguments: tuple[Node, ...] = ()
        if self._curr.kind == "integer":
            arguments = (Constant("integer", str(self._integer())),)
        self._expect_symbol(")")
        return calls.Call(name, arguments)

    def _date_arithmetic(self) -> Node:
        several_forms = self._word_at() in ("ADDDATE", "SUBDATE")
        name = self._opened()
        moment = self._expression()
        self._expect_symbol(",")
        if self._word_at() == "INTERVAL" and not (several_forms and self._is_interval_call()):
            amount, unit = self._interval()
        elif several_forms:
            amount, unit = self._expression(), "DAY"
        else:
            self._fail("expected INTERVAL")
        self._expect_symbol(")")
        return calls.DateArithmetic(name, moment, amount, unit)

    def _extract(self) -> Node:
        name = self._opened()
        unit = calls.Word(self._time_unit())
        self._expect("FROM")
        return self._closed(name, unit, calls.Word("FROM"), self._expression())

    def _get_format(self) -> Node:
        name = self._opened()
        word = self._expect_any("DATE", "DATETIME", "TIME", "TIMESTAMP")
        self._expect_symbol(",")
        kind = calls.Word("DATETIME" if word == "TIMESTAMP" else word)
        arguments = (kind, self._expression())
        self._expect_symbol(")")
        return calls.Call(name, arguments)

    def _timestamp_call(self) -> Node:
        name = self._opened()
        unit = self._time_unit()
        if unit not in _SIMPLE_UNITS:
            self._fail("expected a simple time unit", self._prev)
        self._expect_symbol(",")
        arguments = self._expressions()
        if len(arguments) != 2:
            self._fail("expected two arguments after the unit", self._prev)
        self._expect_symbol(")")
        return calls.Call(name, (calls.Word(unit), *arguments))
