"""Function calls. Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``SumExpr``, ``FunctionCallKeyword`` ...)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from ticdc_emit.sql import nodes
from ticdc_emit.sql.parser.expressions import ExpressionGrammar
from ticdc_emit.sql.words import RESERVED_WORDS, UNRESERVED_WORDS

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
_MAX_FLOAT_PRECISION, _MAX_DOUBLE_PRECISION = 24, 53
_DEFAULT_DECIMAL = 10
_SIMPLE_UNITS = ("MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_WITHOUT_RULES = frozenset(
    """
    ASCII CHARSET COALESCE COLLATION DATE DATABASE SCHEMA DAY HOUR IF INTERVAL LOG FORMAT LEFT MICROSECOND MINUTE MONTH
    PASSWORD POINT QUARTER REPEAT REPLACE REVERSE RIGHT ROW_COUNT SECOND TIME TIMESTAMP TRUNCATE USER WEEK YEAR COMPRESS
    """.split()  # noqa: SIM905 (a table of words)
)
_MAYBE_PARENTHESES = ("CURRENT_USER", "CURRENT_DATE", "CURRENT_ROLE", "UTC_DATE", "TIDB_CURRENT_TSO")
_MAYBE_PRECISION = ("CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "UTC_TIME", "UTC_TIMESTAMP")
_RENAMED = {"INSERT": "INSERT_FUNC"}


class CallGrammar(ExpressionGrammar):
    # -- aggregates and window functions --------------------------------------------------------------------------

    def _aggregate(self) -> nodes.Node | None:
        name = self._curr.text
        if self._curr.kind != "call" and name not in _KEYWORDS_AS_CALLS:
            return None
        if name in _WINDOWED:
            return self._window_function(name)
        shown = self._curr.value
        if name in ("APPROX_COUNT_DISTINCT", "APPROX_PERCENTILE"):
            self._advance()
            return nodes.Aggregate(shown, self._parenthesised_expressions())
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
        if self._accept_any("DISTINCT", "DISTINCTROW"):
            self._accept("ALL")
            return True
        self._accept("ALL")
        return False

    def _summed(self, name: str, arguments: tuple[nodes.Node, ...], *, distinct: bool = False) -> nodes.Node:
        self._expect_symbol(")")
        if self._word_at() == "OVER":
            return nodes.WindowCall(name, arguments, self._over(), distinct)
        return nodes.Aggregate(name, arguments, distinct)

    def _count(self, shown: str) -> nodes.Node:
        self._advance(2)
        if self._accept_any("DISTINCT", "DISTINCTROW"):
            arguments = self._expressions()
            self._expect_symbol(")")
            return nodes.Aggregate(shown, arguments, distinct=True)
        if self._accept_symbol("*"):
            return self._summed(shown, (nodes.Constant("integer", "1"),))
        self._accept("ALL")
        return self._summed(shown, (self._expression(),))

    def _group_concat(self, shown: str) -> nodes.Node:
        self._advance(2)
        distinct = self._distinct()
        arguments = self._expressions()
        order = self._order_by()
        separator = nodes.Constant("string", self._string() if self._accept("SEPARATOR") else ",")
        self._expect_symbol(")")
        if self._word_at() == "OVER":
            return nodes.WindowCall(shown, (*arguments, separator), self._over(), distinct)
        return nodes.Aggregate(shown, arguments, distinct, order, separator)

    # -- windows ---------------------------------------------------------------------------------------------

    def _window_function(self, name: str) -> nodes.Node:
        shown = self._curr.value
        self._advance(2)
        arguments: tuple[nodes.Node, ...] = ()
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
        return nodes.WindowCall(shown, arguments, self._over())

    def _over(self) -> nodes.Window:
        self._expect("OVER")
        if self._symbol_at("("):
            return self._window("")
        return nodes.Window(self._name("a window"), only_name=True)

    def _window(self, name: str) -> nodes.Window:
        self._expect_symbol("(")
        based_on = ""
        if not self._at_words("PARTITION") and self._at_name() and self._word_at() not in ("ROWS", "RANGE", "GROUPS"):
            based_on = self._name()
        partition_by: tuple[nodes.OrderItem, ...] = ()
        if self._accept("PARTITION", "BY"):
            partition_by = self._list(self._order_item)
        order = self._order_by()
        frame = self._frame()
        self._expect_symbol(")")
        return nodes.Window(name, False, based_on, partition_by, order, frame)

    def _frame(self) -> nodes.Frame | None:
        unit = self._accept_any("ROWS", "RANGE")
        if not unit:
            return None
        if self._accept("BETWEEN"):
            start = self._frame_bound()
            self._expect("AND")
            return nodes.Frame(unit, start, self._frame_bound())
        return nodes.Frame(unit, self._frame_bound(), nodes.FrameBound("CURRENT ROW"))

    def _frame_bound(self) -> nodes.FrameBound:
        if self._accept("CURRENT", "ROW"):
            return nodes.FrameBound("CURRENT ROW")
        if self._accept("UNBOUNDED"):
            return nodes.FrameBound("UNBOUNDED " + self._expect_any("PRECEDING", "FOLLOWING"))
        if self._word_at() == "INTERVAL":
            amount, unit = self._interval()
            return nodes.FrameBound(self._expect_any("PRECEDING", "FOLLOWING"), amount, unit)
        amount_or_none = self._number()
        if amount_or_none is None:
            self._fail("expected the bound of a window's frame")
        return nodes.FrameBound(self._expect_any("PRECEDING", "FOLLOWING"), amount_or_none)

    # -- the order, of windows and of queries ----------------------------------------------------------------

    def _order_by(self) -> nodes.OrderBy | None:
        return nodes.OrderBy(self._list(self._order_item)) if self._accept("ORDER", "BY") else None

    def _order_item(self) -> nodes.OrderItem:
        value = self._expression()
        return nodes.OrderItem(value, self._accept_any("ASC", "DESC") == "DESC")

    # -- casts ----------------------------------------------------------------------------------------------------

    def _opened(self) -> str:
        name = self._curr.value
        self._advance()
        self._expect_symbol("(")
        return name

    def _closed(self, name: str, *pieces: nodes.Node) -> nodes.Node:
        self._expect_symbol(")")
        return nodes.KeywordCall(name, pieces)

    def _cast(self) -> nodes.Node:
        form = self._opened().upper()
        operand = self._expression()
        self._expect("AS")
        kind = self._cast_type()
        if self._accept("ARRAY"):
            kind = replace(kind, array=True)
        elif form == "JSON_SUM_CRC32":
            self._fail("expected ARRAY")
        self._expect_symbol(")")
        return nodes.Cast(form, operand, kind)

    def _convert(self) -> nodes.Node:
        name = self._opened()
        operand = self._expression()
        if self._accept("USING"):
            return self._closed(name, operand, nodes.Word("USING"), nodes.Constant("string", self._charset_name()))
        self._expect_symbol(",")
        kind = self._cast_type()
        self._expect_symbol(")")
        return nodes.Cast("CONVERT", operand, kind)

    def _cast_type(self) -> nodes.CastType:
        word = self._any_word("a type to cast to")
        if word == "BINARY":
            return nodes.CastType("BINARY", self._numbers(1))
        if word in ("CHAR", "CHARACTER"):
            precision = self._numbers(1)
            binary, charset = self._binary_and_charset()
            return nodes.CastType("CHAR", precision, "binary" if binary else charset)
        if word in ("DATE", "YEAR", "JSON", "DOUBLE"):
            return nodes.CastType(word)
        if word in ("DATETIME", "TIME"):
            return nodes.CastType(word, tuple(number for number in self._numbers(1) if number))
        if word in ("DECIMAL", "DEC"):
            return nodes.CastType("DECIMAL", _decimal_precision(self._numbers(2)))
        if word in ("SIGNED", "UNSIGNED"):
            self._accept_any("INTEGER", "INT")
            return nodes.CastType(word)
        if word == "FLOAT":
            return self._cast_float(self._numbers(2))
        if word == "REAL":
            return nodes.CastType("FLOAT" if self._mode.real_as_float else "DOUBLE")
        if word != "VECTOR":
            self._fail("expected a type to cast to", self._prev)
        self._vector_element()
        self._numbers(1)
        return nodes.CastType(word)

    def _cast_float(self, precision: tuple[int, ...]) -> nodes.CastType:
        width = precision[0] if precision else 0
        if width > _MAX_DOUBLE_PRECISION:
            self._fail(f"a precision is at most {_MAX_DOUBLE_PRECISION}", self._prev)
        return nodes.CastType("DOUBLE" if width > _MAX_FLOAT_PRECISION else "FLOAT")

    def _numbers(self, most: int) -> tuple[int, ...]:
        if not self._accept_symbol("("):
            return ()
        numbers = [self._integer("a length")]
        if most > 1 and self._accept_symbol(","):
            numbers.append(self._integer("a number of decimals"))
        self._expect_symbol(")")
        return tuple(numbers)

    def _vector_element(self) -> None:
        if self._accept_symbol("<"):
            self._expect("FLOAT")
            self._expect_symbol(">")

    def _binary_and_charset(self) -> tuple[bool, str]:
        if self._accept("BINARY"):
            return True, self._charset_name() if self._charset_keyword() else ""
        if self._charset_keyword():
            charset = self._charset_name()
            return self._accept("BINARY"), charset
        return False, ""

    # -- functions of time ----------------------------------------------------------------------------------------

    def _date_arithmetic(self) -> nodes.Node:
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
        return nodes.DateArithmetic(name, moment, amount, unit)

    def _extract(self) -> nodes.Node:
        name = self._opened()
        unit = nodes.Word(self._time_unit())
        self._expect("FROM")
        return self._closed(name, unit, nodes.Word("FROM"), self._expression())

    def _get_format(self) -> nodes.Node:
        name = self._opened()
        word = self._expect_any("DATE", "DATETIME", "TIME", "TIMESTAMP")
        self._expect_symbol(",")
        kind = nodes.Word("DATETIME" if word == "TIMESTAMP" else word)
        arguments = (kind, self._expression())
        self._expect_symbol(")")
        return nodes.Call(name, arguments)

    def _timestamp_call(self) -> nodes.Node:
        name = self._opened()
        unit = self._time_unit()
        if unit not in _SIMPLE_UNITS:
            self._fail("expected a simple time unit", self._prev)
        self._expect_symbol(",")
        arguments = self._expressions()
        if len(arguments) != 2:
            self._fail("expected two arguments after the unit", self._prev)
        self._expect_symbol(")")
        return nodes.Call(name, (nodes.Word(unit), *arguments))

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self) -> nodes.Node | None:
        if self._curr.kind == "call":
            aggregate = self._aggregate()
            return aggregate if aggregate is not None else self._RULES[self._curr.text](self)
        word = self._word_at()
        if self._symbol_at("(", 1):
            rule = self._RULES.get(word)
            if rule is not None:
                return rule(self)
            if word in _WITHOUT_RULES or word in _RENAMED:
                return self._plain_call(_RENAMED.get(word, ""))
            if (aggregate := self._aggregate()) is not None:
                return aggregate
            if self._at_plain_name():
                return self._plain_call()
        if word in _MAYBE_PARENTHESES:
            return self._bare_call(precision=False)
        if word in _MAYBE_PRECISION:
            return self._bare_call(precision=True)
        if word in ("DATE", "TIME", "TIMESTAMP") and self._peek().kind == "string":
            self._advance()
            return nodes.TemporalLiteral(word, nodes.Constant("string", self._string()))
        return self._odd_call(word)

    def _odd_call(self, word: str) -> nodes.Node | None:
        if word == "CASE":
            return self._case()
        if word == "EXISTS":
            self._advance()
            return nodes.Exists(self._subselect())
        if word == "NEXT" and self._word_at(1) == "VALUE" and self._word_at(2) == "FOR":
            return self._next_value()
        if self._curr.kind == "name" and self._symbol_at(".", 1) and self._symbol_at("(", 3):
            schema = self._name()
            self._advance()
            name = self._name("a function")
            is_word = name.upper() in RESERVED_WORDS or name.upper() in UNRESERVED_WORDS
            return nodes.QualifiedCall(schema, name, is_word, self._members(self._expression))
        return None

    def _plain_call(self, name: str = "") -> nodes.Node:
        name = name or self._curr.value
        self._advance()
        arguments = self._members(self._expression)
        if name.upper() == "JSON_MEMBEROF" and len(arguments) == 2:  # TiDB's name for the operator
            return nodes.MemberOf(*arguments)
        return nodes.Call(name, arguments)

    def _bare_call(self, *, precision: bool) -> nodes.Call:
        name = self._curr.value
        self._advance()
        if not self._accept_symbol("("):
            return nodes.Call(name)
        arguments: tuple[nodes.Node, ...] = ()
        if precision and not self._symbol_at(")"):
            arguments = (nodes.Constant("integer", str(self._integer("a precision"))),)
        self._expect_symbol(")")
        return nodes.Call(name, arguments)

    def _next_value(self) -> nodes.Node:
        if self._accept("NEXT", "VALUE", "FOR"):
            return nodes.Call("NEXTVAL", (self._table_name(),))
        self._advance()
        return nodes.Call("NEXTVAL", (self._in_parentheses(self._table_name),))

    # -- calls that have a grammar ---------------------------------------------------------------------------

    def _position_call(self) -> nodes.Node:
        name = self._opened()
        needle = self._bit_expression()
        self._expect("IN")
        return self._closed(name, needle, nodes.Word("IN"), self._expression())

    def _substring(self) -> nodes.Node:
        name = self._opened()
        arguments = [self._expression()]
        word = "FOR" if self._accept("FROM") else ""
        if not word:
            self._expect_symbol(",")
        arguments.append(self._expression())
        if self._accept(word) if word else self._accept_symbol(","):
            arguments.append(self._expression())
        self._expect_symbol(")")
        return nodes.Call(name, tuple(arguments))

    def _trim(self) -> nodes.Node:
        name = self._opened()
        pieces: list[nodes.Node] = []
        if direction := self._accept_any("BOTH", "LEADING", "TRAILING"):
            pieces.append(nodes.Word(direction))
            pieces.append(self._constant_string(" ") if self._word_at() == "FROM" else self._expression())
            self._expect("FROM")
            pieces += [nodes.Word("FROM"), self._expression()]
        else:
            pieces.append(self._expression())
            if self._accept("FROM"):
                pieces += [nodes.Word("FROM"), self._expression()]
        return self._closed(name, *pieces)

    def _modulo(self) -> nodes.Node:
        self._opened()
        left = self._expression()
        self._expect_symbol(",")
        right = self._expression()
        self._expect_symbol(")")
        return nodes.Binary(left, (("%", right),))

    def _char(self) -> nodes.Node:
        self._opened()
        arguments = self._expressions()
        last = nodes.Constant("null")
        if self._accept("USING"):
            last = nodes.Constant("string", self._charset_name())
        self._expect_symbol(")")
        return nodes.Call("CHAR_FUNC", (*arguments, last))

    def _weight_string(self) -> nodes.Node:
        name = self._opened()
        value = self._expression()
        if not self._accept("AS"):
            return self._closed(name, value)
        word = self._expect_any("CHAR", "CHARACTER", "BINARY")
        length = self._in_parentheses(self._integer)
        kind = nodes.CastType("BINARY" if word == "BINARY" else "CHAR", (length,))
        return self._closed(name, value, nodes.Word("AS"), kind)

    def _sequence_call(self) -> nodes.Node:
        is_set = self._word_at() == "SETVAL"
        name = self._opened()
        arguments: tuple[nodes.Node, ...] = (self._table_name(),)
        if is_set:
            self._expect_symbol(",")
            arguments += (nodes.Constant("integer", str(self._signed_integer())),)
        self._expect_symbol(")")
        return nodes.Call("SETVAL" if is_set else name, arguments)

    def _column_call(self) -> nodes.Node:
        node = nodes.Default if self._word_at() == "DEFAULT" else nodes.Values
        self._advance()
        return node(self._in_parentheses(self._column))

    def _row_call(self) -> nodes.Node:
        self._advance()
        members = self._parenthesised_expressions()
        if len(members) == 1:
            self._fail("a row has two columns or more", self._prev)
        return nodes.Row(members)

    def _case(self) -> nodes.Node:
        self._advance()
        operand = None if self._word_at() == "WHEN" else self._expression()
        whens: list[tuple[nodes.Node, nodes.Node]] = []
        while self._accept("WHEN"):
            condition = self._expression()
            self._expect("THEN")
            whens.append((condition, self._expression()))
        if not whens:
            self._fail("expected WHEN")
        otherwise = self._expression() if self._accept("ELSE") else None
        self._expect("END")
        return nodes.Case(operand, tuple(whens), otherwise)

    _RULES: ClassVar[dict[str, Callable[[CallGrammar], nodes.Node]]] = {
        "ADDDATE": _date_arithmetic,
        "CAST": _cast,
        "CHAR": _char,
        "CONVERT": _convert,
        "CURDATE": lambda self: self._bare_call(precision=False),
        "CURTIME": lambda self: self._bare_call(precision=True),
        "DATE_ADD": _date_arithmetic,
        "DATE_SUB": _date_arithmetic,
        "DEFAULT": _column_call,
        "EXTRACT": _extract,
        "GET_FORMAT": _get_format,
        "JSON_SUM_CRC32": _cast,
        "LASTVAL": _sequence_call,
        "MID": _substring,
        "MOD": _modulo,
        "NEXTVAL": _next_value,
        "NOW": lambda self: self._plain_call(),
        "POSITION": _position_call,
        "ROW": _row_call,
        "SETVAL": _sequence_call,
        "SUBDATE": _date_arithmetic,
        "SUBSTR": _substring,
        "SUBSTRING": _substring,
        "SYSDATE": lambda self: self._bare_call(precision=True),
        "TIMESTAMPADD": _timestamp_call,
        "TIMESTAMPDIFF": _timestamp_call,
        "TRANSLATE": lambda self: self._plain_call(),
        "TRIM": _trim,
        "VALUES": _column_call,
        "WEIGHT_STRING": _weight_string,
    }


def _decimal_precision(given: tuple[int, ...]) -> tuple[int, ...]:
    width, *scale = given or (_DEFAULT_DECIMAL,)
    if width <= 0:
        return ()
    return (width, scale[0]) if scale and scale[0] > 0 else (width,)
