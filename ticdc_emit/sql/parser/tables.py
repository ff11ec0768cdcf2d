"""CREATE TABLE with its options and partitions. Tokens in, a :class:`CreateTable` or :class:`CreateTableLike` node out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``CreateTableStmt``, ``TableOption``, ``PartitionOpt``,
``PartDefOption``).
"""

from __future__ import annotations

import re
from dataclasses import replace

from ticdc_emit.sql.lexer import Token
from ticdc_emit.sql.nodes.alter import SplitRegions
from ticdc_emit.sql.nodes.base import Node, TableName
from ticdc_emit.sql.nodes.expressions import Default, MaxValue, Row
from ticdc_emit.sql.nodes.statements import CreateTable, CreateTableLike
from ticdc_emit.sql.nodes.tables import (
    TABLE_OPTIONS,
    ColumnDef,
    Constraint,
    Interval,
    OptionRow,
    PartitionDefinition,
    Partitioning,
    PartitionKey,
    PartitionMethod,
    PartitionValues,
    TableOption,
    TtlOption,
    UnionOption,
)
from ticdc_emit.sql.parser.columns import ColumnGrammar

__all__ = ["TableGrammar"]


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
_VALUES = {"range": "LESS THAN", "list": "IN"}


class TableGrammar(ColumnGrammar):
    """CREATE TABLE, its options and partitions."""

    # -- options of tables ----------------------------------------------------------------------------------------

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
        row = TABLE_OPTIONS.get(word.lower())
        if row is None or row.reads == "rule":
            return self._irregular_table_option(word)
        self._advance()
        self._equals()
        place = offset if row.reads == "name or string" else 0
        return TableOption(word.lower(), self._option_value(word, row), forced, offset=place)

    def _option_value(self, word: str, row: OptionRow) -> str | int | None:
        if row.reads == "name or string":
            return self._name_or_string("a name or string")
        if row.reads == "string":
            text = self._string()
            if word == "TTL_JOB_INTERVAL" and not _DURATION.fullmatch(text):
                self._fail("expected a duration such as '1h'", self._prev)
            return text
        if row.reads == "number or default" and self._accept("DEFAULT"):
            return None
        number = self._integer()
        if word == "STATS_AUTO_RECALC" and number > 1:
            self._fail("expected 0, 1 or DEFAULT", self._prev)
        return number

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

    # -- partitions ------------------------------------------------------------------------------------------

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

    # -- PARTITION BY ---------------------------------------------------------------------------------------------

    def _partition_by(self) -> Partitioning:
        """PARTITION BY has been consumed."""
        start = self._prev
        key = self._partition_key()
        if self._accept("PARTITIONS"):
            key = replace(key, count=self._partition_count())
        sub: PartitionKey | None = None
        if self._accept("SUBPARTITION", "BY"):
            sub = self._sub_partition_key()
            if self._accept("SUBPARTITIONS"):
                sub = replace(sub, count=self._partition_count())
        definitions = self._partition_definitions() if self._symbol_at("(") else ()
        updates = self._update_indexes() if self._accept("UPDATE", "INDEXES") else ()
        return self._checked(Partitioning(key, definitions, sub, updates, start.start), start)

    # -- the method ------------------------------------------------------------------------------------------

    def _partition_key(self) -> PartitionKey:
        if self._accept("SYSTEM_TIME"):
            return self._system_time()
        method: PartitionMethod = "range" if self._accept("RANGE") else "list" if self._accept("LIST") else ""
        if not method:
            return self._sub_partition_key()
        if self._accept_any("COLUMNS", "FIELDS"):
            key = PartitionKey(method, self._columns())
        else:
            key = PartitionKey(method, (), self._in_parentheses(self._bit_with_text))
        if method == "range" and self._accept("INTERVAL"):
            return replace(key, interval=self._partition_interval())
        return key

    def _sub_partition_key(self) -> PartitionKey:
        linear = self._accept("LINEAR")
        if self._accept("HASH"):
            return PartitionKey("hash", (), self._in_parentheses(self._bit_with_text), linear)
        if not self._accept("KEY"):
            self._fail("expected RANGE, LIST, HASH or KEY")
        algorithm = None
        if self._accept("ALGORITHM"):
            self._expect_symbol("=")
            algorithm = self._integer()
            if algorithm not in (1, 2):
                self._fail("expected 1 or 2", self._prev)
        if self._symbol_at("(") and self._symbol_at(")", 1):
            self._advance(2)
            return PartitionKey("key", linear=linear, algorithm=algorithm)
        return PartitionKey("key", self._columns(), None, linear, algorithm)

    def _system_time(self) -> PartitionKey:
        if self._accept("INTERVAL"):
            return PartitionKey("system_time", (), self._with_text(), unit=self._time_unit())
        if self._accept("LIMIT"):
            return PartitionKey("system_time", limit=self._integer())
        return PartitionKey("system_time")

    def _partition_interval(self) -> Interval:
        """INTERVAL has been consumed."""
        start = self._prev.start
        self._expect_symbol("(")
        amount = self._bit_expression()
        unit = "" if self._symbol_at(")") else self._time_unit()
        self._expect_symbol(")")
        first = last = None
        if self._accept("FIRST"):
            first = self._less_than()
            self._expect("LAST")
            last = self._less_than()
        null_partition = self._accept("NULL", "PARTITION")
        max_partition = self._accept("MAXVALUE", "PARTITION")
        return Interval(amount, unit, first, last, null_partition, max_partition, start, self._prev.end)

    def _less_than(self) -> Node:
        self._expect("PARTITION", "LESS", "THAN")
        return self._in_parentheses(self._bit_expression)

    def _partition_count(self) -> int:
        """Consume the number of partitions, which is checked before it is used."""
        count = self._integer("a number of partitions")
        if not count:
            self._fail("the number of partitions must not be 0", self._prev)
        return count

    # -- definitions -----------------------------------------------------------------------------------------

    def _partition_definitions(self) -> tuple[PartitionDefinition, ...]:
        return self._in_parentheses(lambda: self._list(self._partition_definition))

    def _partition_definition(self) -> PartitionDefinition:
        self._expect("PARTITION")
        name = self._name("a partition name")
        values = self._partition_values()
        options = self._partition_options()
        subpartitions: tuple[PartitionDefinition, ...] = ()
        if self._symbol_at("("):
            subpartitions = self._in_parentheses(lambda: self._list(self._subpartition))
        return PartitionDefinition(name, values, options, subpartitions)

    def _subpartition(self) -> PartitionDefinition:
        self._expect("SUBPARTITION")
        name = self._name("a subpartition name")
        return PartitionDefinition(name, None, self._partition_options(), word="SUBPARTITION")

    def _partition_values(self) -> PartitionValues | None:
        if self._accept("VALUES", "LESS", "THAN"):
            if self._accept("MAXVALUE"):
                return PartitionValues("LESS THAN", ((MaxValue(),),))
            bounds = self._in_parentheses(lambda: self._list(self._bound))
            return PartitionValues("LESS THAN", tuple((bound,) for bound in bounds))
        if self._accept("VALUES", "IN"):
            members = self._in_parentheses(lambda: self._list(lambda: self._default_or(self._bit_expression)))
            return PartitionValues("IN", tuple(m.members if isinstance(m, Row) else (m,) for m in members))
        if self._accept("DEFAULT"):
            return PartitionValues("IN", ((Default(),),))
        word = self._accept_any("HISTORY", "CURRENT")
        return PartitionValues(word) if word else None

    def _bound(self) -> Node:
        return MaxValue() if self._accept("MAXVALUE") else self._bit_expression()

    def _update_indexes(self) -> tuple[tuple[str, bool], ...]:
        return self._in_parentheses(lambda: self._list(self._update_index))

    def _update_index(self) -> tuple[str, bool]:
        name = self._name("an index")
        return name, self._expect_any("GLOBAL", "LOCAL") == "GLOBAL"

    # -- what TiDB checks while it reads ---------------------------------------------------------------------

    def _checked(self, by: Partitioning, start: Token) -> Partitioning:
        key, definitions = by.key, by.definitions
        if key.count and definitions and key.count != len(definitions):
            self._fail(f"PARTITIONS {key.count}, but {len(definitions)} are defined", self._prev)
        if definitions:
            by = self._checked_subpartitions(by)
        if key.method in ("hash", "key") and not key.count and not definitions:
            by = replace(by, key=replace(key, count=1))
        elif key.method in ("range", "list") and key.interval is None and not definitions:
            self._fail("expected the partition definitions")
        elif key.method == "system_time" and len(definitions) <= 1:
            self._fail("SYSTEM_TIME needs a HISTORY and a CURRENT partition", start)
        for definition in definitions:
            self._check_values(key, definition)
        return by

    def _checked_subpartitions(self, by: Partitioning) -> Partitioning:
        counts = {len(definition.subpartitions) for definition in by.definitions}
        if len(counts) > 1 or (counts != {0} and (by.sub is None or by.sub.count not in (0, *counts))):
            self._fail("the partitions have wrong numbers of subpartitions", self._prev)
        if by.sub is not None and counts != {0}:
            by = replace(by, sub=replace(by.sub, count=counts.pop()))
        return by

    def _check_values(self, key: PartitionKey, definition: PartitionDefinition) -> None:
        values = definition.values
        wanted = _VALUES.get(key.method, "")
        if values is None:
            if wanted or key.method == "system_time":
                self._fail(f"expected VALUES {wanted} of partition {definition.name!r}", self._prev)
            return
        is_history = values.kind in ("HISTORY", "CURRENT")
        if is_history != (key.method == "system_time") or (not is_history and values.kind != wanted):
            self._fail(f"partition {definition.name!r} has VALUES of another kind than its table", self._prev)
        columns = len(key.columns)
        if values.kind == "LESS THAN" and len(values.rows) != (columns or 1):
            self._fail(f"partition {definition.name!r} needs {columns or 1} values", self._prev)
        if values.kind == "IN":
            self._check_rows(values, columns, definition.name)

    def _check_rows(self, values: PartitionValues, columns: int, name: str) -> None:
        rows = [row for row in values.rows if row != (Default(),)]
        if any(len(row) != (columns or 1) for row in rows):
            self._fail(f"partition {name!r} needs {columns or 1} values in each row", self._prev)

    # -- CREATE TABLE ---------------------------------------------------------------------------------------------

    def _create_table(self, *, temporary: str) -> CreateTable | CreateTableLike:
        start = self._curr
        if_not_exists = self._if_not_exists()
        table = self._table_name()
        like = self._like()
        if like is not None:
            on_commit = self._on_commit()
            statement: CreateTable | CreateTableLike = CreateTableLike(table, like, if_not_exists, temporary, on_commit)
        else:
            statement = self._table_definition(table, temporary, if_not_exists=if_not_exists)
        if bool(statement.on_commit) != (temporary == "GLOBAL TEMPORARY"):
            self._fail("GLOBAL TEMPORARY and ON COMMIT go together", start)
        return statement

    def _like(self) -> TableName | None:
        if self._accept("LIKE"):
            return self._table_name()
        if not (self._symbol_at("(") and self._word_at(1) == "LIKE"):
            return None
        self._advance(2)
        like = self._table_name()
        self._expect_symbol(")")
        return like

    def _table_definition(self, table: TableName, temporary: str, *, if_not_exists: bool) -> CreateTable:
        columns: tuple[ColumnDef, ...] = ()
        constraints: tuple[Constraint, ...] = ()
        offset = self._curr.start if not self._at_end else self._prev.start
        if self._symbol_at("(") and self._try_subselect_here() is None:
            columns, constraints = self._table_elements()
        options = self._table_options()
        partitioning = self._partition_by() if self._accept("PARTITION", "BY") else None
        splits: list[SplitRegions] = []
        while self._accept("SPLIT"):
            splits.append(SplitRegions(*self._split_index()))
        if columns or constraints:
            offset = self._curr.start
        duplicates = self._accept_any("IGNORE", "REPLACE")
        self._accept("AS")
        select = self._query() if self._symbol_at("(") or self._at_query() else None
        return CreateTable(
            table,
            columns,
            constraints,
            options,
            partitioning,
            if_not_exists,
            temporary,
            self._on_commit(),
            tuple(splits),
            duplicates,
            select,
            offset,
        )

    def _at_query(self) -> bool:
        return self._word_at() in ("SELECT", "TABLE", "VALUES", "WITH")

    def _try_subselect_here(self) -> object | None:
        """The query in the parentheses here, if they are not a list of columns. Nothing is consumed."""
        start = self._index
        ahead = 1
        while self._symbol_at("(", ahead):
            ahead += 1
        if self._word_at(ahead) not in ("SELECT", "TABLE", "VALUES", "WITH"):
            return None
        subquery = self._try_subselect()
        self._retreat(start)
        return subquery

    def _on_commit(self) -> str:
        if not self._accept("ON", "COMMIT"):
            return ""
        word = self._expect_any("DELETE", "PRESERVE")
        self._expect("ROWS")
        return word

    def _table_elements(self) -> tuple[tuple[ColumnDef, ...], tuple[Constraint, ...]]:
        elements = self._in_parentheses(lambda: self._list(self._table_element))
        columns = tuple(element for element in elements if isinstance(element, ColumnDef))
        return columns, tuple(element for element in elements if isinstance(element, Constraint))

    def _table_element(self) -> ColumnDef | Constraint:
        constraint = self._constraint()
        return constraint if constraint is not None else self._column_def()
