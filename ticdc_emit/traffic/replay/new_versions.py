"""What came into a Delta or Iceberg table since the last call, sent, by the change feeds of a batch read: Iceberg's
streaming read has appended rows only, and Delta's ends where columns change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.load import refuse_unknown
from ticdc_emit.config.secrets import hides_arguments
from ticdc_emit.errors import ConfigError, shown
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.pipeline.state_store import FsspecStateStore
from ticdc_emit.spark.row_changes import without_collations
from ticdc_emit.spark.sink import TicdcSink, TrafficSinkOptions
from ticdc_emit.traffic.replay.column_history import continued_ddl, place_of, restamped
from ticdc_emit.traffic.replay.history_forms import snapshot_inserts
from ticdc_emit.traffic.replay.record import ColumnRecord
from ticdc_emit.traffic.replay.table_versions import feed_of_versions, table_refused, versioned_table

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
    begin_with: Literal["versions", "rows"] = "versions",
    format: str | None = None,
    **options: Unpack[TrafficSinkOptions],
) -> RunReport | None:
    """Send the versions of a Delta or Iceberg table that came since the last call; return the report of the batch,
    ``None`` if all were sent before. A version without rows, such as OPTIMIZE, is an empty batch.

    ``begin_with``: what the first call sends: all versions, for which the table must have its first one; or the rows of
    the last version, as inserts with its commit time. ``table``, ``format``: as in
    :func:`~ticdc_emit.read_changes`. ``name``: schema.name in TiDB. ``keys``: the columns of the primary
    key, by their names in the last version. ``options``: those of :class:`~ticdc_emit.TicdcSink`, with ``state_uri``:
    it belongs to this table, and to one process at a time.

    A version is one transaction with its commit time, and the DDL of changed columns comes before its rows. A call that
    failed is made again with the versions that came since, so messages may come twice, with the same commit_ts.
    Versions before the last one that was sent may be gone: the state has the DDL of their columns.

    Raises :class:`ConfigError` without ``state_uri``, for the state of another table, and where the table no longer has
    a version that was not sent, or was rolled back before one that was; and the errors of ``read_changes``,
    :func:`~ticdc_emit.table_ddl` and :meth:`TicdcSink.write`.
    """
    refuse_unknown("send_new_versions", options, TrafficSinkOptions)
    if begin_with not in ("versions", "rows"):
        raise ConfigError(
            f"{shown(begin_with)} is nothing to begin with", remedy="Give versions or rows", option="begin_with"
        )
    state_uri = options.get("state_uri")
    if state_uri is None:
        raise ConfigError(
            "without a state nobody knows which versions were sent",
            remedy="Give state_uri=, a folder for this table alone",
            option="state_uri",
        )
    store = FsspecStateStore(os.fspath(state_uri))
    newest = store.newest()
    source = versioned_table(spark, table, format)
    versions = [version for version in source.versions if version.id is not None]
    if not versions:
        return None
    known = None if newest is None else ColumnRecord.find(store, name)
    if newest is not None and known is None:
        raise ConfigError(
            f"the state has batches, and knows nothing of {name}",
            remedy="Give each table a state_uri of its own",
            option="state_uri",
        )
    is_first = newest is None or (not newest.done and newest.max_commit_ts < 0)
    begins_with_rows = (begin_with if known is None else known.begin_with) == "rows"
    begin = versions[-1].id if begins_with_rows else versions[0].id
    if known is not None:
        begin, versions = known.first_version, restamped(versions, known)
        if place_of(known, versions) is None and versions[0].commit_ts <= known.commit_ts:
            raise _lost(table, f"was rolled back behind version {known.version}, which may have been sent")
    lost = begin not in {version.id for version in versions}
    if is_first and (lost or (not begins_with_rows and source.before(versions[0].id or 0) is not None)):
        cause = f"the table no longer has the versions before {versions[0].id}, so its changes lack their rows"
        remedy = 'Give begin_with="rows", to begin with the rows of the last version'
        raise table_refused(table, cause, remedy + ("" if known is None else ", with another state_uri and topic"))
    steps = versions[-1:] if known is None and begins_with_rows else versions
    history = continued_ddl(source, steps, name, keys, store, known, begin_with)
    only_rows = is_first and begins_with_rows
    with TicdcSink(sink_uri, history.create_table, ddl=() if only_rows else history.ddl, **options) as sink:
        if only_rows:
            # a call that failed may have sent some of these rows, and not those of what is now the last version
            at = next(each.commit_ts for each in versions if each.id == begin)
            return sink.write({name: snapshot_inserts(without_collations(source.rows(begin or 0)), at)}, until=at)
        feed = sink.changefeed
        sent = feed.complete_before(feed.next_batch_id())
        new = [version for version in versions if version.commit_ts > sent]
        if not new:
            return None
        if len(new) == len(versions) and sent >= 0:
            raise _lost(table, "no longer has the last version that was sent, so it may have lost later ones")
        changes = feed_of_versions(spark, source, start=None if sent < 0 else new[0].id)
        # the last versions may have no rows, as after a compaction
        return sink.write({name: changes}, until=new[-1].commit_ts)


def _lost(table: str, what: str) -> ConfigError:
    remedy = "Start anew with another state_uri and topic, and keep versions for longer than the pause of calls"
    return table_refused(table, f"the table {what}", remedy)
