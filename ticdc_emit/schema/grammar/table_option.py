"""Options of tables and partitions. Tokens in, :class:`~ticdc_emit.schema.nodes.TableOption` nodes out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``TableOption``, ``PartDefOption``).
"""

from __future__ import annotations

import re

from ticdc_emit.schema.grammar.key import KeyGrammar
from ticdc_emit.schema.nodes.table_options import TableOption, TtlOption, UnionOption

__all__ = ["TableOptionGrammar"]

_NUMBERS = frozenset(
    """
    AUTO_INCREMENT AUTO_ID_CACHE AUTO_RANDOM_BASE AVG_ROW_LENGTH CHECKSUM TABLE_CHECKSUM KEY_BLOCK_SIZE DELAY_KEY_WRITE
    SHARD_ROW_ID_BITS PRE_SPLIT_REGIONS STATS_BUCKETS STATS_TOPN PAGE_CHECKSUM PAGE_COMPRESSED PAGE_COMPRESSION_LEVEL
    TRANSACTIONAL SEQUENCE MAX_ROWS MIN_ROWS NODEGROUP
    """.split()  # noqa: SIM905 (a table of words)
)
_NUMBERS_OR_DEFAULT = ("STATS_AUTO_RECALC", "STATS_SAMPLE_PAGES", "STATS_PERSISTENT", "PACK_KEYS")
_STRINGS = frozenset(
    """
    CONNECTION PASSWORD COMPRESSION STATS_COL_CHOICE STATS_COL_LIST TTL_JOB_INTERVAL COMMENT SECONDARY_ENGINE_ATTRIBUTE
    """.split()  # noqa: SIM905 (a table of words)
)
_NAMES_OR_STRINGS = ("ENGINE", "ENGINE_ATTRIBUTE", "INSERT_METHOD", "AUTOEXTEND_SIZE", "AFFINITY", "IETF_QUOTES")
_PARTITION_OPTIONS = frozenset(
    """
    COMMENT ENGINE ENGINE_ATTRIBUTE SECONDARY_ENGINE_ATTRIBUTE INSERT_METHOD DATA INDEX MAX_ROWS MIN_ROWS TABLESPACE
    NODEGROUP PLACEMENT STORAGE
    """.split()  # noqa: SIM905 (a table of words)
)
_ROW_FORMATS = (
    *("DEFAULT", "DYNAMIC", "FIXED", "COMPRESSED", "REDUNDANT", "COMPACT", "TOKUDB_DEFAULT", "TOKUDB_FAST"),
    *("TOKUDB_SMALL", "TOKUDB_ZLIB", "TOKUDB_ZSTD", "TOKUDB_QUICKLZ", "TOKUDB_LZMA", "TOKUDB_SNAPPY"),
    "TOKUDB_UNCOMPRESSED",
)
_DURATION = re.compile(r"(?:\d+(?:\.\d*)?(?:d|h|m))+", re.ASCII)


