"""What generating returns: the changes, the DDL between them, the schema that they begin with, and a sink for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import numpy as np
import pyarrow as pa

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.load import LoadOptions, config_of, refuse_unknown
from ticdc_emit.config.secrets import hides_arguments
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.hints import counted
from ticdc_emit.traffic.generate.arrays import Ints
from ticdc_emit.traffic.generate.changes import TableChanges, TrafficPlan, plan_traffic
from ticdc_emit.traffic.generate.settings import Settings, require_zone
from ticdc_emit.traffic.sample_schemas import schema_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType
    from typing_extensions import Unpack

    from ticdc_emit.spark import TicdcSink
    from ticdc_emit.spark.sink import TrafficSinkOptions


Changes = TypeVar("Changes")


@dataclass(frozen=True, repr=False)
class _TrafficResult(Generic[Changes]):
    """``ddl``: (commit_ts, statement) in order. ``schema``: the tables before the first change, as SQL."""

    changes: Changes
    ddl: tuple[tuple[int, str], ...]
    schema: str
    table: str | None
    time_zone: str = field(default="UTC", kw_only=True)
    _settings: Settings = field(default=Settings(None), kw_only=True, repr=False, compare=False)

    def __repr__(self) -> str:
        tables = list(self.changes) if isinstance(self.changes, dict) else [self.table or "several tables"]
        return f"<{type(self).__name__} of {', '.join(tables)}, {counted(len(self.ddl), 'statement')}>"

    @hides_arguments
    def sink(self, sink_uri: str | ChangefeedConfig, **options: Unpack[TrafficSinkOptions]) -> TicdcSink:
        """Return a :class:`~ticdc_emit.spark.TicdcSink` for the changes, with ``redelivery`` and ``lag``; ``options``
        are its own. Raises :class:`~ticdc_emit.errors.ConfigError` for a changefeed of another time zone.
        """
        from ticdc_emit.spark import TicdcSink
        from ticdc_emit.spark.sink import TrafficSinkOptions

        refuse_unknown("sink", options, TrafficSinkOptions)
        if isinstance(sink_uri, ChangefeedConfig):
            zone = sink_uri.time_zone
        else:
            zone = options.get("time_zone") or self.time_zone
            options["time_zone"] = zone
        require_zone(zone, self.time_zone)
        trouble = self._settings.model.trouble
        if trouble.redelivery or trouble.lag:
            sink_uri, options = self._with_noise(sink_uri, options)
        return TicdcSink(sink_uri, self.schema, table=self.table, ddl=self.ddl, **options)

    def _with_noise(
        self, sink_uri: str | ChangefeedConfig, options: TrafficSinkOptions
    ) -> tuple[ChangefeedConfig, TrafficSinkOptions]:
        """Return the configuration of a sink and its other options, with a sink that disturbs delivery."""
        from ticdc_emit.traffic.generate.noise import NoisySink

        config = config_of(
            sink_uri, options.get("changefeed"), options, own_registry=options.get("registry") is not None
        )
        trouble, own = self._settings.model.trouble, options.get("sink") or sink_for(config, options.get("librdkafka"))
        options["sink"] = NoisySink(own, config, trouble.redelivery, trouble.lag, self._settings.seed)
        loaded = {"changefeed", "librdkafka", *LoadOptions.__annotations__}
        rest = {name: value for name, value in options.items() if name not in loaded}
        return config, cast("TrafficSinkOptions", rest)


@dataclass(frozen=True, repr=False)
class _SparkResult(_TrafficResult[Changes]):
    _plan: TrafficPlan | None = field(default=None, kw_only=True, compare=False)
    _spark: SparkSession | None = field(default=None, kw_only=True, compare=False)

    def tables(self) -> dict[tuple[str, str], DataFrame]:
        """Return the expected final tables of a consumer, by (schema, table), as typed DataFrames of their last
        versions. They are not read from messages. Raises :class:`~ticdc_emit.errors.ConfigError` for a stream without
        end.
        """
        if self._plan is None or self._plan.rows is None or self._spark is None:
            raise ConfigError(
                "traffic without an end has no last change",
                remedy="Give rows to generate or generate_stream",
                option="rows",
            )
        plan, spark, rows = self._plan, self._spark, self._plan.rows
        return {
            (table.info.schema, table.info.name): _table_frame(
                _numbers(spark, plan, table), partial(table.final, rows=rows, schema_changes=len(plan.schema_changes))
            )
            for table in plan.tables
        }


@dataclass(frozen=True, repr=False)
class Traffic(_SparkResult["dict[str, DataFrame]"]):
    """``changes``: a typed DataFrame for each table, by ``schema.name``, as :meth:`TicdcSink.write` takes them.
    ``ddl``: (commit_ts, statement) in order; ``schema``: SQL text of the tables before the first change; ``table``:
    ``schema.name``, if there is only one; ``time_zone``: the changefeed's.
    """

    def mixed(self) -> DataFrame:
        """Return the changes as one DataFrame: typed for one table, else generic, which is slower to make."""
        plan = self._plan
        if plan is None or self._spark is None:
            (only,) = self.changes.values()
            return only
        return _mixed_frame(_range(self._spark, plan.rows or 0), plan)


@dataclass(frozen=True, repr=False)
class TrafficStream(_SparkResult["DataFrame"]):
    """``changes``: a streaming DataFrame, typed if there is one table, else generic. The rest is :class:`Traffic`'s."""


