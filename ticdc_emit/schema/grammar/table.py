"""Tables: keys, constraints, table options, partitioning. Tokens in, the nodes of CREATE TABLE out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``CreateTableStmt``, ``Constraint``, ``TableOption``,
``PartitionOpt``).
"""

from __future__ import annotations

from typing import Literal as Choice

from sqlglot.tokenizer_core import TokenType

from ticdc_emit.schema.grammar.column import ColumnGrammar
from ticdc_emit.schema.nodes import (
    ColumnDef,
    Constraint,
    Expression,
    KeyPart,
    Partitioning,
    PartitionMethod,
    TableOption,
)
from ticdc_emit.schema.statements import CreateTable, CreateTableLike

__all__ = ["TableGrammar"]

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
_PARTITION_METHODS: dict[str, PartitionMethod] = {
    "RANGE": "range",
    "LIST": "list",
    "HASH": "hash",
    "KEY": "key",
}
_MAX_PARTITIONS = 8192

ConstraintKind = Choice["primary", "unique", "index", "foreign", "check", "fulltext", "columnar"]


class TableGrammar(ColumnGrammar):
    def _if_not_exists(self) -> bool:
        return self._accept("IF", "NOT", "EXISTS")

    def _if_exists(self) -> bool:
        return self._accept("IF", "EXISTS")

    # -- CREATE TABLE --------------------------------------------------------------------------------------------

    def _create_table(self, *, temporary: bool) -> CreateTable | CreateTableLike:
        if_not_exists = self._if_not_exists()
        table = self._table_name()
        if self._accept("LIKE"):
            return CreateTableLike(table, self._table_name(), if_not_exists, temporary)
        if self._symbol_at("(") and self._word_at(1) == "LIKE":
            self._advance(2)
            like = self._table_name()
            self._expect_symbol(")")
            return CreateTableLike(table, like, if_not_exists, temporary)
        if not self._symbol_at("("):
            self._fail("expected the table's columns in parentheses")
        columns, constraints = self._table_elements()
        options = self._table_options()
        partitioning = self._partition_by() if self._accept("PARTITION", "BY") else None
        if self._accept("ON", "COMMIT"):
            _ = self._accept("DELETE", "ROWS") or self._accept("PRESERVE", "ROWS")
        return CreateTable(table, columns, constraints, options, partitioning, if_not_exists, temporary)

    def _table_elements(self) -> tuple[tuple[ColumnDef, ...], tuple[Constraint, ...]]:
        self._expect_symbol("(")
        columns: list[ColumnDef] = []
        constraints: list[Constraint] = []
        while True:
            constraint = self._constraint()
            if constraint is not None:
                constraints.append(constraint)
            else:
                columns.append(self._column_def())
            if not self._accept_symbol(","):
                break
        self._expect_symbol(")")
        return tuple(columns), tuple(constraints)

    # -- keys and constraints ------------------------------------------------------------------------------------

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

    # -- table options -------------------------------------------------------------------------------------------

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

    # -- partitions ----------------------------------------------------------------------------------------------

    def _partition_by(self) -> Partitioning:
        """PARTITION BY has been consumed."""
        self._accept("LINEAR")
        word = self._accept_any(*_PARTITION_METHODS)
        if not word:
            self._fail("expected RANGE, LIST, HASH or KEY")
        if word == "KEY" and self._accept("ALGORITHM"):
            self._expect_symbol("=")
            self._integer()
        columns, expression = self._partition_key(by_columns=self._accept("COLUMNS") or word == "KEY")
        if self._accept("INTERVAL"):
            self._fail("INTERVAL partitioning is not understood; write the partitions out", self._prev)
        count = self._integer("a number of partitions") if self._accept("PARTITIONS") else 0
        if self._accept("SUBPARTITION", "BY"):
            self._fail("TiDB has no subpartitions", self._prev)
        method = _PARTITION_METHODS[word]
        names = self._partition_definitions(method) if self._symbol_at("(") else ()
        if not names:
            if word in ("RANGE", "LIST"):
                self._fail("expected the partition definitions")
            names = tuple(f"p{number}" for number in range(count or 1))
        elif count and count != len(names):
            self._fail(f"PARTITIONS {count}, but {len(names)} are defined", self._prev)
        if len(names) > _MAX_PARTITIONS:
            self._fail(f"more than {_MAX_PARTITIONS} partitions", self._prev)
        self._update_indexes()
        return Partitioning(method, names, columns, expression)

    def _partition_key(self, *, by_columns: bool) -> tuple[tuple[str, ...], Expression | None]:
        if not by_columns:
            return (), self._parenthesised()
        self._expect_symbol("(")
        columns = () if self._symbol_at(")") else self._names("a column name")
        self._expect_symbol(")")
        return columns, None

    def _update_indexes(self) -> None:
        if self._accept("UPDATE", "INDEXES"):
            self._skip_parentheses()

    def _partition_definitions(self, method: PartitionMethod = "") -> tuple[str, ...]:
        """Definitions in parentheses; ``method`` tells which VALUES clause they need, if it is known."""
        self._expect_symbol("(")
        names = [self._partition_definition(method)]
        while self._accept_symbol(","):
            names.append(self._partition_definition(method))
        self._expect_symbol(")")
        return tuple(names)

    def _partition_definition(self, method: PartitionMethod) -> str:
        self._expect("PARTITION")
        name = self._name("a partition name")
        if method in ("", "range") and self._accept("VALUES", "LESS", "THAN"):
            if not self._accept("MAXVALUE"):
                self._parenthesised("values")
        elif method in ("", "list") and self._accept("VALUES", "IN"):
            self._parenthesised("values")
        elif not (method in ("", "list") and self._accept("DEFAULT")) and (
            method in ("range", "list") or self._word_at() == "VALUES"
        ):
            self._fail("expected the partition's VALUES")
        while self._partition_option():
            pass
        return name

    def _partition_option(self) -> bool:
        if self._accept_any("COMMENT", "NODEGROUP", "MAX_ROWS", "MIN_ROWS", "TABLESPACE", "ENGINE"):
            pass
        elif not (
            self._accept("STORAGE", "ENGINE")
            or self._accept("DATA", "DIRECTORY")
            or self._accept("INDEX", "DIRECTORY")
            or self._accept("PLACEMENT", "POLICY")
        ):
            return False
        self._accept_symbol("=")
        if self._curr.token_type is TokenType.NUMBER:
            self._advance()
        else:
            self._text_value()
        return True
