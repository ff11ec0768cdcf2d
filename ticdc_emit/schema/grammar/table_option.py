"""Options of a table. Tokens in, :class:`~ticdc_emit.schema.nodes.TableOption` nodes out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``TableOption``).
"""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from ticdc_emit.schema.grammar.key import KeyGrammar
from ticdc_emit.schema.nodes import TableOption

__all__ = ["TableOptionGrammar"]

_NUMBER_OPTIONS = frozenset(
    {
        "AUTO_INCREMENT",
        "AUTO_ID_CACHE",
        "AUTO_RANDOM_BASE",
        "SHARD_ROW_ID_BITS",
        "PRE_SPLIT_REGIONS",
        "AVG_ROW_LENGTH",
        "CHECKSUM",
        "TABLE_CHECKSUM",
        "KEY_BLOCK_SIZE",
        "DELAY_KEY_WRITE",
        "MAX_ROWS",
        "MIN_ROWS",
        "STATS_BUCKETS",
        "STATS_TOPN",
        "PAGE_CHECKSUM",
        "PAGE_COMPRESSED",
        "PAGE_COMPRESSION_LEVEL",
        "TRANSACTIONAL",
        "SEQUENCE",
        "STATS_SAMPLE_RATE",
    }
)
_TEXT_OPTIONS = frozenset(
    {
        "COMMENT",
        "CONNECTION",
        "PASSWORD",
        "COMPRESSION",
        "ENCRYPTION",
        "STATS_COL_CHOICE",
        "STATS_COL_LIST",
        "TTL_ENABLE",
        "TTL_JOB_INTERVAL",
        "ENGINE_ATTRIBUTE",
        "SECONDARY_ENGINE_ATTRIBUTE",
        "INSERT_METHOD",
        "TABLESPACE",
        "DATA",
        "INDEX",
        "AUTOEXTEND_SIZE",
        "AFFINITY",
        "IETF_QUOTES",
        "ENGINE",
        "ROW_FORMAT",
        "SECONDARY_ENGINE",
    }
)
_WORD_OR_NUMBER_OPTIONS = frozenset({"STATS_PERSISTENT", "STATS_AUTO_RECALC", "STATS_SAMPLE_PAGES", "PACK_KEYS"})
_TIME_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")


class TableOptionGrammar(KeyGrammar):
    def _table_options(self, *, commas: bool = True) -> tuple[TableOption, ...]:
        """Options up to the first token that is none; CREATE TABLE allows ``commas`` between them."""
        options: list[TableOption] = []
        while (option := self._table_option()) is not None:
            options.append(option)
            if commas and self._accept_symbol(",") and self._at_end:
                self._fail("expected a table option")
        return tuple(options)

    def _table_option(self) -> TableOption | None:
        start = self._index
        self._accept("DEFAULT")
        if self._charset_keyword():
            self._accept_symbol("=")
            return TableOption("charset", self._charset_or_collation_name())
        if self._accept("COLLATE"):
            self._accept_symbol("=")
            return TableOption("collate", self._charset_or_collation_name())
        self._retreat(start)
        if self._accept("FORCE"):
            if self._word_at() not in ("AUTO_INCREMENT", "AUTO_RANDOM_BASE"):
                return TableOption("force")
        elif self._word_at() in ("TTL", "UNION", "STORAGE", "PLACEMENT", "DATA", "INDEX"):
            return self._irregular_table_option(self._word_at())
        word = self._word_at()
        if word in _NUMBER_OPTIONS:
            return TableOption(word.lower(), self._number_option())
        if word in _TEXT_OPTIONS:
            self._advance()
            self._accept_symbol("=")
            return TableOption(word.lower(), self._text_value())
        if word in _WORD_OR_NUMBER_OPTIONS:
            self._advance()
            self._accept_symbol("=")
            if not self._accept("DEFAULT"):
                self._integer()
            return TableOption(word.lower())
        return None

    def _number_option(self) -> int:
        self._advance()
        self._accept_symbol("=")
        return int(self._decimal())

    def _text_value(self) -> str:
        if self._curr.token_type is TokenType.STRING:
            return self._string()
        if self._word_at():  # ENGINE = InnoDB, ROW_FORMAT = DEFAULT, SECONDARY_ENGINE = NULL
            self._advance()
            return self._prev.text
        return self._name("an option value")

    def _irregular_table_option(self, word: str) -> TableOption | None:
        following = self._word_at(1)
        if word == "DATA" or word == "INDEX":
            if following != "DIRECTORY":
                return None
            self._advance(2)
            self._accept_symbol("=")
            return TableOption("directory", self._string())
        self._advance()
        if word == "STORAGE":
            self._accept_any("MEMORY", "DISK")
            return TableOption("storage")
        if word == "PLACEMENT":
            self._expect("POLICY")
        self._accept_symbol("=")
        if word == "PLACEMENT":
            return TableOption("placement_policy", "" if self._accept("DEFAULT") else self._name_or_string("a policy"))
        if word == "UNION":
            self._skip_parentheses()
            return TableOption("union")
        column = self._name("a column name")
        self._expect_symbol("+")
        self._expect("INTERVAL")
        if self._signed_literal() is None:
            self._fail("expected an interval")
        if not self._accept_any(*_TIME_UNITS):
            self._fail("expected a time unit")
        return TableOption("ttl", column)
