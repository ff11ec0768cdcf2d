"""From an expression's text to its nodes: operators by precedence, as MySQL's grammar has them.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``Expression``, ``BoolPri``, ``PredicateExpr``, ``BitExpr``,
``SimpleExpr``) without SQL modes. Subqueries, row values, variables and windows have no place in an expression index.
"""

from __future__ import annotations

from ticdc_emit.schema.inference.calls import CallParser
from ticdc_emit.schema.inference.scanner import scan
from ticdc_emit.schema.inference.syntax import Call, Collated, Constant, Node, Reference
from ticdc_emit.schema.reserved import RESERVED_WORDS
from ticdc_emit.schema.types import MySQLType

__all__ = ["parse_expression"]

_LOGIC = ({"OR": "or", "||": "or"}, {"XOR": "xor"}, {"AND": "and", "&&": "and"})  # loosest first
_COMPARISONS = {"=": "=", "<=>": "<=>", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_BINARY = (  # loosest first
    {"|": "|"},
    {"&": "&"},
    {"<<": "<<", ">>": ">>"},
    {"+": "+", "-": "-"},
    {"*": "*", "/": "/", "DIV": "div", "%": "mod", "MOD": "mod"},
    {"^": "^"},
)
_SUM = 3
_PATTERNS = {"LIKE": "like", "REGEXP": "regexp", "RLIKE": "regexp"}
_LITERAL_TYPES = {"DATE": MySQLType.DATE, "TIME": MySQLType.DURATION, "TIMESTAMP": MySQLType.DATETIME}


def parse_expression(text: str) -> Node:
    """Read an expression; ``DdlError`` if it is none that this grammar knows."""
    parser = _ExpressionParser(scan(text))
    node = parser.expression()
    parser.expect_end()
    return node


class _ExpressionParser(CallParser):
    def expression(self) -> Node:
        self.enter()
        node = self._logic(0)
        self.leave()
        return node

    def _logic(self, level: int) -> Node:
        if level == len(_LOGIC):
            return self._negation()
        node = self._logic(level + 1)
        while name := _LOGIC[level].get(self.token.text):
            self.advance()
            node = Call(name, (node, self._logic(level + 1)))
        return node

    def _negation(self) -> Node:
        count = 0
        while self.accept("NOT"):
            count += 1
        node = self._comparison()
        for _ in range(count):
            node = Call("not", (node,))
        return node

    def _comparison(self) -> Node:
        node = self._predicate()
        while True:
            if name := _COMPARISONS.get(self.token.text):
                self.advance()
                node = Call(name, (node, self._predicate()))
            elif self.accept("IS"):
                node = self._truth(node)
            else:
                return node

    def _truth(self, node: Node) -> Node:
        negated = self.accept("NOT")
        word = self.accept_any("NULL", "UNKNOWN", "TRUE", "FALSE")
        if not word:
            self.fail("expected NULL, TRUE or FALSE")
        name = {"TRUE": "istrue", "FALSE": "isfalse"}.get(word, "isnull")
        node = Call(name, (node,))
        return Call("not", (node,)) if negated else node

    def _predicate(self) -> Node:
        node = self.bit_expression()
        while True:
            negated = self.token.text == "NOT" and self.peek().text in ("IN", "BETWEEN", *_PATTERNS)
            if negated:
                self.advance()
            if self.accept("IN"):
                node = Call("in", (node, *self.arguments()))
            elif self.accept("BETWEEN"):
                low = self.bit_expression()
                self.expect("AND")
                node = Call("and", (Call(">=", (node, low)), Call("<=", (node, self._predicate()))))
            elif word := self.accept_any(*_PATTERNS):
                operands = [node, self.bit_expression()]
                if word == "LIKE" and self.accept("ESCAPE"):
                    operands.append(self.primary())
                node = Call(_PATTERNS[word], tuple(operands))
            elif self.accept("MEMBER"):
                self.accept("OF")
                node = Call("json_memberof", (node, *self.arguments()))
            else:
                return node
            node = Call("not", (node,)) if negated else node

    def bit_expression(self, level: int = 0) -> Node:
        if level == len(_BINARY):
            return self._unary()
        if level == _SUM and self.token.text == "INTERVAL" and self.peek().text != "(":
            amount = self.interval()
            self.expect("+")
            return Call("date_add", (self.bit_expression(level + 1), *amount))
        node = self.bit_expression(level + 1)
        while name := _BINARY[level].get(self.token.text):
            self.advance()
            if level == _SUM and self.token.text == "INTERVAL":
                node = Call("date_add", (node, *self.interval()))
            else:
                node = Call(name, (node, self.bit_expression(level + 1)))
        return node

    def _unary(self) -> Node:
        self.enter()
        if self.accept("-"):
            node: Node = Call("negated", (self._unary(),))
        elif self.accept("+"):
            node = self._unary()
        elif self.accept("~"):
            node = Call("~", (self._unary(),))
        elif self.accept("!"):
            node = Call("not", (self._unary(),))
        else:
            node = self.primary()
            while self.accept("COLLATE"):
                node = Collated(node, self.charset_name())
        self.leave()
        return node

    def primary(self) -> Node:
        token = self.token
        if token.kind in ("number", "string", "hex", "bits", "introducer"):
            return self._literal()
        if self.accept("("):
            node = self.expression()
            self.expect(")")
            return node
        if token.kind == "word" and self.peek().kind == "string" and token.text in _LITERAL_TYPES:
            self.advance()
            return Constant(self.string(), kind=_LITERAL_TYPES[token.text])
        if token.kind == "word" and (node_or_none := self.word_call()) is not None:
            return node_or_none
        return self._reference()

    def _literal(self) -> Node:
        token, charset = self.token, ""
        if token.kind == "introducer":
            charset = str(token.value)
            token = self.advance()
        if token.kind == "string":
            return Constant(self.string(), charset)
        self.advance()
        value = token.value
        if charset and isinstance(value, bytes):
            self.fail("an introducer before a hex or bit literal")
        if isinstance(value, str):
            self.fail("expected a literal")
        return Constant(value, is_hex=token.kind == "hex")

    def _reference(self) -> Node:
        names = [self._column_name()]
        while len(names) <= 2 and self.accept("."):  # schema and table may qualify it
            names.append(self._column_name())
        column = Reference(*reversed(names))
        return self._json_path(column) if self.token.text in ("->", "->>") else column

    def _column_name(self) -> str:
        token = self.token
        is_word = token.kind == "word" and token.text not in RESERVED_WORDS
        if not is_word and token.kind != "name":
            self.fail("expected a column, a literal or a function")
        self.advance()
        return str(token.value)

    def _json_path(self, column: Node) -> Node:
        unquotes = self.token.text == "->>"
        self.advance()
        node = Call("json_extract", (column, Constant(self.string())))
        return Call("json_unquote", (node,)) if unquotes else node