_BATCH_ROWS = 5_000


class ArrowChanges:
    """The changes of a table among the plan's as record batches, in the typed form. Can be iterated more than once."""

    def __init__(self, plan: TrafficPlan, table: TableChanges) -> None:
        self._plan, self._table = plan, table
        self._count = plan.cycle.count(table.number, plan.rows or 0)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield self.first
        for at in range(self.first.num_rows, self._count, _BATCH_ROWS):
            yield self._batch(at)

    @cached_property
    def first(self) -> pa.RecordBatch:
        """The first batch, which is kept because its columns are checked before the changes are read."""
        return self._batch(0)

    def _batch(self, first: int) -> pa.RecordBatch:
        numbers = np.arange(first, min(first + _BATCH_ROWS, self._count))
        return self._table.typed(numbers, physical=self._plan.physical)


@dataclass(frozen=True, repr=False)
class ArrowTraffic(_TrafficResult[dict[str, ArrowChanges]]):
    """``changes``: Arrow record batches by ``schema.name``, made as they are read. The rest is :class:`Traffic`'s."""


_STREAM_TASKS = 2


def traffic_on_spark(
    spark: SparkSession, schema: str | Path, settings: Settings, partitions: int | None = None
) -> Traffic:
    plan = plan_traffic(schema_text(schema), settings)
    changes = {
        table.info.full_name: _table_frame(
            _numbers(spark, plan, table, partitions), partial(table.typed, physical=plan.physical)
        )
        for table in plan.tables
    }
    return Traffic(changes, **_facts(plan, settings), _plan=plan, _spark=spark)


def stream_on_spark(
    spark: SparkSession, schema: str | Path, settings: Settings, *, rows_per_batch: int = 50_000
) -> TrafficStream:
    if settings.model.load.ddl_rate and settings.rows is None:
        raise SchemaError(
            "a stream on Spark must know its schema changes before it begins",
            remedy="Give a number of rows, or leave ddl_rate out",
            option="ddl_rate",
        )
    plan = plan_traffic(schema_text(schema), settings)
    source = spark.readStream.format("rate-micro-batch").option("numPartitions", _STREAM_TASKS)
    numbers = source.option("rowsPerBatch", rows_per_batch).load()
    if plan.rows is not None:
        numbers = numbers.filter(f"value < {plan.rows}L")
    changes = _mixed_frame(numbers.select("value"), plan)
    return TrafficStream(changes, **_facts(plan, settings), _plan=plan, _spark=spark)


def traffic_here(schema: str | Path, settings: Settings) -> ArrowTraffic:
    plan = plan_traffic(schema_text(schema), settings)
    changes = {table.info.full_name: ArrowChanges(plan, table) for table in plan.tables}
    return ArrowTraffic(changes, **_facts(plan, settings))


def _facts(plan: TrafficPlan, settings: Settings) -> dict[str, Any]:
    table = plan.tables[0].info.full_name if plan.is_typed else None
    facts = {"ddl": plan.ddl, "schema": plan.schema, "table": table}
    return {**facts, "time_zone": settings.time_zone, "_settings": settings}


_ROWS_PER_TASK = 250_000
_NO_NUMBERS = np.zeros(0, np.int64)


def _range(spark: SparkSession, count: int, partitions: int | None = None) -> DataFrame:
    return spark.range(0, count, 1, partitions or max(1, -(-count // _ROWS_PER_TASK)))


def _numbers(spark: SparkSession, plan: TrafficPlan, table: TableChanges, partitions: int | None = None) -> DataFrame:
    return _range(spark, plan.cycle.count(table.number, plan.rows or 0), partitions)


def _mixed_frame(numbers: DataFrame, plan: TrafficPlan) -> DataFrame:
    """Return the changes with these numbers among those of all tables: typed if there is one table, else generic."""
    one = plan.tables[0]
    schema = (one.typed if plan.is_typed else one.generic)(_NO_NUMBERS, physical=plan.physical).schema
    return numbers.mapInArrow(partial(_make_batches, make=plan.changes), _spark_schema(schema))


def _table_frame(numbers: DataFrame, make: Callable[[Ints], pa.RecordBatch]) -> DataFrame:
    return numbers.mapInArrow(
        partial(_make_batches, make=partial(_one_batch, make)), _spark_schema(make(_NO_NUMBERS).schema)
    )


def _one_batch(make: Callable[[Ints], pa.RecordBatch], numbers: Ints) -> Iterator[pa.RecordBatch]:
    yield make(numbers)


def _make_batches(
    batches: Iterator[pa.RecordBatch], *, make: Callable[[Ints], Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        numbers = batch.column(0).to_numpy()
        for at in range(0, len(numbers), _BATCH_ROWS):
            yield from make(numbers[at : at + _BATCH_ROWS])


def _spark_schema(schema: pa.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema, prefer_timestamp_ntz=True)
