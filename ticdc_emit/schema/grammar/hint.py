"""Optimizer hints, ``/*+ ... */`` after SELECT. A hint comment's token in, :class:`Hint` nodes out.

Rule source: pingcap/tidb ``pkg/parser/hintparser.y``. A hint that is not in the tables below is an error here. TiDB
either drops it with a warning or prints it; which of the two is not known.
"""

from __future__ import annotations

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.grammar.base import BaseGrammar
from ticdc_emit.schema.nodes.hints import Hint, HintTable
from ticdc_emit.schema.sql_mode import SqlMode
from ticdc_emit.schema.tokens import Token, scan

__all__ = ["read_hints"]

_OF_TABLES = frozenset(
    """
    TIDB_HJ TIDB_SMJ TIDB_INLJ HASH_JOIN HASH_JOIN_BUILD HASH_JOIN_PROBE MERGE_JOIN INL_JOIN BROADCAST_JOIN
    SHUFFLE_JOIN INL_HASH_JOIN INL_MERGE_JOIN NO_HASH_JOIN NO_MERGE_JOIN NO_INDEX_JOIN NO_INDEX_HASH_JOIN
    NO_INDEX_MERGE_JOIN
    """.split()  # noqa: SIM905 (a table of words)
)
_OF_INDEXES = ("USE_INDEX", "IGNORE_INDEX", "USE_INDEX_MERGE", "FORCE_INDEX", "ORDER_INDEX", "NO_ORDER_INDEX")
_OF_NOTHING = frozenset(
    """
    MPP_1PHASE_AGG MPP_2PHASE_AGG HASH_AGG STREAM_AGG AGG_TO_COP READ_CONSISTENT_REPLICA NO_INDEX_MERGE
    IGNORE_PLAN_CACHE USE_PLAN_CACHE LIMIT_TO_COP STRAIGHT_JOIN MERGE NO_DECORRELATE
    """.split()  # noqa: SIM905 (a table of words)
)


def read_hints(token: Token, sql: str) -> tuple[Hint, ...]:
    """Return the hints of one comment; ``DdlError`` with its place in the statement if one is not understood."""
    text = token.value
    try:
        return _HintGrammar(text, scan(text, SqlMode()), SqlMode()).hints()
    except DdlError as error:
        raise DdlError(error.message, statement=sql, position=token.start, remedy=error.remedy) from None


class _HintGrammar(BaseGrammar):
    def hints(self) -> tuple[Hint, ...]:
        hints: list[Hint] = []
        while not self._at_end:
            hints.append(self._hint())
            self._accept_symbol(",")
        return tuple(hints)

    def _hint(self) -> Hint:
        name = self._curr.value
        word = self._any_word("a hint")
        self._expect_symbol("(")
        if word == "QB_NAME":
            hint = Hint(name, block=self._name(), bare_block=True)
        else:
            block = self._block()
            if word in _OF_TABLES:
                hint = Hint(name, block, () if self._symbol_at(")") else self._list(self._table))
            elif word in _OF_INDEXES:
                table = self._table()
                self._accept_symbol(",")
                indexes = () if self._symbol_at(")") else self._names("an index")
                hint = Hint(name, block, (table,), indexes, has_indexes=True)
            elif word == "MAX_EXECUTION_TIME":
                hint = Hint(name, block, number=self._integer())
            elif word in _OF_NOTHING:
                hint = Hint(name, block, without_arguments=True)
            else:
                self._fail("this optimizer hint is not understood", self._tokens[self._index - 2])
        self._expect_symbol(")")
        return hint

    def _block(self) -> str:
        if self._curr.kind != "variable":
            return ""
        name = self._curr.value
        self._advance()
        return name

    def _table(self) -> HintTable:
        table = self._table_name()
        block = self._block()
        partitions: tuple[str, ...] = ()
        if self._accept("PARTITION"):
            partitions = self._in_parentheses(lambda: self._names("a partition"))
        return HintTable(table, block, partitions)
