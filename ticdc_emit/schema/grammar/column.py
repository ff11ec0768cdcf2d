"""Column definitions and their options. Tokens in, :class:`ColumnDef` out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``ColumnDef``, ``ColumnOption``, ``ReferDef``).
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.types import TypeGrammar
from ticdc_emit.schema.nodes.columns import (
    AutoRandom,
    CheckOption,
    ClauseOption,
    CollateOption,
    ColumnDef,
    ColumnOption,
    CommentOption,
    GeneratedOption,
    KeyOption,
    ReferenceOption,
    TypeSpec,
)
from ticdc_emit.schema.nodes.keys import KeyPart, Reference
from ticdc_emit.schema.nodes.style import string
from ticdc_emit.schema.types import MySQLType

__all__ = ["ColumnGrammar"]

_OPTION_WORDS = frozenset(
    {
        *("NOT", "NULL", "AUTO_INCREMENT", "AUTO_RANDOM", "PRIMARY", "KEY", "UNIQUE", "DEFAULT", "COMMENT", "SERIAL"),
        *("ON", "COLLATE", "GENERATED", "AS", "CONSTRAINT", "CHECK", "REFERENCES", "COLUMN_FORMAT", "STORAGE"),
        "SECONDARY_ENGINE_ATTRIBUTE",
    }
)
_NOT_NULL = (ColumnOption("not null"),)
_PLAIN_OPTIONS = {"NULL": (ColumnOption("null"),), "AUTO_INCREMENT": (ColumnOption("auto_increment"),)}
_FORMATS, _STORAGES = ("DEFAULT", "FIXED", "DYNAMIC"), ("DEFAULT", "DISK", "MEMORY")
_SERIAL = (ColumnOption("not null"), ColumnOption("auto_increment"), KeyOption("unique"))
_NOT_WITH_GENERATED = {
    "auto_increment": "AUTO_INCREMENT",
    "on update": "ON UPDATE",
    "default": "DEFAULT",
    "auto_random": "AUTO_RANDOM",
}


class ColumnGrammar(TypeGrammar):
    def _column_def(self) -> ColumnDef:
        offset = self._curr.start
        *qualifier, name = self._column().parts
        if self._accept("SERIAL"):
            spec, options = TypeSpec(MySQLType.LONGLONG, unsigned=True), _SERIAL + self._column_options()
        else:
            spec, options = self._type(), self._column_options()
        return ColumnDef(name, spec, options, offset, tuple(qualifier))

    def _column_options(self) -> tuple[ColumnOption, ...]:
        start = self._curr
        options: list[ColumnOption] = []
        while (option := self._column_option()) is not None:
            options.extend(option)
        kinds = [option.kind for option in options]
        if any(kind.startswith("generated") for kind in kinds):
            for kind in kinds:
                if kind in _NOT_WITH_GENERATED:
                    self._fail(f"a generated column takes no {_NOT_WITH_GENERATED[kind]}", start)
        return tuple(options)

    def _column_option(self) -> tuple[ColumnOption, ...] | None:
        """Consume one option; None if none follows."""
        word = self._word_at()
        if word not in _OPTION_WORDS:
            return None
        if word == "NOT":
            self._advance()
            self._expect("NULL")
            return _NOT_NULL
        if plain := _PLAIN_OPTIONS.get(word):
            self._advance()
            return plain
        if self._accept("AUTO_RANDOM"):
            return (AutoRandom("auto_random", *self._precision()),)
        if self._accept("PRIMARY", "KEY") or self._accept("KEY"):
            return (KeyOption("primary key", self._clustered(), self._global()),)
        if self._accept("UNIQUE"):
            self._accept("KEY")
            return (KeyOption("unique", None, self._global()),)
        if self._accept("DEFAULT"):
            return (self._default(),)
        if self._accept("COMMENT"):
            return (CommentOption("comment", self._string("a comment")),)
        if self._accept("SERIAL", "DEFAULT", "VALUE"):
            return _SERIAL
        if self._accept("ON", "UPDATE"):
            return (self._on_update(),)
        if self._accept("COLLATE"):
            return (CollateOption("collate", self._collation_name()),)
        return self._rare_column_option(word)

    def _rare_column_option(self, word: str) -> tuple[ColumnOption, ...] | None:
        if self._accept("GENERATED", "ALWAYS", "AS") or self._accept("AS"):
            expression = self._parenthesised()
            stored = self._accept_any("VIRTUAL", "STORED") == "STORED"
            return (GeneratedOption("generated stored" if stored else "generated virtual", expression),)
        if word in ("CONSTRAINT", "CHECK"):
            return self._check_option()
        if self._accept("REFERENCES"):
            return (ReferenceOption("references", None, self._reference()),)
        if self._accept("COLUMN_FORMAT"):
            return (ClauseOption("clause", None, "COLUMN_FORMAT " + self._expect_any(*_FORMATS)),)
        if self._accept("STORAGE"):
            return (ClauseOption("clause", None, "STORAGE " + self._expect_any(*_STORAGES)),)
        if self._accept("SECONDARY_ENGINE_ATTRIBUTE"):
            self._equals()
            return (ClauseOption("clause", None, "SECONDARY_ENGINE_ATTRIBUTE = " + string(self._string())),)
        return None

    def _check_option(self) -> tuple[ColumnOption, ...]:
        name = ""
        if self._accept("CONSTRAINT") and self._word_at() != "CHECK":
            name = self._name("a constraint name")
        self._expect("CHECK")
        expression = self._parenthesised()
        if self._accept("NOT", "NULL"):
            return CheckOption("check", expression, name), ColumnOption("not null")
        return (CheckOption("check", expression, name, self._enforced()),)

    def _clustered(self) -> bool | None:
        word = self._accept_any("CLUSTERED", "NONCLUSTERED")
        return None if not word else word == "CLUSTERED"

    def _global(self) -> bool:
        return self._accept_any("GLOBAL", "LOCAL") == "GLOBAL"

    def _enforced(self) -> bool:
        if self._accept("NOT", "ENFORCED"):
            return False
        self._accept("ENFORCED")
        return True

    def _reference(self) -> Reference:
        """REFERENCES has been consumed."""
        table = self._table_name()
        parts = self._key_parts() if self._symbol_at("(") else None
        match = self._expect_any("FULL", "PARTIAL", "SIMPLE") if self._accept("MATCH") else ""
        actions = {"DELETE": "", "UPDATE": ""}
        while self._at_words("ON") and not actions.get(self._word_at(1), "-"):
            event = self._word_at(1)
            self._advance(2)
            actions[event] = self._referential_action()
        return Reference(table, parts, match, actions["DELETE"], actions["UPDATE"])

    def _referential_action(self) -> str:
        if word := self._accept_any("RESTRICT", "CASCADE"):
            return word
        words = (self._word_at(), self._word_at(1))
        if words not in (("SET", "NULL"), ("NO", "ACTION"), ("SET", "DEFAULT")):
            self._fail("expected a referential action")
        self._advance(2)
        return " ".join(words)

    # -- the columns of a key ------------------------------------------------------------------------------------

    def _key_parts(self) -> tuple[KeyPart, ...]:
        return self._in_parentheses(lambda: self._list(self._key_part))

    def _key_part(self) -> KeyPart:
        if self._symbol_at("("):
            expression = self._parenthesised()
            return KeyPart(expression=expression, descending=self._descending())
        *qualifier, name = self._column().parts
        length = self._length()
        return KeyPart(name, length, None, self._descending(), tuple(qualifier))

    def _descending(self) -> bool:
        return self._accept_any("ASC", "DESC") == "DESC"
