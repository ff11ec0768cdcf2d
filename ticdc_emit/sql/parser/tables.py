"""CREATE TABLE with its options and partitions. Rule source: pingcap/tidb ``pkg/parser/parser.y``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from ticdc_emit.sql import nodes
from ticdc_emit.sql.lexer import Token
from ticdc_emit.sql.parser.columns import ColumnGrammar
from ticdc_emit.sql.parser.queries import QUERY_WORDS

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
_ON_OR_OFF, YES_OR_NO = re.compile("(?i:on|off)", re.ASCII), re.compile("[YyNn]")
_VALUES = {"range": "LESS THAN", "list": "IN"}


class TableGrammar(ColumnGrammar):
    # -- options of tables ----------------------------------------------------------------------------------------

    def _table_options(self, *, commas: bool = True) -> tuple[nodes.TableOption, ...]:
        options: list[nodes.TableOption] = []
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

    def _table_option(self) -> nodes.TableOption | None:
        offset, start = self._curr.start, self._index
        self._accept("DEFAULT")
        if self._charset_keyword():
            self._equals()
            return nodes.TableOption("charset", self._charset_name())
        if self._accept("COLLATE"):
            self._equals()
            return nodes.TableOption("collate", self._collation_name())
        self._retreat(start)
        forced = self._word_at(1) in ("AUTO_INCREMENT", "AUTO_RANDOM_BASE") and self._accept("FORCE")
        is_directory = self._word_at(1) == "DIRECTORY"
        name = self._word_at().lower() + ("_directory" if is_directory else "")
        row = nodes.TABLE_OPTIONS.get(name)
        if row is None:
            return self._irregular_table_option()
        self._advance(1 + is_directory)
        self._equals()
        place = offset if row.reads == "name or string" else 0
        return nodes.TableOption(name, self._OPTION_VALUES[row.reads](self), forced, offset=place)

    def _irregular_table_option(self) -> nodes.TableOption | None:
        following = self._word_at(1)
        if self._at_words("STORAGE") and following in ("MEMORY", "DISK"):
            self._advance(2)
            return nodes.TableOption("storage", following)
        if self._accept("STORAGE", "ENGINE"):
            self._equals()
            return nodes.TableOption("engine", self._name_or_string("an engine"))
        if self._accept("PLACEMENT", "POLICY"):
            return nodes.TableOption("placement_policy", self._policy())
        if self._accept("UNION"):
            self._equals()
            return nodes.UnionOption("union", tables=self._members(self._table_name))
        if self._accept("TTL"):
            self._equals()
            return self._ttl()
        return None

    def _policy(self) -> str:
        if self._accept("SET"):
            self._expect("DEFAULT")
            return ""
        self._equals()
        return "" if self._accept("DEFAULT") else self._name_or_string("a policy")

    def _ttl(self) -> nodes.TtlOption:
        column = self._name("a column name")
        self._expect_symbol("+")
        self._expect("INTERVAL")
        amount = self._literal()
        if amount is None:
            self._fail("expected an interval")
        return nodes.TtlOption("ttl", column, amount=amount, unit=self._time_unit())

    # -- their values ----------------------------------------------------------------------------------------

    def _number_or_default(self) -> int | None:
        return None if self._accept("DEFAULT") else self._integer()

    def _bit_or_default(self) -> int | None:
        number = self._number_or_default()
        if number is not None and number > 1:
            self._fail("expected 0, 1 or DEFAULT", self._prev)
        return number

    def _text_of(self, pattern: re.Pattern[str], what: str) -> str:
        text = self._string()
        if not pattern.fullmatch(text):
            self._fail(f"expected {what}", self._prev)
        return text

    def _rate(self) -> str:
        number = self._number()
        if number is None:
            self._fail("expected a number")
        return number.restore()

    _OPTION_VALUES: ClassVar[dict[str, Callable[[TableGrammar], str | int | None]]] = {
        "'ON' or 'OFF'": lambda self: self._text_of(_ON_OR_OFF, "'ON' or 'OFF'").upper(),
        "'Y' or 'N'": lambda self: self._text_of(YES_OR_NO, "'Y' or 'N'"),
        "0, 1 or DEFAULT": _bit_or_default,
        "duration": lambda self: self._text_of(_DURATION, "a duration such as '1h'"),
        "engine or NULL": lambda self: None if self._accept("NULL") else self._name_or_string("an engine"),
        "name or string": lambda self: self._name_or_string("a name or string"),
        "number": lambda self: self._integer(),
        "number or DEFAULT": _number_or_default,
        "rate": _rate,
        "row format": lambda self: self._expect_any(*_ROW_FORMATS),
        "string": lambda self: self._string(),
        "tablespace": lambda self: self._name("a tablespace"),
    }

    # -- partitions ------------------------------------------------------------------------------------------

    def _partition_options(self) -> tuple[nodes.TableOption, ...]:
        options: list[nodes.TableOption] = []
        while self._word_at() in _PARTITION_OPTIONS and (not self._at_words("STORAGE") or self._word_at(1) == "ENGINE"):
            option = self._table_option()
            if option is None:
                break
            options.append(option)
        return tuple(options)

    # -- PARTITION BY ---------------------------------------------------------------------------------------------

    def _partition_by(self) -> nodes.Partitioning:
        start = self._prev
        key = self._partition_key()
        if self._accept("PARTITIONS"):
            key = replace(key, count=self._partition_count())
        sub: nodes.PartitionKey | None = None
        if self._accept("SUBPARTITION", "BY"):
            sub = self._sub_partition_key()
            if self._accept("SUBPARTITIONS"):
                sub = replace(sub, count=self._partition_count())
        definitions = self._in_parentheses(self._definitions) if self._symbol_at("(") else ()
        updates: tuple[tuple[str, bool], ...] = ()
        if self._accept("UPDATE", "INDEXES"):
            updates = self._in_parentheses(lambda: self._list(self._update_index))
        return self._checked(nodes.Partitioning(key, definitions, sub, updates, start.start), start)

    # -- the method ------------------------------------------------------------------------------------------

    def _partition_key(self) -> nodes.PartitionKey:
        if self._accept("SYSTEM_TIME"):
            return nodes.PartitionKey("system_time")
        method: nodes.PartitionMethod = "range" if self._accept("RANGE") else "list" if self._accept("LIST") else ""
        if not method:
            return self._sub_partition_key()
        if self._accept_any("COLUMNS", "FIELDS"):
            key = nodes.PartitionKey(method, self._columns())
        else:
            key = nodes.PartitionKey(method, (), self._in_parentheses(self._bit_with_text))
        if method == "range" and self._at_words("INTERVAL"):
            start = self._curr.start
            return replace(key, interval=replace(self._read(nodes.Interval), start=start, end=self._prev.end))
        return key

    def _sub_partition_key(self) -> nodes.PartitionKey:
        linear = self._accept("LINEAR")
        if self._accept("HASH"):
            return nodes.PartitionKey("hash", (), self._in_parentheses(self._bit_with_text), linear)
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
            return nodes.PartitionKey("key", linear=linear, algorithm=algorithm)
        return nodes.PartitionKey("key", self._columns(), None, linear, algorithm)

    def _less_than(self) -> nodes.Node:
        self._expect("PARTITION", "LESS", "THAN")
        return self._in_parentheses(self._bit_expression)

    def _partition_count(self) -> int:
        count = self._integer("a number of partitions")
        if not count:
            self._fail("the number of partitions must not be 0", self._prev)
        return count

    # -- definitions -----------------------------------------------------------------------------------------

    def _definitions(self) -> tuple[nodes.PartitionDefinition, ...]:
        return self._list(self._partition_definition)

    def _partition_definition(self) -> nodes.PartitionDefinition:
        self._expect("PARTITION")
        name = self._name("a partition name")
        values = self._partition_values()
        options = self._partition_options()
        subpartitions: tuple[nodes.PartitionDefinition, ...] = ()
        if self._symbol_at("("):
            subpartitions = self._in_parentheses(lambda: self._list(self._subpartition))
        return nodes.PartitionDefinition(name, values, options, subpartitions)

    def _subpartition(self) -> nodes.PartitionDefinition:
        self._expect("SUBPARTITION")
        name = self._name("a subpartition name")
        return nodes.PartitionDefinition(name, None, self._partition_options(), word="SUBPARTITION")

    def _partition_values(self) -> nodes.PartitionValues | None:
        if self._accept("VALUES", "LESS", "THAN"):
            if self._accept("MAXVALUE"):
                return nodes.PartitionValues("LESS THAN", ((nodes.MaxValue(),),))
            bounds = self._in_parentheses(lambda: self._list(self._bound))
            return nodes.PartitionValues("LESS THAN", tuple((bound,) for bound in bounds))
        if self._accept("VALUES", "IN"):
            members = self._in_parentheses(lambda: self._list(lambda: self._default_or(self._bit_expression)))
            return nodes.PartitionValues("IN", tuple(m.members if isinstance(m, nodes.Row) else (m,) for m in members))
        if self._accept("DEFAULT"):
            return nodes.PartitionValues("IN", ((nodes.Default(),),))
        word = self._accept_any("HISTORY", "CURRENT")
        return nodes.PartitionValues(word) if word else None

    def _bound(self) -> nodes.Node:
        return nodes.MaxValue() if self._accept("MAXVALUE") else self._bit_expression()

    def _update_index(self) -> tuple[str, bool]:
        name = self._name("an index")
        return name, self._expect_any("GLOBAL", "LOCAL") == "GLOBAL"

    # -- what TiDB checks while it reads ---------------------------------------------------------------------

    def _checked(self, by: nodes.Partitioning, start: Token) -> nodes.Partitioning:
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

    def _checked_subpartitions(self, by: nodes.Partitioning) -> nodes.Partitioning:
        counts = {len(definition.subpartitions) for definition in by.definitions}
        if len(counts) > 1 or (counts != {0} and (by.sub is None or by.sub.count not in (0, *counts))):
            self._fail("the partitions have wrong numbers of subpartitions", self._prev)
        if by.sub is not None and counts != {0}:
            by = replace(by, sub=replace(by.sub, count=counts.pop()))
        return by

    def _check_values(self, key: nodes.PartitionKey, definition: nodes.PartitionDefinition) -> None:
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
            rows = [row for row in values.rows if row != (nodes.Default(),)]
            if any(len(row) != (columns or 1) for row in rows):
                self._fail(f"partition {definition.name!r} needs {columns or 1} values in each row", self._prev)

    # -- CREATE TABLE ---------------------------------------------------------------------------------------------

    def _create_table(self, *, temporary: str) -> nodes.CreateTable | nodes.CreateTableLike:
        start = self._curr
        if_not_exists = self._if_not_exists()
        table = self._table_name()
        like = self._like()
        if like is not None:
            on_commit = self._on_commit()
            statement: nodes.CreateTable | nodes.CreateTableLike = nodes.CreateTableLike(
                table, like, if_not_exists, temporary, on_commit
            )
        else:
            statement = self._table_definition(table, temporary, if_not_exists=if_not_exists)
        if bool(statement.on_commit) != (temporary == "GLOBAL TEMPORARY"):
            self._fail("GLOBAL TEMPORARY and ON COMMIT go together", start)
        return statement

    def _like(self) -> nodes.TableName | None:
        if self._accept("LIKE"):
            return self._table_name()
        if not (self._symbol_at("(") and self._word_at(1) == "LIKE"):
            return None
        self._advance(2)
        like = self._table_name()
        self._expect_symbol(")")
        return like

    def _table_definition(self, table: nodes.TableName, temporary: str, *, if_not_exists: bool) -> nodes.CreateTable:
        columns: tuple[nodes.ColumnDef, ...] = ()
        constraints: tuple[nodes.Constraint, ...] = ()
        offset = self._curr.start if not self._at_end else self._prev.start
        if self._symbol_at("(") and self._try_subselect_here() is None:
            columns, constraints = self._table_elements()
        options = self._table_options()
        partitioning = self._partition_by() if self._accept("PARTITION", "BY") else None
        splits: list[nodes.SplitRegions] = []
        while self._accept("SPLIT"):
            splits.append(nodes.SplitRegions(*self._split_index()))
        if columns or constraints:
            offset = self._curr.start
        duplicates = self._accept_any("IGNORE", "REPLACE")
        self._accept("AS")
        select = self._query() if self._symbol_at("(") or self._word_at() in QUERY_WORDS else None
        return nodes.CreateTable(
            table,
            columns,
            constraints,
            options,
            partitioning,
            if_not_exists,
            temporary,
            self._on_commit(),
            tuple(splits),
            duplicates if select is not None else "",
            select,
            offset,
        )

    def _try_subselect_here(self) -> object | None:
        """The query in the parentheses here, if they are not a list of columns. Nothing is consumed."""
        start = self._index
        ahead = 1
        while self._symbol_at("(", ahead):
            ahead += 1
        if self._word_at(ahead) not in QUERY_WORDS:
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

    def _table_elements(self) -> tuple[tuple[nodes.ColumnDef, ...], tuple[nodes.Constraint, ...]]:
        elements = self._in_parentheses(lambda: self._list(self._table_element))
        columns = tuple(element for element in elements if isinstance(element, nodes.ColumnDef))
        return columns, tuple(element for element in elements if isinstance(element, nodes.Constraint))

    def _table_element(self) -> nodes.ColumnDef | nodes.Constraint:
        constraint = self._constraint()
        return constraint if constraint is not None else self._column_def()
