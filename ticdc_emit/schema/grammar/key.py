"""Keys, indexes and constraints of a table. Tokens in, :class:`~ticdc_emit.schema.nodes.Constraint` nodes out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``Constraint``, ``IndexOption``, ``SplitOption``).
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.schema.grammar.column import ColumnGrammar
from ticdc_emit.schema.nodes.keys import Constraint, ConstraintKind, IndexOptions, Split
from ticdc_emit.schema.nodes.style import Node

__all__ = ["KeyGrammar"]

_INDEX_TYPES = ("BTREE", "HASH", "RTREE", "HYPO", "HNSW", "INVERTED")
_CONSTRAINT_WORDS = ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK")
_FIRST_WORDS = frozenset({"CONSTRAINT", *_CONSTRAINT_WORDS, "KEY", "INDEX", "FULLTEXT", "VECTOR", "COLUMNAR"})


class KeyGrammar(ColumnGrammar):
    def _if_not_exists(self) -> bool:
        return self._accept("IF", "NOT", "EXISTS")

    def _if_exists(self) -> bool:
        return self._accept("IF", "EXISTS")

    def _constraint(self) -> Constraint | None:
        """Consume a constraint or index definition if one starts here."""
        if self._word_at() not in _FIRST_WORDS:
            return None
        offset = self._curr.start
        symbol: str | None = None
        constrained = self._accept("CONSTRAINT")
        if constrained and not self._constraint_word():
            symbol = self._name("a constraint name")
        constraint = self._constraint_body(offset)
        if constraint is None:
            if constrained:
                self._fail("expected PRIMARY KEY, UNIQUE, FOREIGN KEY or CHECK")
            return None
        if symbol is not None:
            constraint = replace(constraint, name=symbol, has_empty_name=not symbol)
        return constraint

    def _constraint_word(self) -> bool:
        return self._word_at() in (*_CONSTRAINT_WORDS, "KEY", "INDEX", "FULLTEXT")

    def _constraint_body(self, offset: int) -> Constraint | None:
        if self._accept("PRIMARY", "KEY"):
            return self._index_definition("primary", offset)
        if self._accept("UNIQUE"):
            self._accept_any("KEY", "INDEX")
            return self._index_definition("unique", offset)
        if self._accept("FOREIGN", "KEY"):
            return self._foreign_key(offset)
        if self._accept("CHECK"):
            check = self._parenthesised()
            return Constraint("check", check=check, enforced=self._enforced(), offset=offset)
        if self._accept_any("KEY", "INDEX"):
            return self._index_definition("index", offset)
        if self._accept("FULLTEXT"):
            self._accept_any("KEY", "INDEX")
            return self._index_definition("fulltext", offset)
        if self._word_at(1) == "INDEX" and (word := self._accept_any("VECTOR", "COLUMNAR")):
            self._advance()
            return replace(self._index_definition("columnar", offset), word=word)
        return None

    def _index_definition(self, kind: ConstraintKind, offset: int) -> Constraint:
        if_not_exists = kind in ("index", "columnar") and self._if_not_exists()
        name: str | None = None
        using = ""
        if not self._symbol_at("(") and self._word_at() != "USING":
            name = self._name("an index name")
        if kind != "fulltext" and (self._at_words("USING") or (name is not None and self._at_words("TYPE"))):
            using = self._index_type()
        keys = self._key_parts()
        options = self._index_options()
        if using:
            options = replace(options, using=using)
        return Constraint(
            kind, name or "", keys, options, if_not_exists, has_empty_name=name is not None and not name, offset=offset
        )

    def _foreign_key(self, offset: int) -> Constraint:
        if_not_exists = self._if_not_exists()
        name = "" if self._symbol_at("(") else self._name("an index name")
        keys = self._key_parts()
        self._expect("REFERENCES")
        reference = self._reference()
        return Constraint("foreign", name, keys, if_not_exists=if_not_exists, reference=reference, offset=offset)

    def _index_type(self) -> str:
        """Consume USING or TYPE and the type."""
        self._advance()
        return self._expect_any(*_INDEX_TYPES)

    def _index_options(self) -> IndexOptions:
        options = IndexOptions()
        while (option := self._index_option()) is not None:
            options = replace(options, **option)  # type: ignore[arg-type]
        return options

    def _index_option(self) -> dict[str, object] | None:
        """Consume one option; {} for one without effect, None if none follows."""
        word = self._word_at()
        if word in ("CLUSTERED", "NONCLUSTERED"):
            return {"clustered": self._clustered()}
        if self._accept_any("VISIBLE", "INVISIBLE"):
            return {"visible": word == "VISIBLE"}
        if self._accept("COMMENT"):
            return _said("comment", self._string("a comment"))
        if word in ("USING", "TYPE"):
            return {"using": self._index_type()}
        if self._accept("WITH", "PARSER"):
            return _said("parser", self._name("a parser"))
        if self._accept("KEY_BLOCK_SIZE"):
            self._equals()
            return _said("key_block_size", self._integer())
        if self._accept("PRE_SPLIT_REGIONS"):
            self._equals()
            is_rule = self._symbol_at("(")
            return {"pre_split": self._in_parentheses(self._split) if is_rule else Split(regions=self._integer())}
        if self._accept("SECONDARY_ENGINE_ATTRIBUTE"):
            self._equals()
            return _said("engine_attribute", self._string())
        if self._accept("ADD_COLUMNAR_REPLICA_ON_DEMAND"):
            return {"columnar_on_demand": True}
        if self._accept_any("GLOBAL", "LOCAL"):
            return _said("is_global", word == "GLOBAL")
        return {"where": self._with_text()} if self._accept("WHERE") else None

    # -- splitting regions ---------------------------------------------------------------------------------------

    def _split(self) -> Split:
        if self._accept("BY"):
            return Split(rows=self._list(self._row_value))
        return self._split_between()

    def _split_between(self) -> Split:
        self._expect("BETWEEN")
        low = self._row_value()
        self._expect("AND")
        high = self._row_value()
        self._expect("REGIONS")
        return Split(low, high, self._integer("a number of regions"))

    def _row_value(self) -> tuple[Node, ...]:
        self._expect_symbol("(")
        if self._accept_symbol(")"):
            return ()
        members = self._list(lambda: self._default_or(self._expression))
        self._expect_symbol(")")
        return members

    def _split_index(self) -> tuple[str | None, Split]:
        """SPLIT has been consumed: the index ("" for the primary key, None for the table), and where."""
        if self._accept("PRIMARY", "KEY"):
            return "", self._split_between()
        if self._accept("INDEX"):
            return self._name("an index"), self._split_between()
        return None, self._split_between()


def _said(name: str, value: object) -> dict[str, object]:
    """An empty option does not override an earlier one."""
    return {name: value} if value else {}
