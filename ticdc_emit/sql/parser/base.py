"""A cursor over tokens. Words are matched by text, because TiDB also accepts most keywords as identifiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, TypeAlias, TypeVar

from ticdc_emit.errors import DdlError, SchemaError, shown
from ticdc_emit.sql import nodes
from ticdc_emit.sql.charsets import charset_name, collation_name
from ticdc_emit.sql.lexer import JobText, SqlMode, Token, decode_bits, decode_hex
from ticdc_emit.sql.words import RESERVED_WORDS, UNRESERVED_WORDS

_T = TypeVar("_T")
_C = TypeVar("_C", bound=nodes.Clause)
_MAX_DIGITS, _MAX_NUMBER = 20, (1 << 64) - 1
_MAX_QUALIFIERS = 2  # schema and table
_MAX_DEPTH = 120

Lead: TypeAlias = tuple[tuple[str, ...], ...]
"""The first words of a clause, each with the words that may be in its place."""
Rules: TypeAlias = Mapping[str, Sequence[tuple[Lead, _T]]]
"""Rules by their first word, those with more leading words first."""


def rules_by_word(*rules: tuple[Lead | str, _T]) -> Rules[_T]:
    """Return the rules, given with their first words, by the first of these; ``A|B``: either word."""
    by_word: dict[str, list[tuple[Lead, _T]]] = {}
    given = (
        (tuple(tuple(word.split("|")) for word in words.split()) if isinstance(words, str) else words, rule)
        for words, rule in rules
    )
    for lead, rule in sorted(given, key=lambda each: -len(each[0])):
        for word in lead[0]:
            by_word.setdefault(word, []).append((lead, rule))
    return by_word


class TokenCursor:
    """Rules over single tokens. ``charset``: the session's, for strings without an introducer."""

    _what, _subject = "statement", "DDL"  # in errors

    def __init__(self, sql: str, tokens: list[Token], mode: SqlMode, charset: str = "utf8mb4") -> None:
        self.sql = sql
        self._tokens = tokens
        self._last = len(tokens) - 1
        self._index = 0
        self._curr = tokens[0]
        self._mode = mode
        self._session_charset = charset
        self._depth = 0
        self._subselects: dict[int, tuple[nodes.Subquery, int] | None] = {}
        self._doubled: set[int] = set()

    # -- the cursor ------------------------------------------------------------------------------------------

    def _fail(self, message: str, token: Token | None = None) -> NoReturn:
        place = token or (self._prev if self._at_end else self._curr)
        text = f"the end of the {self._what}" if self._at_end and token is None else shown(self._raw(place))
        raise DdlError(
            f"{self._subject} is not understood: {message}, found {text}",
            statement=self.sql,
            position=place.start,
            remedy="Check the syntax against TiDB's",
        )

    @property
    def _prev(self) -> Token:
        return self._tokens[max(self._index - 1, 0)]

    @property
    def _at_end(self) -> bool:
        return self._index >= self._last

    def _whole(self, rule: Callable[[Any], _T] | None, what: str) -> _T:
        if rule is None:
            self._fail(f"expected {what}")
        statement = rule(self)
        self._expect_end()
        return statement

    def _expect_end(self, message: str = "not understood") -> None:
        if not self._at_end:
            self._fail(message)

    def _raw(self, token: Token) -> str:
        return self.sql[token.start : token.end]

    def _text_from(self, start: int) -> str:
        return self.sql[start : self._prev.end].strip()

    def _peek(self, ahead: int = 1) -> Token:
        return self._tokens[min(self._index + ahead, self._last)]

    def _advance(self, count: int = 1) -> None:
        self._index = min(self._index + count, self._last)
        self._curr = self._tokens[self._index]

    def _retreat(self, index: int) -> None:
        self._index = index
        self._curr = self._tokens[index]

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._nested_too_deeply()

    def _leave(self) -> None:
        self._depth -= 1

    def _check_chain(self, length: int) -> None:
        if length > _MAX_DEPTH:
            self._nested_too_deeply()

    def _nested_too_deeply(self) -> NoReturn:
        raise DdlError(
            f"{self._subject} is nested too deeply",
            remedy="Use fewer parentheses",
            statement=self.sql,
            position=self._curr.start,
        )

    # -- words and symbols -----------------------------------------------------------------------------------

    def _word_at(self, ahead: int = 0) -> str:
        token = self._peek(ahead) if ahead else self._curr
        return token.text if token.kind == "word" else ""

    def _symbol_at(self, symbol: str, ahead: int = 0) -> bool:
        token = self._peek(ahead) if ahead else self._curr
        return token.text == symbol and token.kind == "symbol"

    def _call_at(self, *names: str) -> bool:
        return self._curr.kind == "call" and self._curr.text in names

    def _at_words(self, *words: str) -> bool:
        curr = self._curr
        if curr.text != words[0] or curr.kind != "word":
            return False
        return all(self._word_at(ahead) == word for ahead, word in enumerate(words[1:], start=1))

    def _accept(self, *words: str) -> bool:
        if not self._at_words(*words):
            return False
        self._advance(len(words))
        return True

    def _accept_any(self, *words: str) -> str:
        word = self._word_at()
        if word not in words:
            return ""
        self._advance()
        return word

    def _expect(self, *words: str) -> None:
        if not self._accept(*words):
            self._fail(f"expected {' '.join(words)}")

    def _expect_any(self, *words: str) -> str:
        word = self._accept_any(*words)
        if not word:
            self._fail(f"expected {', '.join(words[:-1])} or {words[-1]}")
        return word

    def _any_word(self, what: str) -> str:
        word = self._word_at()
        if not word:
            self._fail(f"expected {what}")
        self._advance()
        return word

    def _accept_symbol(self, symbol: str) -> bool:
        if not self._symbol_at(symbol):
            return False
        self._advance()
        return True

    def _expect_symbol(self, symbol: str) -> None:
        if not self._accept_symbol(symbol):
            self._fail(f"expected {symbol!r}")

    def _list(self, rule: Callable[[], _T]) -> tuple[_T, ...]:
        members = [rule()]
        while self._accept_symbol(","):
            members.append(rule())
        return tuple(members)

    def _in_parentheses(self, rule: Callable[[], _T]) -> _T:
        self._expect_symbol("(")
        result = rule()
        self._expect_symbol(")")
        return result

    def _rule_of(self, rules: Rules[_T]) -> _T | None:
        for lead, rule in rules.get(self._word_at(), ()):
            if all(self._word_at(ahead) in words for ahead, words in enumerate(lead)):
                return rule
        return None

    def _members(self, rule: Callable[[], _T]) -> tuple[_T, ...]:
        self._expect_symbol("(")
        members = () if self._symbol_at(")") else self._list(rule)
        self._expect_symbol(")")
        return members

    # -- clauses of a fixed form -----------------------------------------------------------------------------

    _KINDS: ClassVar[dict[str, Callable[[Any], Any]]] = {}

    def _read(self, node: type[_C]) -> _C:
        return node(**self._fields(node.form))

    def _fields(self, form: nodes.Form) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for step in form.steps:
            if step.reads == "all":
                for word in step.words:
                    self._expect(word)
            elif step.reads == "one":
                self._expect_any(*step.words)
            elif step.reads == "value":
                values[step.field] = self._value(step.kind) if step.kind else self._expect_any(*step.words)
            elif step.reads == "sign":
                self._expect_symbol(step.text)
            elif step.reads == "maybe sign":
                self._equals()
            elif step.group is not None:
                values |= self._fields(step.group) if self._at_group(step.group) else {}
            elif step.reads:
                follows = any(self._accept(*words.split()) for words in step.words)
                values |= {step.field: follows} if step.field else {}
        return values

    def _at_group(self, form: nodes.Form) -> bool:
        if form.lead:
            return all(self._word_at(ahead) in words for ahead, words in enumerate(form.lead))
        first = next(step for step in form.steps if step.reads)
        return self._symbol_at(first.text) if first.reads == "sign" else not (self._at_end or self._symbol_at(")"))

    def _value(self, kind: str) -> Any:
        if kind in nodes.NAMES:
            return self._name(nodes.NAMES[kind])
        return self._integer(nodes.NUMBERS[kind]) if kind in nodes.NUMBERS else self._KINDS[kind](self)

    # -- names -----------------------------------------------------------------------------------------------

    def _at_name(self, ahead: int = 0) -> bool:
        token = self._peek(ahead) if ahead else self._curr
        return token.kind == "name" or (token.kind == "word" and token.text not in RESERVED_WORDS)

    def _at_plain_name(self) -> bool:
        token = self._curr
        if token.kind == "word":
            return token.text not in RESERVED_WORDS and token.text not in UNRESERVED_WORDS
        return token.kind == "name"

    def _name(self, what: str = "a name") -> str:
        if not self._at_name():
            self._fail(f"expected {what}")
        name = self._curr.value
        self._advance()
        return name

    def _table_name(self) -> nodes.TableName:
        first = self._name("a table name")
        if self._accept_symbol("."):
            if not first or first.endswith(" "):
                self._fail("a database's name must not be empty or end in a blank", self._prev)
            return nodes.TableName(first, self._name("a table name"))
        return nodes.TableName("", first)

    def _column(self) -> nodes.ColumnName:
        parts = [self._name("a column name")]
        while len(parts) <= _MAX_QUALIFIERS and self._accept_symbol("."):
            parts.append(self._name("a column name"))
        return nodes.ColumnName(tuple(parts))

    def _columns(self) -> tuple[nodes.ColumnName, ...]:
        return self._in_parentheses(lambda: self._list(self._column))

    def _partition_list(self) -> tuple[str, ...]:
        return self._in_parentheses(lambda: self._names("a partition")) if self._accept("PARTITION") else ()

    def _names(self, what: str) -> tuple[str, ...]:
        return self._list(lambda: self._name(what))

    # -- literals --------------------------------------------------------------------------------------------

    def _integer(self, what: str = "a number") -> int:
        text = self._curr.value
        if self._curr.kind != "integer" or len(text) > _MAX_DIGITS or int(text) > _MAX_NUMBER:
            self._fail(f"expected {what}")
        self._advance()
        return int(text)

    def _signed_integer(self) -> int:
        is_negative = self._accept_symbol("-")
        if not is_negative:
            self._accept_symbol("+")
        value = self._integer()
        return -value if is_negative else value

    def _string(self, what: str = "a string") -> str:
        value, token = self._curr.value, self._curr
        if token.kind != "string":
            text = self._binary_literal() if self._mode.of_job else None
            if not isinstance(text, JobText):
                self._fail(f"expected {what}", None if text is None else token)
            return text.decode()
        self._advance()
        return value

    def _binary_literal(self) -> bytes | None:
        kind, raw = self._curr.kind, self._curr.value
        if kind not in ("hex", "bits"):
            return None
        digits = raw[2:].rstrip("'")
        if kind == "hex" and raw.endswith("'") and len(digits) % 2:
            self._fail("an odd number of digits in a hex literal")
        self._advance()
        if kind == "bits":
            return decode_bits(digits)
        return JobText.found_in(decode_hex(digits)) if self._mode.of_job else decode_hex(digits)

    def _name_or_string(self, what: str) -> str:
        return self._string(what) if self._curr.kind == "string" else self._name(what)

    def _equals(self) -> None:
        self._accept_symbol("=")

    # -- character sets --------------------------------------------------------------------------------------

    def _charset_keyword(self) -> bool:
        return self._accept("CHARACTER", "SET") or self._accept("CHARSET") or self._accept("CHAR", "SET")

    def _charset_name(self) -> str:
        return self._known(charset_name)

    def _collation_name(self) -> str:
        return self._known(collation_name)

    def _known(self, check: Callable[[str], str]) -> str:
        token = self._curr
        name = "binary" if self._accept("BINARY") else self._name_or_string("a character set or collation")
        try:
            return check(name)
        except SchemaError as error:
            raise DdlError(error.message, statement=self.sql, position=token.start, remedy=error.remedy) from None