class TableOptionGrammar(KeyGrammar):
    def _table_options(self, *, commas: bool = True) -> tuple[TableOption, ...]:
        """Options up to the first other token; CREATE TABLE allows ``commas`` between them."""
        options: list[TableOption] = []
        while (option := self._table_option()) is not None:
            options.append(option)
            if commas and self._accept_symbol(",") and not self._at_table_option():
                self._fail("expected a table option")
        return tuple(options)

    def _at_table_option(self) -> bool:
        start = self._index
        found = self._table_option() is not None
        self._retreat(start)
        return found

    def _table_option(self) -> TableOption | None:
        offset = self._curr.start
        start = self._index
        self._accept("DEFAULT")
        if self._charset_keyword():
            self._equals()
            return TableOption("charset", self._charset_name())
        if self._accept("COLLATE"):
            self._equals()
            return TableOption("collate", self._collation_name())
        self._retreat(start)
        forced = self._word_at(1) in ("AUTO_INCREMENT", "AUTO_RANDOM_BASE") and self._accept("FORCE")
        word = self._word_at()
        if word in _NUMBERS:
            self._advance()
            self._equals()
            return TableOption(word.lower(), self._integer(), forced)
        if word in _STRINGS:
            return self._string_option(word)
        if word in _NAMES_OR_STRINGS:
            self._advance()
            self._equals()
            return TableOption(word.lower(), self._name_or_string("a name or string"), offset=offset)
        if word in _NUMBERS_OR_DEFAULT:
            return self._number_or_default(word)
        return self._irregular_table_option(word)

    def _string_option(self, word: str) -> TableOption:
        self._advance()
        self._equals()
        value = self._string()
        if word == "TTL_JOB_INTERVAL" and not _DURATION.fullmatch(value):
            self._fail("expected a duration such as '1h'", self._prev)
        return TableOption(word.lower(), value)

    def _number_or_default(self, word: str) -> TableOption:
        self._advance()
        self._equals()
        if self._accept("DEFAULT"):
            return TableOption(word.lower(), None)
        number = self._integer()
        if word == "STATS_AUTO_RECALC" and number > 1:
            self._fail("expected 0, 1 or DEFAULT", self._prev)
        return TableOption(word.lower(), number)

    def _irregular_table_option(self, word: str) -> TableOption | None:
        if word in ("DATA", "INDEX") and self._word_at(1) == "DIRECTORY":
            self._advance(2)
            self._equals()
            return TableOption(f"{word.lower()}_directory", self._string())
        if word == "STORAGE":
            return self._storage_option()
        if word == "PLACEMENT" and self._word_at(1) == "POLICY":
            self._advance(2)
            return TableOption("placement_policy", self._policy())
        rule = {
            "ROW_FORMAT": self._row_format,
            "SECONDARY_ENGINE": self._secondary_engine,
            "TABLESPACE": self._tablespace,
            "UNION": self._union_option,
            "ENCRYPTION": self._encryption,
            "TTL": self._ttl,
            "TTL_ENABLE": self._ttl_enable,
            "STATS_SAMPLE_RATE": self._stats_sample_rate,
        }.get(word)
        if rule is None:
            return None
        self._advance()
        self._equals()
        return rule()

    def _storage_option(self) -> TableOption | None:
        following = self._word_at(1)
        if following not in ("MEMORY", "DISK", "ENGINE"):
            return None
        self._advance(2)
        if following != "ENGINE":
            return TableOption("storage", following)
        self._equals()
        return TableOption("engine", self._name_or_string("an engine"))

    def _policy(self) -> str:
        """The placement policy after its keywords, "" for DEFAULT."""
        if self._accept("SET"):
            self._expect("DEFAULT")
            return ""
        self._equals()
        return "" if self._accept("DEFAULT") else self._name_or_string("a policy")

    def _row_format(self) -> TableOption:
        return TableOption("row_format", self._expect_any(*_ROW_FORMATS))

    def _secondary_engine(self) -> TableOption:
        return TableOption("secondary_engine", None if self._accept("NULL") else self._name_or_string("an engine"))

    def _tablespace(self) -> TableOption:
        return TableOption("tablespace", self._name("a tablespace"))

    def _union_option(self) -> TableOption:
        self._expect_symbol("(")
        tables = () if self._symbol_at(")") else self._list(self._table_name)
        self._expect_symbol(")")
        return UnionOption("union", tables=tables)

    def _encryption(self) -> TableOption:
        return TableOption("encryption", self._encryption_value())

    def _encryption_value(self) -> str:
        value = self._string()
        if value not in ("Y", "y", "N", "n"):
            self._fail("expected 'Y' or 'N'", self._prev)
        return value

    def _ttl(self) -> TableOption:
        column = self._name("a column name")
        self._expect_symbol("+")
        self._expect("INTERVAL")
        amount = self._literal()
        if amount is None:
            self._fail("expected an interval")
        return TtlOption("ttl", column, amount=amount, unit=self._time_unit())

    def _ttl_enable(self) -> TableOption:
        value = self._string().upper()
        if value not in ("ON", "OFF"):
            self._fail("expected 'ON' or 'OFF'", self._prev)
        return TableOption("ttl_enable", value)

    def _stats_sample_rate(self) -> TableOption:
        number = self._number()
        if number is None:
            self._fail("expected a number")
        return TableOption("stats_sample_rate", number.restore())

    # -- partitions ----------------------------------------------------------------------------------------------

    def _partition_options(self) -> tuple[TableOption, ...]:
        options: list[TableOption] = []
        while self._word_at() in _PARTITION_OPTIONS and not self._at_storage_medium():
            option = self._table_option()
            if option is None:
                break
            options.append(option)
        return tuple(options)

    def _at_storage_medium(self) -> bool:
        return self._at_words("STORAGE") and self._word_at(1) != "ENGINE"
