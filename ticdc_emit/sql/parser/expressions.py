"""Operators and constants. Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``Expression`` ...), ``yy_parser.go``."""

from __future__ import annotations

from collections.abc import Callable

from ticdc_emit.sql import nodes
from ticdc_emit.sql.parser.base import TokenCursor

_MAX_INTEGER_DIGITS = 20
_NO_LEGACY_INTRODUCER = ("gbk", "gb18030")
_LOGIC = ({"OR": "OR", "||": "OR"}, {"XOR": "XOR"}, {"AND": "AND", "&&": "AND"})  # loosest first
_COMPARISONS = {"=": "=", "<=>": "<=>", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_BINARY = (  # loosest first
    {"|": "|"},
    {"&": "&"},
    {"<<": "<<", ">>": ">>"},
    {"+": "+", "-": "-"},
    {"*": "*", "/": "/", "DIV": "DIV", "%": "%", "MOD": "%"},
    {"^": "^"},
)
_SUM = 3
_PREFIXES = {"-": "-", "+": "+", "~": "~", "!": "!"}
_TIME_UNITS = frozenset(
    """
    MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR SECOND_MICROSECOND MINUTE_MICROSECOND MINUTE_SECOND
    HOUR_MICROSECOND HOUR_SECOND HOUR_MINUTE DAY_MICROSECOND DAY_SECOND DAY_MINUTE DAY_HOUR YEAR_MONTH
    SQL_TSI_SECOND SQL_TSI_MINUTE SQL_TSI_HOUR SQL_TSI_DAY SQL_TSI_WEEK SQL_TSI_MONTH SQL_TSI_QUARTER SQL_TSI_YEAR
    """.split()  # noqa: SIM905 (a table of words)
)


class ExpressionGrammar(TokenCursor):
    # the layers above define these
    _call: Callable[[], nodes.Node | None]
    _subselect: Callable[[], nodes.Subquery]
    _try_scalar_subselect: Callable[[], nodes.Subquery | None]

    # -- constants ------------------------------------------------------------------------------------------------

    def _constant_string(self, value: str) -> nodes.Constant:
        return nodes.Constant("string", value, self._session_charset)

    def _literal(self) -> nodes.Constant | None:
        token = self._curr
        if token.kind == "string":
            parts = []
            while self._curr.kind == "string":  # adjacent literals are one
                parts.append(self._string())
            return self._constant_string("".join(parts))
        if token.kind == "word":
            return self._word_literal()
        if token.kind == "introducer":
            if self._peek().kind not in ("string", "hex", "bits"):
                return None
            if token.value in _NO_LEGACY_INTRODUCER:
                self._fail("not a character set for an introducer")
            self._advance()
            if self._curr.kind == "string":
                return nodes.Constant("string", self._string(), token.value)
            return self._binary_constant(token.value)
        if token.kind in ("hex", "bits"):
            return self._binary_constant()
        return self._number()

    def _binary_constant(self, introducer: str = "") -> nodes.Constant:
        kind = self._curr.kind
        return nodes.Constant("hex" if kind == "hex" else "bits", self._binary_literal(), introducer)

    def _word_literal(self) -> nodes.Constant | None:
        word = self._curr.text
        if word not in ("NULL", "TRUE", "FALSE"):
            return None
        self._advance()
        return nodes.Constant("null" if word == "NULL" else "true" if word == "TRUE" else "false")

    def _number(self) -> nodes.Constant | None:
        token = self._curr
        if token.kind == "integer":
            digits = token.value.lstrip("0") or "0"
            self._advance()
            if len(digits) <= _MAX_INTEGER_DIGITS and int(digits) < 1 << 64:
                return nodes.Constant("integer", digits)
            return nodes.Constant("decimal", nodes.decimal_digits(digits))
        if token.kind == "decimal":
            self._advance()
            return nodes.Constant("decimal", nodes.decimal_digits(token.value))
        if token.kind == "float":
            number = float(token.value)
            if number == float("inf"):
                self._fail("a number is too big")
            self._advance()
            return nodes.Constant("float", number)
        return None

    # -- operators, loosest first ---------------------------------------------------------------------------------

    def _expression(self) -> nodes.Node:
        self._enter()
        if self._curr.kind == "variable" and self._symbol_at(":=", 1):
            name = self._curr.value
            self._advance(2)
            node: nodes.Node = nodes.Assignment(name, self._expression())
        else:
            node = self._logic(0)
        self._leave()
        return node

    def _expressions(self) -> tuple[nodes.Node, ...]:
        return self._list(self._expression)

    def _parenthesised_expressions(self) -> tuple[nodes.Node, ...]:
        return self._in_parentheses(self._expressions)

    def _logic(self, level: int) -> nodes.Node:
        if level == len(_LOGIC):
            return self._negation()
        first = self._logic(level + 1)
        rest: list[tuple[str, nodes.Node]] = []
        while (operator := self._operator(_LOGIC[level])) and not (
            self._symbol_at("||") and self._mode.pipes_as_concat
        ):
            self._advance()
            rest.append((operator, self._logic(level + 1)))
        return nodes.chained(first, rest)

    def _operator(self, table: dict[str, str]) -> str:
        return table.get(self._curr.text, "") if self._curr.kind in ("symbol", "word") else ""

    def _negation(self) -> nodes.Node:
        if self._word_at() == "NOT" and not self._mode.high_not_precedence:
            self._enter()
            self._advance()
            node: nodes.Node = nodes.Unary("NOT", self._negation())
            self._leave()
            return node
        if self._at_words("MATCH") and self._symbol_at("(", 1):
            return self._match_against()
        node = self._predicate()
        rest: list[tuple[str, nodes.Node]] = []
        length = 0
        while True:
            if operator := self._operator(_COMPARISONS):
                self._advance()
                quantifier = self._word_at() if self._symbol_at("(", 1) else ""
                if quantifier not in ("ANY", "SOME", "ALL"):
                    rest.append((operator, self._predicate()))
                    continue
                self._advance()
                left = nodes.chained(node, rest)
                node, rest = nodes.Comparison(operator, left, quantifier == "ALL", self._subselect()), []
            elif self._accept("IS"):
                node, rest = nodes.chained(node, rest), []
                negated = self._accept("NOT")
                word = self._expect_any("NULL", "UNKNOWN", "TRUE", "FALSE")
                if word != "NULL":
                    is_null = word == "UNKNOWN"
                    return nodes.IsNull(node, negated) if is_null else nodes.IsTruth(node, word == "TRUE", negated)
                node = nodes.IsNull(node, negated)
            else:
                return nodes.chained(node, rest)
            length += 1
            self._check_chain(length)

    def _match_against(self) -> nodes.Node:
        self._advance()
        columns = self._columns()
        self._expect("AGAINST")
        self._expect_symbol("(")
        against = self._bit_expression()
        modifier = ""
        if self._accept("IN"):
            if self._accept("BOOLEAN"):
                modifier = " IN BOOLEAN MODE"
            else:
                self._expect("NATURAL", "LANGUAGE")
            self._expect("MODE")
        if not modifier and self._accept("WITH"):
            self._expect("QUERY", "EXPANSION")
            modifier = " WITH QUERY EXPANSION"
        self._expect_symbol(")")
        return nodes.MatchAgainst(columns, against, modifier)

    def _predicate(self) -> nodes.Node:
        node = self._bit_expression()
        negated = self._word_at() == "NOT" and self._word_at(1) in ("IN", "BETWEEN", "LIKE", "ILIKE", "REGEXP", "RLIKE")
        if negated:
            self._advance()
        word = self._accept_any("IN", "BETWEEN", "LIKE", "ILIKE", "REGEXP", "RLIKE", "MEMBER")
        if word == "IN":
            query = self._try_scalar_subselect()
            return nodes.In(node, query if query is not None else self._parenthesised_expressions(), negated)
        if word == "BETWEEN":
            low = self._bit_expression()
            self._expect("AND")
            return nodes.Between(node, low, self._predicate(), negated)
        if word in ("LIKE", "ILIKE"):
            pattern = self._simple()
            escape = self._string("one character") if self._accept("ESCAPE") else None
            if escape is not None and len(escape.encode()) > 1:
                self._fail("expected one character", self._prev)
            return nodes.Like(word, node, pattern, negated, escape)
        if word in ("REGEXP", "RLIKE"):
            return nodes.Regexp(node, self._simple(), negated)
        if word == "MEMBER":
            self._expect("OF")
            return nodes.MemberOf(node, self._in_parentheses(self._simple))
        return node

    def _bit_expression(self, level: int = 0) -> nodes.Node:
        if level == len(_BINARY):
            return self._simple()
        if level == _SUM and self._word_at() == "INTERVAL" and not self._symbol_at("(", 1):
            amount, unit = self._interval()
            self._expect_symbol("+")
            return self._sums(nodes.DateArithmetic("DATE_ADD", self._bit_expression(level + 1), amount, unit), level)
        return self._sums(self._bit_expression(level + 1), level)

    def _sums(self, node: nodes.Node, level: int) -> nodes.Node:
        rest: list[tuple[str, nodes.Node]] = []
        length = 0
        while operator := self._operator(_BINARY[level]):
            self._advance()
            if level == _SUM and self._word_at() == "INTERVAL" and not self._is_interval_call():
                name = "DATE_ADD" if operator == "+" else "DATE_SUB"
                node, rest = nodes.DateArithmetic(name, nodes.chained(node, rest), *self._interval()), []
                length += 1
                self._check_chain(length)
            else:
                rest.append((operator, self._bit_expression(level + 1)))
        return nodes.chained(node, rest)

    def _interval(self) -> tuple[nodes.Node, str]:
        self._expect("INTERVAL")
        return self._expression(), self._time_unit()

    def _is_interval_call(self) -> bool:
        if not self._symbol_at("(", 1):
            return False
        depth, index = 0, self._index + 1
        while index < self._last:
            token = self._tokens[index]
            if token.kind == "symbol":
                depth += (token.text == "(") - (token.text == ")")
            index += 1
            if not depth:
                break
        following = self._tokens[index]
        return following.kind != "word" or following.text not in _TIME_UNITS

    def _time_unit(self) -> str:
        word = self._word_at()
        if word not in _TIME_UNITS:
            self._fail("expected a time unit")
        self._advance()
        return word.removeprefix("SQL_TSI_")

    # -- simple expressions ----------------------------------------------------------------------------------

    def _simple(self) -> nodes.Node:
        node = self._prefixed()
        length = 0
        while self._mode.pipes_as_concat and self._accept_symbol("||"):
            node = nodes.Call("CONCAT", (node, self._prefixed()))
            length += 1
            self._check_chain(length)
        return node

    def _prefixed(self) -> nodes.Node:
        self._enter()
        if self._curr.kind == "symbol" and (operator := _PREFIXES.get(self._curr.text, "")):
            self._advance()
            node: nodes.Node = nodes.Unary(operator, self._prefixed())
        elif self._word_at() == "NOT" and self._mode.high_not_precedence:
            self._advance()
            node = nodes.Unary("!", self._prefixed())
        elif self._word_at() == "BINARY":
            self._advance()
            node = nodes.Cast("BINARY", self._prefixed(), nodes.CastType("BINARY"))
        else:
            node = self._primary()
            length = 0
            while self._accept("COLLATE"):
                node = nodes.Collated(node, self._collation_name())
                length += 1
                self._check_chain(length)
        self._leave()
        return node

    def _primary(self) -> nodes.Node:
        if self._symbol_at("("):
            return self._parenthesis()
        literal = self._literal()
        if literal is not None:
            return literal
        kind = self._curr.kind
        if kind in ("variable", "system"):
            return self._variable()
        if self._accept_symbol("{"):
            return self._odbc()
        call = self._call()
        return call if call is not None else self._column_or_path()

    def _parenthesis(self) -> nodes.Node:
        query = self._try_scalar_subselect()
        if query is not None:
            return query
        self._expect_symbol("(")
        first = self._expression()
        if self._symbol_at(","):
            members = [first]
            while self._accept_symbol(","):
                members.append(self._expression())
            self._expect_symbol(")")
            return nodes.Row(tuple(members))
        self._expect_symbol(")")
        return nodes.Parenthesised(first)

    def _odbc(self) -> nodes.Node:
        """``{d '2020-01-01'}``; the brace has been consumed."""
        name = self._name("d, t or ts")
        value = self._expression()
        self._expect_symbol("}")
        word = {"d": "DATE", "t": "TIME", "ts": "TIMESTAMP"}.get(name)
        if word is None:
            return value
        if isinstance(value, nodes.Constant):
            value = nodes.Constant(value.kind, value.value)
        return nodes.TemporalLiteral(word, value)

    def _variable(self) -> nodes.Node:
        token = self._curr
        self._advance()
        if token.kind == "variable":
            return nodes.UserVariable(token.value)
        name = token.value.lower()
        for scope in ("global", "instance", "session", "local"):
            if name.startswith(scope + "."):
                shown = "SESSION" if scope == "local" else scope.upper()
                return nodes.SystemVariable(name[len(scope) + 1 :], shown)
        return nodes.SystemVariable(name)

    def _column_or_path(self) -> nodes.Node:
        if not self._at_name():
            self._fail("expected a column, a literal or a function")
        column = self._column()
        for symbol in ("->", "->>"):
            if self._symbol_at(symbol) and self._peek().kind == "string":
                self._advance()
                extract = nodes.Call("JSON_EXTRACT", (column, self._constant_string(self._string())))
                return extract if symbol == "->" else nodes.Call("JSON_UNQUOTE", (extract,))
        return column
