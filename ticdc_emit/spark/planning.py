"""PLAN on the driver: from the changefeed, the base schema and the DDL so far to a plan and its control messages.

DDL comes as arguments (:func:`ddl_statements`) or as rows of a DataFrame (:func:`ddl_rows`), which are the only rows
that PLAN must see before the job. The topics' partition counts and size limits are asked of the sink once. Plans are
kept for the DDL history that they were made for, which changes only when a batch brings new DDL. Schemas are registered
here, on the driver, before the first message of a batch that may need them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ticdc_emit.config import ChangefeedConfig, Protocol
from ticdc_emit.delivery.contract import Sink
from ticdc_emit.encode.plan import Plan, make_plan
from ticdc_emit.encode.registration import Registrar, needed_by_all
from ticdc_emit.errors import ConfigError, InvalidValueError
from ticdc_emit.registry.contract import SchemaRegistry
from ticdc_emit.schedule.bootstrap import BootstrapRules
from ticdc_emit.schedule.control import Controls
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.spark.frame import DDL_OP, commit_ts_column
from ticdc_emit.spark.schedule import with_bootstraps, with_default_ticks
from ticdc_emit.spark.state import BatchState, DdlStatement
from ticdc_emit.spark.survey import count_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Planner", "current_database", "ddl_rows", "ddl_statements"]


def current_database(table: str | None, catalog: Catalog) -> str:
    """Return the database of DDL that names none: that of ``table``, else the one that all tables are in, else test."""
    if table is not None and "." in table:
        return table.partition(".")[0]
    databases = {info.schema for info in catalog.tables()} if table is None else set()
    return databases.pop() if len(databases) == 1 else "test"


def ddl_statements(ddl: Iterable[tuple[Any, ...]], database: str) -> tuple[DdlStatement, ...]:
    """Read (commit_ts, statement) or (commit_ts, statement, database) entries; :class:`ConfigError` for others."""
    found = []
    for entry in ddl:
        match entry:
            case (Integral() as commit_ts, str(query)):
                found.append((int(commit_ts), database, query))
            case (Integral() as commit_ts, str(query), str(schema)):
                found.append((int(commit_ts), schema or database, query))
            case _:
                raise ConfigError(
                    f"{entry!r} is no DDL",
                    remedy="Give (commit_ts, statement) or (commit_ts, statement, schema)",
                    option="ddl",
                )
    return tuple(found)


def ddl_rows(df: DataFrame, database: str) -> list[DdlStatement]:
    """Collect the DDL rows of a DataFrame (``op = 'ddl'`` with ``query``), in an order that no partitioning changes.

    Their current database is their ``schema``, where they have one. Raises :class:`InvalidValueError` for a NULL.
    """
    if "query" not in df.columns:
        return []
    from pyspark.sql import functions as F  # noqa: N812

    schema = F.col("schema") if "schema" in df.columns else F.lit(None).cast("string")
    rows = df.filter(F.lower("op") == F.lit(DDL_OP)).select(commit_ts_column(df), schema, "query").collect()
    time = "commit_ts" if "commit_ts" in df.columns else "commit_time"
    for commit_ts, _, query in rows:
        if commit_ts is None or query is None:
            raise InvalidValueError(
                "a DDL row is NULL where it needs a value",
                remedy="Give every row with op = 'ddl' its commit time and its statement",
                column=time if commit_ts is None else "query",
                commit_ts=commit_ts,
                statement=query,
            )
    return sorted((commit_ts, schema or database, query) for commit_ts, schema, query in rows)


def _tables_of(df: DataFrame) -> list[tuple[str, str]]:
    """Return the tables that rows of the generic form belong to, in order: one small pass over two columns."""
    rows = df.select("schema", "table").distinct().collect()
    return sorted((schema, name) for schema, name in rows if schema is not None and name is not None)


@dataclass
class Planner:
    """Makes plans for batch states. ``catalog`` holds the tables as they are before the first DDL."""

    config: ChangefeedConfig
    sink: Sink
    catalog: Catalog
    interval_ms: int | None = None
    lateness_ms: int = 0
    verbatim_json: bool = False
    registry: SchemaRegistry | None = None
    _topic: tuple[dict[str, int], int] | None = field(default=None, init=False)
    _made: dict[tuple[DdlStatement, ...], tuple[Plan, tuple[DdlEvent, ...]]] = field(default_factory=dict, init=False)

    def plan(self, state: BatchState) -> Plan:
        """Return the plan of a batch, at the batch's clock."""
        return self._planned(state.ddl)[0].at(state.build_ts)

    def registered(self, state: BatchState, df: DataFrame, table: tuple[str, str] | None) -> Plan:
        """Return the plan of a batch with every schema registered that its rows may need.

        ``table``: whose rows ``df`` has, ``None`` for the generic form. Raises the
        :class:`~ticdc_emit.errors.RegistryError` family.
        """
        plan, events = self._planned(state.ddl)
        if any(True for each in plan.tables.values() for _ in needed_by_all(each)):
            for key in [table] if table else _tables_of(df):
                planned = plan.table(*key)
                plan = self._registrar.registered(plan, planned, needed_by_all(planned))
            self._made[state.ddl] = plan, events
        return plan.at(state.build_ts)

    @cached_property
    def _registrar(self) -> Registrar:
        return Registrar(self.config, self.registry)

    def controls(self, state: BatchState) -> Controls:
        """Return what control messages a batch may have to send, as far as the plan alone says."""
        plan, events = self._planned(state.ddl)
        interval = (self.interval_ms or 0) if plan.codec.watermark(1, 1) is not None else 0
        return Controls(events, interval, self.lateness_ms, state.sent_until, state.watermark)

    def scheduled(
        self, controls: Controls, state: BatchState, df: DataFrame, table: tuple[str, str] | None, *, late: str
    ) -> tuple[Controls, dict[str, Any] | None]:
        """Return the controls with what depends on the batch's rows, and the state of the bootstrap schedule behind it.

        Counts the rows, where anything depends on them: with the Simple protocol.
        """
        rules = BootstrapRules.of(self.config)
        default_ticks = (
            self.config.codec.protocol is Protocol.SIMPLE and self.interval_ms is None and state.build_ts is None
        )
        if not (rules.enabled or default_ticks):
            return controls, None
        plan = self.plan(state)
        counted = count_rows(df, plan, table, rules.tick_ms, controls.late_until if late == "drop" else None)
        if default_ticks:
            controls = with_default_ticks(controls, counted)
        if not rules.enabled:
            return controls, None
        return with_bootstraps(controls, plan, rules, state, counted)

    def _planned(self, ddl: tuple[DdlStatement, ...]) -> tuple[Plan, tuple[DdlEvent, ...]]:
        if ddl not in self._made:
            catalog = copy.deepcopy(self.catalog)
            events = [
                event
                for commit_ts, schema, query in sorted(ddl, key=lambda entry: entry[0])
                for event in catalog.apply(query, schema=schema, commit_ts=commit_ts)
            ]
            partitions, limit = self._ask_sink()
            plan = make_plan(
                self.config,
                catalog.histories(),
                partitions,
                verbatim_json=self.verbatim_json,
                message_limit=limit,
            )
            self._made = {ddl: (plan, tuple(events))}
        return self._made[ddl]

    def _ask_sink(self) -> tuple[dict[str, int], int]:
        if self._topic is None:
            topic = self.config.kafka.topic
            partitions = self.sink.prepare({topic: self.config.kafka.partition_num})
            self._topic = partitions, self.sink.message_limit([topic])
        return self._topic
