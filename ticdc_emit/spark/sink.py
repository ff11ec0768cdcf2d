"""The sink: DataFrames of row changes to messages, batch by batch, in ``foreachBatch`` or at once.

The ``...Options`` classes list the options of :class:`TicdcSink`, also for functions that pass them on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ticdc_emit.changes.arrow_input import changes_table
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.load import LoadOptions, config_of, refuse_unknown
from ticdc_emit.config.secrets import hides_arguments
from ticdc_emit.delivery.base import Sink
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.report import ReportCallback, RunReport, RunTotal, callbacks_of
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.registry.base import SchemaRegistry
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.frames.any_frame import Keys, schema_of_changes
from ticdc_emit.spark.batch import POLL_S, SparkBatch, hold_until_stopped, idle_check
from ticdc_emit.spark.change_feed import feeds_as_changes, feeds_as_images, has_feed
from ticdc_emit.spark.frames import RowLengths
from ticdc_emit.spark.functions import ADAPTIVE_EXECUTION, setting_off

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from typing_extensions import Unpack


class _RunOptions(LoadOptions, total=False):
    changefeed: str | os.PathLike[str] | Mapping[str, Any] | None
    clock: Literal["commit", "wall"] | int
    watermark_interval: float | None
    allowed_lateness: float
    late: Literal["error", "emit", "drop"]
    bad_rows: Literal["refuse", "skip"]
    bad_rows_path: str | None
    state_uri: str | None
    verbatim_json: bool
    heartbeat: float | None
    message_digests: bool
    librdkafka: Mapping[str, Any] | None
    registry: SchemaRegistry | None
    on_report: ReportCallback | Iterable[ReportCallback]


class TrafficSinkOptions(_RunOptions, total=False):
    """The options of ``Traffic.sink``; generated traffic has its own tables and DDL."""

    sink: Sink | None


class ReplayOptions(_RunOptions, total=False):
    """The options that ``replay`` passes to its sink."""

    table: str | None
    keys: Keys
    ddl: Iterable[tuple[int, str] | tuple[int, str, str]]


class SinkOptions(TrafficSinkOptions, ReplayOptions, total=False):
    """The options of :class:`~ticdc_emit.spark.TicdcSink` besides the sink URI and the schema."""


class TicdcSink:
    """A ``foreachBatch`` callable that emits row changes as TiCDC would.

    ``sink_uri``, ``changefeed``: TiCDC's two inputs. ``schema``: the tables before the first row, as SQL text (read in
    the changefeed's time zone) or a :class:`Catalog`. Without it, the columns of the first typed DataFrames make the
    tables, as :func:`~ticdc_emit.table_sql` does, with ``keys``: the columns of the primary key, or those of each table
    by its name (default: as given to ``traffic.replay``); a warning shows what was assumed. ``table``: ``schema.name``
    of a typed DataFrame, needed if there are several tables, or no schema. ``ddl``: later DDL as (commit_ts, statement)
    or (commit_ts, statement, schema). ``clock``: ``commit`` (messages carry the commit time), ``wall`` (the time at
    which the batch was first seen), or fixed ms. ``watermark_interval``: seconds of commit time between watermarks
    inside a batch, 0 for one at its end only. Default: 1 for a replay with the Simple protocol (more if a batch would
    have over 100,000), else 0. ``allowed_lateness``: seconds by which the watermark stays back. ``late``: what happens
    to a row at or below a sent watermark. ``bad_rows``: ``refuse`` a batch with a bad row, or ``skip`` such rows;
    ``bad_rows_path``: a folder (any fsspec URI) for a file of JSON lines per batch that lists them. ``state_uri``:
    where per-batch state is kept (any fsspec URI), for one writer at a time; without it, as long as the object.
    ``heartbeat``: seconds between watermarks while no batch runs and the stream has no more to read,
    ``allowed_lateness`` before the clock, which must be ``wall``; until :meth:`finish`, :meth:`close` or the end of the
    ``with`` block. ``message_digests``: whether reports have digests of the messages, for ``verify --expect``; a batch
    then takes a third longer, or more. ``librdkafka``: further client settings. ``sink``: receives the messages instead
    of the sink URI's target. ``registry``: registers Avro schemas, on the driver, instead of the configured one.
    ``on_report``: one or several functions, called with the :class:`RunReport` of each batch; an exception is logged.
    ``release`` to ``schema_registry``: as in :func:`~ticdc_emit.load_changefeed`; a loaded configuration has these, and
    ``changefeed``, already. Raises :class:`~ticdc_emit.errors.ConfigError`.
    """

    @hides_arguments
    def __init__(
        self, sink_uri: str | ChangefeedConfig, schema: str | Catalog | None = None, **options: Unpack[SinkOptions]
    ) -> None:
        refuse_unknown("TicdcSink", options, SinkOptions)
        registry, self._table, self._keys = options.get("registry"), options.get("table"), options.get("keys", ())
        self.config = config_of(sink_uri, options.get("changefeed"), options, own_registry=registry is not None)
        self.sink: Sink = options.get("sink") or sink_for(self.config, options.get("librdkafka"))
        self._lengths = RowLengths()
        if schema is not None and self._keys:
            raise ConfigError("keys= is for tables without a schema", remedy="Leave it out", option="keys")
        self._ending: Any = None  # the query that the end of the next batch is to hold
        self._with_schema = partial(
            Changefeed,
            self.config,
            self.sink,
            table=self._table,
            ddl=options.get("ddl", ()),
            options=RunOptions.of(options),
            registry=registry,
            on_report=callbacks_of("on_report", options.get("on_report", ())),
        )
        self._changefeed = None if schema is None else self._with_schema(schema)

    @property
    def changefeed(self) -> Changefeed:
        """The changefeed that runs the batches. Raises ``ConfigError`` for a sink without a schema before any rows."""
        if self._changefeed is None:
            raise ConfigError(
                "the tables are unknown before the first rows", remedy="Give schema=, their DDL", option="schema"
            )
        return self._changefeed

    def changefeed_of(self, changes: Any) -> Changefeed:
        """Return the changefeed; a sink without a schema makes its tables of the first changes."""
        if self._changefeed is None:
            changes = feeds_as_images(changes)
            by_table = changes if isinstance(changes, Mapping) else {self._table: changes}
            schema = schema_of_changes(by_table, self._keys, keyless=self.config.force_replicate)
            self._changefeed = self._with_schema(schema)
        return self._changefeed

    @property
    def table(self) -> str | None:
        """``schema.name`` of typed DataFrames, if it was given."""
        return self._table

    @property
    def reports(self) -> list[RunReport]:
        """The reports of the last thousand batches that this object has sent, in order."""
        return [] if self._changefeed is None else list(self._changefeed.reports)

    @property
    def total(self) -> RunTotal:
        """The sum over all batches that this object has sent."""
        return RunTotal.of([]) if self._changefeed is None else self._changefeed.total

    def __call__(self, df: DataFrame | Mapping[str, DataFrame], batch_id: int) -> None:
        """Send one micro-batch; a batch_id that was begun before is replayed with its own state.

        Micro-batches of a change feed become row changes by the key of their table, as in
        :func:`~ticdc_emit.spark.change_feed.from_changes`, after all commits of earlier ones.
        """
        feed = self.changefeed_of(df)
        batch = SparkBatch(self._row_changes(df, feed, batch_id), self._table, self._lengths)
        with setting_off(batch.session, ADAPTIVE_EXECUTION):
            feed.run(batch, batch_id, final=False, is_idle=idle_check(batch.session))
            ending, self._ending = self._ending, None
            if ending is not None:
                hold_until_stopped(ending, batch.session)

    def write(
        self, df: DataFrame | Mapping[str, Any] | Any, *, batch_id: int | None = None, until: int | None = None
    ) -> RunReport:
        """Send complete DataFrames, and the watermark after their last row.

        ``df``: one DataFrame in a public form or of a change feed, or several by the ``schema.name`` of their tables,
        which are one batch. Or the same as Arrow tables, pandas or polars DataFrames, or anything with Arrow's C
        interface: they are encoded in this process, without Spark. ``batch_id`` defaults to the one after the last
        batch in the state store; a batch that was begun and not finished begins again. ``until``: a TSO up to which no
        later batch will have rows; the watermark is sent up to it.
        """
        feed = self.changefeed_of(df)
        number = feed.next_batch_id() if batch_id is None else batch_id
        frames = df.values() if isinstance(df, Mapping) else [df]
        if frames and not any(hasattr(each, "sparkSession") for each in frames):
            rows = df if isinstance(df, Mapping) else changes_table(df)
            return feed.run(ArrowBatch(rows, self._table), number, final=True, until=until)
        batch = SparkBatch(self._row_changes(df, feed, number), self._table, self._lengths)
        return feed.run(batch, number, final=True, until=until)

    def _row_changes(self, df: Any, feed: Changefeed, batch_id: int) -> Any:
        if not has_feed(df):
            return df
        above = max(0, feed.complete_before(batch_id))
        return feeds_as_changes(df, feed.outline_of(batch_id), self._table, above=above)

    def messages(self, df: DataFrame | Mapping[str, DataFrame]) -> DataFrame:
        """Return the messages of a DataFrame's rows, or a change feed's, instead of sending them (see :func:`encode`).

        Does not use the per-batch state, so no row is late; bad rows are refused.
        """
        feed = self.changefeed_of(df)
        batch = SparkBatch(feeds_as_changes(df, feed.outline, self._table), self._table, self._lengths)
        return batch.messages(*feed.message_tasks(batch))

    def finish(self) -> RunReport | None:
        """Send DDL after the last row, and the last watermark; ``None`` if nothing was sent. Batches may follow."""
        return None if self._changefeed is None else self._changefeed.finish()

    def stop(self, query: Any) -> RunReport | None:
        """End a streaming query of this sink: wait for the batch at hand, stop the query, :meth:`finish`.

        Over Spark Connect this needs ``state_uri``. Raises what the query raised.
        """
        if not hasattr(query, "_jsq") and self.changefeed.options.state_uri is None:
            raise ConfigError(
                "over Spark Connect this process knows no batch", remedy="Give state_uri", option="state_uri"
            )
        self._ending, seen = query, list[Any]()
        try:  # a query that is stopped within a batch leaves it begun
            while self._ending is not None and query.isActive and query.status["isTriggerActive"] and len(seen) < 3:
                if query.lastProgress not in seen:  # two triggers end the wait for a batch that a copy of this sends
                    seen.append(query.lastProgress)
                time.sleep(POLL_S)
        finally:
            query.stop()
            self._ending = None
        query.awaitTermination()
        return self.finish()

    def close(self) -> None:
        """Release ``state_uri`` for another process, and end the heartbeat. Another batch starts both again."""
        if self._changefeed is not None:
            self._changefeed.close()

    def __enter__(self) -> TicdcSink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@hides_arguments
def encode(
    df: DataFrame, sink_uri: str | ChangefeedConfig, schema: str | Catalog | None = None, **options: Unpack[SinkOptions]
) -> DataFrame:
    """Return the messages of row changes or a change feed as a DataFrame: topic, partition, key, value, commit_ts.

    ``df.write.format("kafka")`` accepts these columns. It has the arguments of :class:`TicdcSink`; rows of a
    topic-partition are in order within one Spark partition. DDL and watermarks give no messages; DDL gives each row the
    table version of its commit time.
    """
    refuse_unknown("encode", options, SinkOptions)
    sink = TicdcSink(sink_uri, schema, **options)
    return sink.messages(df)
