"""Keys, indexes and constraints of a table. Tokens in, :class:`~ticdc_emit.schema.nodes.Constraint` nodes out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``Constraint``, ``IndexOption``, ``IndexPartSpecification``).
"""

from __future__ import annotations

from typing import Literal as Choice

from ticdc_emit.schema.grammar.column import ColumnGrammar
from ticdc_emit.schema.nodes import Constraint, KeyPart

__all__ = ["KeyGrammar"]

ConstraintKind = Choice["primary", "unique", "index", "foreign", "check", "fulltext", "columnar"]


class KeyGrammar(ColumnGrammar):
    def _if_not_exists(self) -> bool:
        return self._accept("IF", "NOT", "EXISTS")

    def _if_exists(self) -> bool:
        return self._accept("IF", "EXISTS")

    def _constraint(self) -> Constraint | None:
        """Consume a constraint or index definition if one starts here."""
        offset = self._curr.start
        symbol = ""
        named = self._accept("CONSTRAINT")
        if named and self._word_at() not in ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
            symbol = self._name("a constraint name")
        if self._accept("PRIMARY", "KEY"):
            return self._index_definition("primary", "", offset)
        if self._accept("UNIQUE"):
            self._accept_any("KEY", "INDEX")
            return self._index_definition("unique", symbol, offset)
        if self._accept("FOREIGN", "KEY"):
            return self._foreign_key(symbol, offset)
        if self._accept("CHECK"):
            self._parenthesised()
            self._enforced()
            return Constraint("check", symbol, offset=offset)
        if named:
            self._fail("expected PRIMARY KEY, UNIQUE, FOREIGN KEY or CHECK")
        if self._accept_any("KEY", "INDEX"):
            return self._index_definition("index", "", offset)
        if self._accept_any("FULLTEXT"):
            self._accept_any("KEY", "INDEX")
            return self._index_definition("fulltext", "", offset)
        if self._word_at() in ("VECTOR", "COLUMNAR") and self._word_at(1) in ("INDEX", "KEY"):
            self._advance(2)
            return self._index_definition("columnar", "", offset)
        return None

    def _index_definition(self, kind: ConstraintKind, name: str, offset: int) -> Constraint:
        if_not_exists = self._if_not_exists()
        if not self._symbol_at("(") and self._word_at() not in ("USING", "TYPE"):
            given = self._name("an index name")
            name = name if kind == "primary" else given
        elif self._word_at() == "TYPE" and self._word_at(1) not in ("BTREE", "HASH", "RTREE", "HYPO"):
            name = self._name("an index name")
        self._index_type()
        keys = self._key_parts()
        clustered, visible = self._index_options()
        return Constraint(kind, name, keys, clustered, visible, if_not_exists, offset=offset)

    def _foreign_key(self, name: str, offset: int) -> Constraint:
        self._if_not_exists()
        if not self._symbol_at("("):
            given = self._name("an index name")
            name = name or given
        keys = self._key_parts()
        self._expect("REFERENCES")
        table, columns = self._references()
        return Constraint("foreign", name, keys, references=table, reference_columns=columns, offset=offset)

    def _index_type(self) -> None:
        if self._accept_any("USING", "TYPE") and not self._accept_any(
            "BTREE", "HASH", "RTREE", "HYPO", "HNSW", "INVERTED"
        ):
            self._fail("expected an index type")

    def _key_parts(self) -> tuple[KeyPart, ...]:
        self._expect_symbol("(")
        parts = [self._key_part()]
        while self._accept_symbol(","):
            parts.append(self._key_part())
        self._expect_symbol(")")
        return tuple(parts)

    def _key_part(self) -> KeyPart:
        if self._symbol_at("("):
            part = KeyPart(expression=self._parenthesised())
        elif self._symbol_at("(", 1) and self._word_at().startswith("VEC_"):
            self._advance()
            part = KeyPart(column=self._parenthesised().text.strip("`"))
        else:
            part = KeyPart(column=self._column_name(), length=self._length())
        self._accept_any("ASC", "DESC")
        return part

    def _index_options(self) -> tuple[bool | None, bool]:
        clustered: bool | None = None
        visible = True
        while True:
            if (given := self._clustered()) is not None:
                clustered = given
            elif word := self._accept_any("VISIBLE", "INVISIBLE"):
                visible = word == "VISIBLE"
            elif self._accept("COMMENT"):
                self._string("a comment")
            elif self._word_at() in ("USING", "TYPE"):
                self._index_type()
            elif self._accept("WITH", "PARSER"):
                self._name("a parser")
            elif word := self._accept_any("KEY_BLOCK_SIZE", "PRE_SPLIT_REGIONS"):
                self._accept_symbol("=")
                _ = self._parenthesised() if self._symbol_at("(") else self._integer()
            elif word := self._accept_any("SECONDARY_ENGINE_ATTRIBUTE", "ENGINE_ATTRIBUTE"):
                self._accept_symbol("=")
                self._string()
            elif self._accept("ADD_COLUMNAR_REPLICA_ON_DEMAND") or self._accept_any("GLOBAL", "LOCAL"):
                continue
            else:
                return clustered, visible
