"""What came into a Delta or Iceberg table since the last call, sent: a table is tailed without a stream.

In: the name or path of a table, a sink URI, and a state store, which knows how far earlier calls came. Out: the row
changes of newer versions and the DDL before them, as one batch. Iceberg's streaming read has appended rows only, and
Delta's ends where columns change; the change feeds of a batch read (``feed_reader``) have neither limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.load import refuse_unknown
from ticdc_emit.config.secrets import Secret, hides_arguments, mask_text
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.spark.sink import TicdcSink, TrafficSinkOptions
from ticdc_emit.traffic.replay.column_history import ddl_of_versions
from ticdc_emit.traffic.replay.feed_reader import feed_of_versions
from ticdc_emit.traffic.replay.table_versions import versioned_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from typing_extensions import Unpack


@hides_arguments
def send_new_versions(
    spark: SparkSession,
    sink_uri: str | ChangefeedConfig,
    table: str,
    name: str,
    keys: str | Iterable[str],
    *,
    format: str | None = None,
    **options: Unpack[TrafficSinkOptions],
) -> RunReport | None:
    """Send the versions of a Delta or Iceberg table that came since the last call, in the first call all; return the
    report of the batch, ``None`` if all were sent before. A version without rows, such as OPTIMIZE, is an empty batch.

    ``table``, ``format``: as :func:`~ticdc_emit.traffic.replay.read_changes` has them, which says which tables have a
    change feed. ``name``: schema.name in TiDB. ``keys``: the columns of the primary key, by their names in the last
    version. ``options``: those of :class:`~ticdc_emit.TicdcSink`, with ``state_uri``: it belongs to this table.

    A version is one transaction with its commit time, and the DDL of changed columns comes before its rows. A call that
    failed is made again with the versions that came since, so messages may come twice, with the same commit_ts.
    Versions before the last one that was sent may be gone: the state has the DDL of their columns.

    Raises :class:`ConfigError` without ``state_uri`` and where the table no longer has a version that was not sent, and
    the errors of ``read_changes``, :func:`~ticdc_emit.traffic.replay.table_ddl` and :meth:`TicdcSink.write`.
    """
    refuse_unknown("send_new_versions", options, TrafficSinkOptions)
    state_uri = options.get("state_uri")
    if state_uri is None:
        raise ConfigError(
            "without a state nobody knows which versions were sent",
            remedy="Give state_uri=, a folder for this table alone",
            option="state_uri",
        )
    source = versioned_table(spark, table, format)
    versions = [version for version in source.versions if version.id is not None]
    if not versions:
        return None
    history = ddl_of_versions(source, name, keys, with_later_columns=False, state_uri=Secret(state_uri))
    with TicdcSink(sink_uri, history.create_table, ddl=history.ddl, **options) as sink:
        feed = sink.changefeed
        sent = feed.complete_before(feed.next_batch_id())
        new = [version for version in versions if version.commit_ts > sent]
        if not new:
            return None
        if len(new) == len(versions) and sent >= 0:
            raise ConfigError(
                "the table no longer has the last version that was sent, so it may have lost later ones",
                remedy="Start anew with another state_uri and topic, and keep versions for longer than the pause of "
                "calls",
                option="table",
                table=mask_text(table),
            )
        changes = feed_of_versions(spark, source, start=None if sent < 0 else new[0].id)
        # the last versions may have no rows, as after a compaction
        return sink.write({name: changes}, until=new[-1].commit_ts)
