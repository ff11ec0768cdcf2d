"""Partitioning of a table. Tokens in, :class:`~ticdc_emit.schema.nodes.Partitioning` nodes out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``PartitionOpt``, ``PartitionDefinition``), ``pkg/parser/ast/ddl.go``
(``PartitionOptions.Validate`` and the ``Validate`` of each VALUES clause).
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.schema.grammar.table_option import TableOptionGrammar
from ticdc_emit.schema.nodes.expressions import Default, MaxValue, Row
from ticdc_emit.schema.nodes.partitions import (
    Interval,
    PartitionDefinition,
    Partitioning,
    PartitionKey,
    PartitionMethod,
    PartitionValues,
)
from ticdc_emit.schema.nodes.style import Node
from ticdc_emit.schema.tokens import Token

__all__ = ["PartitionGrammar"]

_VALUES = {"range": "LESS THAN", "list": "IN"}


class PartitionGrammar(TableOptionGrammar):
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

    # -- the method ----------------------------------------------------------------------------------------------

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

    # -- definitions ---------------------------------------------------------------------------------------------

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

    # -- what TiDB checks while it reads -------------------------------------------------------------------------

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
