"""What CREATE TABLE and ALTER TABLE of other systems define: columns with their types and options, keys, constraints.

In: the tokens of a definition (:class:`Definitions`). Out: :class:`ColumnDefinition`, :class:`KeyDefinition`, and
:class:`LeftOut` for what TiDB's rows do not depend on. One grammar reads all dialects, because what differs are words
that only one of them has. Text that it does not know is a :class:`~ticdc_emit.errors.DdlError` with its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from ticdc_emit.source_schemas.source_script import Lexicon, SourceStatement, Token
from ticdc_emit.source_schemas.source_types import TYPES, SourceType

Name = tuple[str, ...]
"""The parts of a name, as the system keeps them."""


@dataclass
class ColumnDefinition:
    """A column. ``type``: ``None`` for a generated column of SQL Server, whose type is that of its expression.
    ``type_name``: the parts of the type's name, for types that the script creates. ``nullable``: ``None`` if it is not
    written. ``default``, ``generated``: the tokens of an expression. ``counts``: values count up. ``offset``: of its
    name in ``script``. ``after``: the column before it, "" for none, ``None`` if it comes last.
    ``constraints``: the names of what begins with DEFAULT, PRIMARY or UNIQUE.
    """

    name: str
    offset: int
    script: str = ""
    type: SourceType | None = None
    type_name: Name = ()
    nullable: bool | None = None
    default: list[Token] | None = None
    generated: list[Token] | None = None
    is_stored: bool = False
    counts: bool = False
    comment: str | None = None
    is_primary: bool = False
    is_unique: bool = False
    after: str | None = None
    constraints: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class KeyDefinition:
    """A primary or unique key. ``columns``: ``None`` in place of an expression."""

    columns: tuple[str | None, ...]
    is_primary: bool
    name: str = ""


@dataclass(frozen=True)
class KeyOverIndex:
    """A primary or unique key that a unique index becomes."""

    index: str
    is_primary: bool
    name: str = ""


@dataclass(frozen=True)
class LeftOut:
    """A constraint that the table is made without: ``what``, in the singular."""

    what: str


@dataclass(frozen=True)
class LikeTable:
    """The columns of another table, with their defaults and its keys or without."""

    name: Name
    with_defaults: bool = False
    with_keys: bool = False


@dataclass(frozen=True)
class DefaultOf:
    """``DEFAULT x FOR column`` of SQL Server."""

    column: str
    default: list[Token]
    name: str = ""


_STOPS = frozenset(
    """
    NULL CONSTRAINT PRIMARY UNIQUE CHECK REFERENCES FOREIGN COLLATE COMMENT GENERATED IDENTITY AUTOINCREMENT
    AUTO_INCREMENT ENABLE DISABLE ENCODE DISTKEY SORTKEY STORAGE COMPRESSION OPTIONS DEFAULT SPARSE ROWGUIDCOL MASKED
    TAG MASKING USING PERSISTED STORED VIRTUAL DEFERRABLE INITIALLY VISIBLE INVISIBLE ENCRYPT RELY NORELY FOR TABLESPACE
    HIDDEN
    """.split()  # noqa: SIM905 (words)
)
"""Words after which a default ends."""

_AFTER_NOT = ("NULL", "DEFERRABLE", "ENFORCED", "FOR", "VALID")
_NO_EFFECT = frozenset(
    """
    ENABLE DISABLE VALIDATE NOVALIDATE RELY NORELY ENFORCED DEFERRABLE VISIBLE INVISIBLE SPARSE ROWGUIDCOL FILESTREAM
    HIDDEN CLUSTERED NONCLUSTERED DISTKEY SORTKEY ASC DESC PERSISTED VIRTUAL STORED SALT DISTINCT
    """.split()  # noqa: SIM905 (words)
)
_NO_EFFECT_WITH_MORE = frozenset(
    {"WITH", "MASKED", "MASKING", "PROJECTION", "TAG", "POLICY", "ENCRYPT", "ENCRYPTED", "MASK"}
)
_AFTER_INDEX = ("CONSTRAINT", "ENABLE", "DISABLE", "NOT", "CHECK", "REFERENCES")
_NO_EFFECT_WITH_NAME = frozenset({"INITIALLY", "ENCODE", "STORAGE", "COMPRESSION", "TABLESPACE"})
_OF_SEQUENCES = frozenset(
    """
    MINVALUE MAXVALUE NOMINVALUE NOMAXVALUE INCREMENT START BY WITH CACHE NOCACHE ORDER NOORDER CYCLE NOCYCLE KEEP
    NOKEEP SCALE NOSCALE EXTEND NOEXTEND SHARD NOSHARD LIMIT VALUE GLOBAL SESSION
    """.split()  # noqa: SIM905 (words)
)
_NOT_NULL_IDENTITY = ("postgres", "redshift", "oracle", "tsql")
_INTERVAL_FIELDS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_TWO_WORD_TYPES = {
    "VARYING": ("CHARACTER", "CHAR", "NCHAR", "BINARY", "BIT", "NATIONAL CHARACTER", "NATIONAL CHAR"),
    "PRECISION": ("DOUBLE",),
    "RAW": ("LONG",),
    "VARCHAR": ("LONG",),
    "CHARACTER": ("NATIONAL",),
    "CHAR": ("NATIONAL",),
}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_CHECK, _FOREIGN, _EXCLUSION, _COLLATION = "CHECK constraint", "foreign key", "EXCLUDE constraint", "collation"


class Definitions:
    """Reads tokens from first to last. ``statement``: where they come from, for errors and texts."""

    def __init__(self, statement: SourceStatement, lexicon: Lexicon, tokens: Sequence[Token]) -> None:
        self.statement, self.lexicon = statement, lexicon
        self._tokens, self._index = tokens, 0
        self.table = ""

    # -- tokens ------------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self._tokens[self._index]

    @property
    def last(self) -> Token:
        """The token that was consumed last."""
        return self._tokens[max(self._index - 1, 0)]

    @property
    def at_end(self) -> bool:
        return self.token.kind == "end"

    def word(self, ahead: int = 0) -> str:
        return self._tokens[min(self._index + ahead, len(self._tokens) - 1)].word

    def at(self, *words: str) -> bool:
        return all(self.word(ahead) == word for ahead, word in enumerate(words))

    def accept(self, *words: str) -> bool:
        """Consume these words if they follow."""
        if not self.at(*words):
            return False
        self._index += len(words)
        return True

    def accept_one(self, *words: str) -> str:
        """Consume one of these words and return it, "" if none follows."""
        word = self.word()
        if not word or word not in words:
            return ""
        self._index += 1
        return word

    def at_symbol(self, symbol: str, ahead: int = 0) -> bool:
        token = self._tokens[min(self._index + ahead, len(self._tokens) - 1)]
        return token.kind == "symbol" and token.text == symbol

    def accept_symbol(self, symbol: str) -> bool:
        found = self.at_symbol(symbol)
        self._index += found
        return found

    def next(self) -> Token:
        token = self.token
        if token.kind != "end":
            self._index += 1
        return token

    def fail(self, expected: str, *, column: str = "") -> NoReturn:
        token = self.token
        shown = "the end" if token.kind == "end" else self.statement.script[token.start : token.end][:40]
        self.statement.fail(f"expected {expected}, found {shown}", token.start, table=self.table, column=column)

    def text(self, tokens: Sequence[Token]) -> str:
        """Return the script's text of tokens that follow each other."""
        return self.statement.script[tokens[0].start : tokens[-1].end] if tokens else ""

    def inside(self, tokens: Sequence[Token]) -> Definitions:
        """Return a reader of some of the tokens."""
        end = tokens[-1].end if tokens else self.token.start
        reader = Definitions(self.statement, self.lexicon, [*tokens, Token("end", "", end, end)])
        reader.table = self.table
        return reader

    def rest(self) -> list[Token]:
        """Return the tokens up to the end, without consuming them."""
        return list(self._tokens[self._index : -1])

    def balanced(self) -> list[Token]:
        """Consume a token, with all up to its closing bracket if it opens one."""
        first = self.next()
        taken, open_brackets = (
            [first],
            [_BRACKETS[first.text]] if first.kind == "symbol" and first.text in _BRACKETS else [],
        )
        while open_brackets:
            token = self.next()
            if token.kind == "end":
                self.fail("a closing bracket")
            taken.append(token)
            if token.kind == "symbol" and token.text == open_brackets[-1]:
                open_brackets.pop()
            elif token.kind == "symbol" and token.text in _BRACKETS:
                open_brackets.append(_BRACKETS[token.text])
        return taken

    def members(self) -> list[Definitions]:
        """Consume a list in parentheses and return a reader of each member."""
        if not self.at_symbol("("):
            self.fail("(")
        group = self.inside(self.balanced()[1:-1])
        return group.parts()

    def parts(self) -> list[Definitions]:
        """Consume all tokens and return a reader of each part between commas."""
        parts: list[list[Token]] = [[]]
        angles = 0
        while not self.at_end:
            if self.at_symbol(",") and angles <= 0:
                self.next()
                parts.append([])
                continue
            taken = self.balanced()
            if len(taken) == 1 and taken[0].kind == "symbol":  # map<string, int>
                angles += taken[0].text.count("<") - taken[0].text.count(">")
            parts[-1] += taken
        return [self.inside(part) for part in parts if part]

    @property
    def at_name(self) -> bool:
        """Whether a name follows; one in double quotes is one even where they are for strings."""
        token = self.token
        return token.kind in ("word", "quoted") or (
            token.kind == "string" and self.statement.script.startswith('"', token.start)
        )

    def name(self, what: str = "a name") -> str:
        if not self.at_name:
            self.fail(what)
        token = self.next()
        return self.lexicon.name(token.text, is_quoted=token.kind != "word")

    def qualified_name(self, what: str = "a name") -> Name:
        """Consume a name with its qualifiers. Snowflake and Spark have ``IDENTIFIER('name')``; in BigQuery, quotes may
        surround them all, and words have dashes.
        """
        is_called = self.lexicon.has_identifiers and self.at("IDENTIFIER") and self.at_symbol("(", 1)
        if is_called and self._tokens[self._index + 2].kind in ("string", "symbol"):  # else it is a name itself
            return self._identifier()
        if self.lexicon.reader != "bigquery":
            parts = [self.name(what)]
            while self.accept_symbol("."):  # db..t has the usual schema
                parts.append("" if self.at_symbol(".") else self.name(what))
            return tuple(parts)
        start = self.token
        if start.kind not in ("word", "quoted"):
            self.fail(what)
        last = self.next()
        texts = [start.text]
        while (self.at_symbol(".") or self.at_symbol("-")) and self.token.start == last.end:
            texts.append(self.next().text)
            last = self.next()
            texts.append(last.text)
        return tuple("".join(texts).split("."))

    def table_name(self) -> Name:
        """Consume the name of a table. Hive may have one pair of quotes for all parts."""
        is_quoted = self.token.kind == "quoted"
        name = self.qualified_name("a table")
        return tuple(name[0].split(".")) if is_quoted and len(name) == 1 and self.lexicon.reader == "hive" else name

    def _identifier(self) -> Name:
        self.next()
        given = self.inside(self.balanced()[1:-1])
        if given.token.kind != "string" or len(given.rest()) > 1:  # a variable or an expression
            given.fail("a name in quotes")
        parts = given.token.text.split(".")
        return tuple(self.lexicon.name(part.strip('"`'), is_quoted=part[:1] in ('"', "`")) for part in parts)

    # -- types -------------------------------------------------------------------------------------------------------

    def type(self) -> tuple[SourceType, Name]:
        """Consume a type. Return it, and the parts of its name."""
        first = self._index
        token = self.token
        if token.kind == "string":
            self.fail("a column type")
        parts = self.qualified_name("a column type")
        last = self.last
        name = last.text.upper()
        if token.kind == "quoted" and self.lexicon.reader in ("postgres", "redshift") and token.text == "char":
            name = '"CHAR"'
        if last.kind == "word" and len(parts) == 1:
            name = self._more_words(name)
        arguments: tuple[str, ...] = ()
        if name == "INTERVAL":
            name = self._interval()
        elif self.at_symbol("("):
            arguments = tuple(part.text(part._tokens[:-1]) for part in self.members())
        elif self.at_symbol("<"):
            self._skip_angles()
        if name in ("TIME", "TIMESTAMP"):
            name = self._with_zone(name)
        is_array = self.accept("ARRAY")
        while self.at_symbol("["):
            self.balanced()
            is_array = True
        shown = " ".join(self.text(self._tokens[first : self._index]).split())
        return SourceType(name, arguments, shown, is_array), parts

    def _more_words(self, name: str) -> str:
        while self.word() in _TWO_WORD_TYPES and name in _TWO_WORD_TYPES[self.word()]:
            name = f"{name} {self.next().word}"
        if self.accept("LARGE", "OBJECT"):
            return "BLOB" if name == "BINARY" else "CLOB"
        return name

    def _interval(self) -> str:
        """Consume the fields of an interval and return its name."""
        fields = []
        while self.word() in (*_INTERVAL_FIELDS, "TO"):
            fields.append(self.next().word)
            if self.at_symbol("("):
                self.balanced()
        if self.at_symbol("("):
            self.balanced()
        if not fields:
            return "INTERVAL"
        return "INTERVAL YEAR TO MONTH" if fields[0] in ("YEAR", "MONTH") else "INTERVAL DAY TO SECOND"

    def _with_zone(self, name: str) -> str:
        for words in ("WITH TIME ZONE", "WITHOUT TIME ZONE", "WITH LOCAL TIME ZONE"):
            if self.accept(*words.split()):
                return f"{name} {words}"
        return name

    def _skip_angles(self) -> None:
        depth = 0
        while not self.at_end:
            for token in self.balanced():
                if token.kind == "symbol":
                    depth += token.text.count("<") - token.text.count(">")
            if depth <= 0:
                return
        self.fail(">")

    # -- elements ----------------------------------------------------------------------------------------------------

    def element(
        self,
    ) -> ColumnDefinition | KeyDefinition | KeyOverIndex | LeftOut | LikeTable | DefaultOf | None:
        """Read the whole of one element of CREATE TABLE; ``None`` for one that says nothing about the table's rows."""
        constraint = ""
        if self.at("CONSTRAINT") and self.word(1) not in ("PRIMARY", "UNIQUE", "CHECK", "FOREIGN"):
            self.next()
            constraint = self.name()
        else:
            self.accept("CONSTRAINT")
        if self.accept("PRIMARY", "KEY"):
            return self._key(constraint, is_primary=True)
        if self.accept("UNIQUE"):
            self.accept_one("KEY", "INDEX")
            return self._key(constraint, is_primary=False)
        if self.accept("FOREIGN", "KEY"):
            return LeftOut(_FOREIGN)
        if self.accept("CHECK"):
            return LeftOut(_CHECK)
        if self.accept("EXCLUDE"):
            return LeftOut(_EXCLUSION)
        if self.accept("LIKE"):
            return self._like()
        if constraint and self.accept("EXPECT"):
            return LeftOut("expectation")
        if constraint and self.accept("NOT", "NULL"):  # PostgreSQL 18 names it
            return None
        if self.accept("DEFAULT"):
            default = self.expression()
            if not self.accept("FOR"):
                self.fail("FOR and a column")
            return DefaultOf(self.name("a column"), default, constraint)
        if self.at("PERIOD", "FOR") or self.at("SUPPLEMENTAL", "LOG") or self._at_index():
            return None
        if constraint:
            self.fail("PRIMARY KEY, UNIQUE, FOREIGN KEY or CHECK")
        return self.column()

    def _like(self) -> LikeTable:
        name, included = self.qualified_name("a table"), set()
        while not self.at_end:
            if self.accept("INCLUDING"):
                included.add(self.word())
            self.next()
        return LikeTable(name, bool(included & {"ALL", "DEFAULTS"}), bool(included & {"ALL", "INDEXES"}))

    def _at_index(self) -> bool:
        if self.lexicon.reader == "snowflake":  # whose columns may have the name
            return self.at("INDEX") and self.at_symbol("(", 2) and self.word(1) not in TYPES["snowflake"]
        return self.lexicon.reader == "tsql" and self.at("INDEX")

    def _key(self, name: str, *, is_primary: bool) -> KeyDefinition | KeyOverIndex:
        self.accept("NULLS", "NOT", "DISTINCT")
        self.accept("NULLS", "DISTINCT")
        if self.accept_one("CLUSTERED", "NONCLUSTERED"):
            self.accept_one("HASH", "COLUMNSTORE")
        elif not self.at_symbol("(") and not self.at("USING"):
            self.name("the columns of the key")  # of the index
        if self.accept("USING", "INDEX"):
            return KeyOverIndex(self.qualified_name("an index")[-1], is_primary, name)
        return KeyDefinition(self.key_columns(), is_primary, name)

    def key_columns(self) -> tuple[str | None, ...]:
        """Consume the columns of a key or index."""
        return tuple(member._key_column() for member in self.members())

    def _key_column(self) -> str | None:
        """Read the whole of a key's column; ``None`` for an expression."""
        if not self.at_name:
            return None
        name = self.name()
        if self.accept("COLLATE"):
            self._collation()
        if self.at_name and self.word() not in ("ASC", "DESC", "NULLS"):
            self.qualified_name("an operator class")
        self.accept_one("ASC", "DESC", "TIMESERIES")
        if self.accept("NULLS"):
            self.next()
        return name if self.at_end else None

    # -- columns -----------------------------------------------------------------------------------------------------

    def column(self) -> ColumnDefinition:
        """Read the whole of a column's definition."""
        offset = self.token.start
        column = ColumnDefinition(self.name("a column"), offset, self.statement.script)
        if self.at_end:
            self.fail("a column type", column=column.name)
        if not self.at("AS") and not self.at("GENERATED"):
            column.type, column.type_name = self.type()
        self.options(column)
        return column

    def options(self, column: ColumnDefinition) -> None:
        """Read the options of a column up to the end."""
        while not self.at_end:
            self._option(column)

    def _option(self, column: ColumnDefinition) -> None:
        if self.at("CONSTRAINT"):
            self.next()
            if self.word() not in ("PRIMARY", "UNIQUE", "CHECK", "NOT", "REFERENCES", "DEFAULT"):
                name = self.name()
                column.constraints[self.word()] = name
        elif self.accept("NOT", "NULL"):
            column.nullable = False
        elif self.accept("NOT", "FOR", "REPLICATION") or self.accept("NO", "INHERIT"):
            pass
        elif self.accept("NOT"):
            if not self.accept_one(*_AFTER_NOT):
                self.fail("NULL", column=column.name)
        elif self.accept("NULL"):
            column.nullable = True
        elif self.accept("DEFAULT"):
            if self.accept("ON", "NULL") and self.accept("FOR", "INSERT"):
                self.accept_one("ONLY")
                self.accept("AND", "UPDATE")
            column.default = self.expression()
        elif self.accept("PRIMARY", "KEY"):
            column.is_primary = True
        elif self.accept("UNIQUE"):
            column.is_unique = True
            self.accept("NULLS", "NOT", "DISTINCT")
            self.accept("KEY")
        elif self.accept("CHECK"):
            self.balanced()
            column.left_out.append(_CHECK)
        elif self.at("REFERENCES") or self.at("FOREIGN", "KEY"):
            if self.accept("FOREIGN", "KEY") and self.at_symbol("("):
                self.balanced()
            if not self.accept("REFERENCES"):
                self.fail("REFERENCES", column=column.name)
            self._reference()
            column.left_out.append(_FOREIGN)
        elif self.accept("COLLATE"):
            self._collation()
            column.left_out.append(_COLLATION)
        elif self.accept("COMMENT"):
            self.accept("IS")
            column.comment = self.string("a comment")
        elif self.accept("OPTIONS"):
            column.comment = self.description() or column.comment
        elif self.at("GENERATED") or self.at("AS"):
            self._generated(column)
        elif self.accept_one("IDENTITY", "AUTOINCREMENT", "AUTO_INCREMENT"):
            self._identity(column)
        else:
            self._other_option(column)

    def _other_option(self, column: ColumnDefinition) -> None:
        """Consume an option without an effect on rows."""
        if self.accept_one(*_NO_EFFECT) or self.accept("COLUMN_SET", "FOR", "ALL_SPARSE_COLUMNS"):
            return
        if self.accept_one(*_NO_EFFECT_WITH_NAME):
            self.balanced()
        elif self.accept("USING"):  # INDEX, with all that follows
            while not self.at_end and self.word() not in (
                "CONSTRAINT",
                "ENABLE",
                "DISABLE",
                "NOT",
                "CHECK",
                "REFERENCES",
            ):
                self.balanced()
        elif self.accept_one(
            "WITH", "MASKED", "MASKING", "PROJECTION", "TAG", "POLICY", "ENCRYPT", "ENCRYPTED", "MASK"
        ):
            while not self.at_end and self.word() not in _STOPS:
                self.balanced()
        elif self.accept("AFTER"):
            column.after = self.name("a column")
        elif self.accept("FIRST"):
            column.after = ""
        elif self.accept_one("ON", "INDEX", "HASH"):
            if not self.at("WITH"):
                self.balanced()
        elif self.at_symbol("("):
            self.balanced()
        else:
            self.fail("an option of a column", column=column.name)

    def expression(self) -> list[Token]:
        """Consume an expression that ends where an option begins."""
        taken: list[Token] = []
        is_operand = True
        while not self.at_end:
            word = self.word()
            if not is_operand and not (word == "FOR" and taken[-1].word == "VALUE"):  # NEXT VALUE FOR
                if word in _STOPS or (word == "NOT" and self.word(1) in _AFTER_NOT):
                    break
                if word == "WITH" and self.word(1) not in ("TIME", "LOCAL"):
                    break
            part = self.balanced()
            is_operand = len(part) == 1 and part[0].kind == "symbol" and part[0].text not in (")", "]")
            taken += part
        if not taken:
            self.fail("an expression")
        return taken

    def string(self, what: str) -> str:
        """Consume a string, which may have an = before it."""
        self.accept_symbol("=")
        if self.token.kind != "string":
            self.fail(what)
        return self.next().text

    def description(self) -> str | None:
        """Consume the OPTIONS of BigQuery and return the description."""
        found = None
        for member in self.members():
            if member.accept("DESCRIPTION") and member.accept_symbol("=") and member.token.kind == "string":
                found = member.token.text
        return found

    def _collation(self) -> None:
        self.balanced()
        while self.accept_symbol("."):
            self.next()

    def _reference(self) -> None:
        """Consume what follows REFERENCES."""
        self.qualified_name("a table")
        if self.at_symbol("("):
            self.balanced()
        while True:
            if self.accept("MATCH"):
                self.next()
            elif self.at("ON", "DELETE") or self.at("ON", "UPDATE"):
                self.accept("ON")
                self.next()
                if self.accept_one("SET", "NO"):
                    self.next()
                    if self.at_symbol("("):
                        self.balanced()
                else:
                    self.next()
            else:
                return

    def _generated(self, column: ColumnDefinition) -> None:
        if self.accept("GENERATED"):
            if not self.accept("ALWAYS") and not self.accept("BY", "DEFAULT"):
                self.fail("ALWAYS or BY DEFAULT", column=column.name)
            self.accept("ON", "NULL")
        if not self.accept("AS"):
            self.fail("AS", column=column.name)
        if self.accept("IDENTITY"):
            self._identity(column)
        elif self.accept("ROW"):
            self.next()  # START or END
        else:
            column.generated = self.expression()
            column.is_stored = bool(self.accept_one("STORED", "PERSISTED"))

    def _identity(self, column: ColumnDefinition) -> None:
        """Consume the options of a column's sequence."""
        column.counts = True
        if self.lexicon.reader in _NOT_NULL_IDENTITY and column.nullable is None:
            column.nullable = False
        if self.at_symbol("("):
            self.balanced()
        while (
            self.word() in _OF_SEQUENCES or (self.token.kind == "number") or self.at_symbol("-") or self.at_symbol("=")
        ):
            self.next()


def one_line(text: str) -> str:
    """Return text with single spaces, as in a sentence."""
    return re.sub(r"\s+", " ", text).strip()
