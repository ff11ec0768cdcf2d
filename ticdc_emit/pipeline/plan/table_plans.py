"""The plan of a changefeed: every version of every table with its row encoder, and where its messages go.

A :class:`Plan` knows no row, asks nobody and is pickled to the workers; what follows from its fields is worked out anew
there. ``pipeline.planning`` makes a changefeed's, and an ``Encoder`` its own.
"""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.codec import Codec, ControlMessage, RegisteredRows
from ticdc_emit.changes.model import RowEncoder, encoding_shape, key_shape
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.config import ChangefeedConfig, Integrity
from ticdc_emit.config.switches import RoutingSwitches, TransactionSwitches
from ticdc_emit.delivery.base import Target
from ticdc_emit.delivery.storage_files import as_message
from ticdc_emit.errors import (
    ColumnSelectorError,
    DispatcherError,
    SchemaError,
    TicdcEmitWarning,
    UnknownTableError,
    warn_caller,
)
from ticdc_emit.pipeline.plan.large_messages import ClaimNames, LargeMessages
from ticdc_emit.protocols import codec_for
from ticdc_emit.routing.filter_rules import KEYLESS, EventFilters
from ticdc_emit.routing.partitions import PartitionRule, table_hash
from ticdc_emit.routing.replication import LeftOut, TableHistory, Unreplicated
from ticdc_emit.routing.row_filters import RowFilter, check_expressions
from ticdc_emit.routing.selectors import ColumnSelectors
from ticdc_emit.routing.table_routes import TableRoutes
from ticdc_emit.routing.topics import Router
from ticdc_emit.schema.defaults import with_original_defaults
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.storage.files import FileRules, checkpoint_file
from ticdc_emit.storage.paths import METADATA
from ticdc_emit.tso import physical_ms

logger = logging.getLogger(__name__)

_KEYLESS_TABLE = "the table has no primary key and no unique key over NOT NULL columns, so TiCDC does not replicate it"
_KEYLESS_REMEDY = "Add a key, or set force-replicate = true in the changefeed's TOML (force_replicate=True in Python)"


@dataclass(frozen=True)
class _Refused:
    """In the place of the encoder of a version whose rows TiCDC refuses."""

    table: TableInfo
    fault: ColumnSelectorError
    overhead: int = 0


class _Route(NamedTuple):
    topic: str
    partition: int | None = 0
    rule: PartitionRule = PartitionRule()
    partitions: int = 1
    routes: tuple[_Route, ...] = ()


@dataclass(frozen=True)
class TablePlan:
    """The row encoders of one table name over time, and where its messages go.

    ``partition`` is that of all rows, ``None`` if it depends on the row. ``routes``: of each version, if they differ.
    """

    schema: str
    name: str
    since: tuple[int, ...]
    encoders: tuple[RowEncoder | None, ...]
    topic: str
    partition: int | None = 0
    rule: PartitionRule = PartitionRule()  # noqa: RUF009 - frozen
    partitions: int = 1
    routes: tuple[_Route, ...] = ()
    routing: RoutingSwitches = RoutingSwitches()
    left_out: tuple[LeftOut, ...] = ()
    """The spans of time in which the table has rows that TiCDC does not replicate, and why."""
    filters: tuple[RowFilter | None, ...] = ()
    """Of each version, what event filters say of its rows; empty if they say nothing of the table."""
    survivors: tuple[frozenset[int], ...] = ()
    """Of each version, the partitions whose rows keep the version before it; empty if no version has such ones."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made from the rest."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def full_name(self) -> str:
        """``schema.name``, for errors."""
        return f"{self.schema}.{self.name}"

    def refuse_keyless(self) -> None:
        """Raise :class:`SchemaError` if no version of the table is replicated because none has a handle key."""
        if self.left_out and all(span.reason == KEYLESS for span in self.left_out) and not any(self.encoders):
            raise SchemaError(_KEYLESS_TABLE, remedy=_KEYLESS_REMEDY, table=self.full_name)

    @property
    def newest(self) -> TableInfo:
        """The last schema of the table that rows can have."""
        return next(encoder.table for encoder in reversed(self.encoders) if encoder is not None)

    @property
    def versions(self) -> Iterator[TableInfo]:
        """Every schema of the table that rows can have, in the order of time."""
        return (encoder.table for encoder in self.encoders if encoder is not None)

    @cached_property
    def column_names(self) -> frozenset[str]:
        """The name of every column that any version has, those without values included."""
        unused = frozenset(name for span in self.left_out for name in span.columns)
        return unused | frozenset(column.name for info in self.versions for column in info.columns)

    @cached_property
    def overhead(self) -> int:
        """The greatest ``overhead`` of any version's encoder, in bytes."""
        return max((each.overhead for each in self.encoders if each is not None), default=0)

    @cached_property
    def encoding_shape(self) -> Hashable:
        """What tables have in common whose rows can be encoded together (``changes.model``): of one version."""
        encoder = next(each for each in reversed(self.encoders) if each is not None)
        shape = encoding_shape(encoder.table)
        return (shape, encoder.shape) if isinstance(encoder, RegisteredRows) else shape

    @cached_property
    def key_shape(self) -> Hashable | None:
        """What tables have in common whose rows are arranged alike; ``None`` where there is more to decide."""
        encoder = self.encoders[0] if len(self.encoders) == 1 else None
        if encoder is None or isinstance(encoder, _Refused) or self.left_out or any(self.filters):
            return None
        return key_shape(encoder.table)

    @cached_property
    def spreading(self) -> Hashable:
        """What tables of one :attr:`encoding_shape` have in common whose rows are spread over partitions alike."""
        if self.partition is not None:
            return None
        try:
            hashed = [(name, column.name) for name, column in self.rule.hashed(self.newest, self.routing)]
        except DispatcherError:  # which is raised where it is asked for a row's partition
            return self.schema, self.name
        return self.rule, self.partitions, tuple(hashed)

    def filter_of(self, encoder: RowEncoder) -> RowFilter | None:
        """Return the event filters for rows of this encoder's version."""
        return self.filters[self._place_of(encoder)] if self.filters else None

    def routed(self, encoder: RowEncoder) -> TablePlan:
        """Return the plan with where the rows of this encoder's version go."""
        return replace(self, **self.routes[self._place_of(encoder)]._asdict()) if self.routes else self

    def _place_of(self, encoder: RowEncoder) -> int:
        return next(place for place, each in enumerate(self.encoders) if each is encoder)

    def encoder_at(self, commit_ts: int, newest: int | None = None) -> RowEncoder:
        """Return the encoder for rows committed at ``commit_ts``: a DDL shapes the rows after its own TSO."""
        place = bisect_left(self.since, commit_ts) - 1
        if newest is not None:
            place = min(place, newest)
        encoder = self.encoders[place] if place >= 0 else None
        if isinstance(encoder, _Refused):
            raise encoder.fault.with_traceback(None)
        if encoder is None:
            if any(each.covers(np.uint64(commit_ts)) for each in self.left_out):
                raise SchemaError(_KEYLESS_TABLE, remedy=_KEYLESS_REMEDY, table=self.full_name, commit_ts=commit_ts)
            raise UnknownTableError(
                "the table does not exist at this commit_ts",
                remedy="Check the order of the DDL statements and the rows",
                table=self.full_name,
                commit_ts=commit_ts,
            )
        return encoder

    def next_ddl(self, commit_ts: int) -> int | None:
        """Return the TSO of the first DDL that shapes no row committed at ``commit_ts``; ``None`` if none is known."""
        place = bisect_left(self.since, commit_ts)
        return self.since[place] if place < len(self.since) else None

    def versions_at(self, stamps: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Return the place in ``encoders`` of the version for each commit_ts: 0 also for one before the first."""
        # as uint64: numpy would compare a Python int with uint64 by way of float64
        return np.searchsorted(np.array(self.since[1:], np.uint64), stamps, side="left")

    def spans(self, commit_ts: pa.Array, physical_ids: pa.Array | None = None) -> list[tuple[int, int, RowEncoder]]:
        """Cut rows, in any order, into (start, length, encoder) runs of one table version.

        ``physical_ids``: where it matters that partitions may keep an older version, which has the same columns.
        """
        numbers = commit_ts.to_numpy()
        if len(numbers) == 0:
            return []
        if len(self.since) == 1:
            return [(0, len(numbers), self.encoder_at(int(numbers.min())))]
        versions = self.versions_at(numbers.astype(np.uint64))
        if self.survivors and physical_ids is not None:
            ids = physical_ids.fill_null(0).to_numpy()
            for place in range(len(self.survivors) - 1, 0, -1):
                versions[(versions == place) & np.isin(ids, list(self.survivors[place]))] -= 1
        cuts = [0, *(np.flatnonzero(np.diff(versions)) + 1).tolist(), len(numbers)]
        return [
            (start, end - start, self.encoder_at(int(numbers[start]), int(versions[start])))
            for start, end in pairwise(cuts)
        ]


KnownEncoders: TypeAlias = "dict[int, tuple[TableInfo | None, RowEncoder | None]]"
"""The encoder of each version of a table, by the version's ``id``, with the version itself: ids are used again."""


@dataclass(frozen=True)
class Plan:
    """The whole plan. ``build_ts`` is the wall clock of row messages in ms; ``None`` takes it from each commit_ts."""

    codec: Codec
    tables: Mapping[tuple[str, str], TablePlan]
    router: Router
    rendering: Rendering
    large: LargeMessages
    build_ts: int | None = None
    integrity: Integrity = field(default_factory=Integrity)
    splits: bool = True
    """Whether an update that changes a unique key becomes a delete and an insert."""
    transactions: TransactionSwitches = TransactionSwitches()
    ignored_start_ts: frozenset[int] = frozenset()
    """The transactions whose rows are left out."""
    first_place: int = 0
    """The place of the first table: that of the only one, in the plan of a table among many."""

    def of_table(self, schema: str, name: str) -> Plan:
        """Return the plan for one of 10,000 tables' rows, without the other 9,999. Not for control messages."""
        key = schema, name
        return replace(self, tables={key: self.table(*key)}, first_place=self.places[key])

    def table(self, schema: str, name: str) -> TablePlan:
        """Return the plan of a table; :class:`UnknownTableError` if the catalog never had it."""
        try:
            return self.tables[schema, name]
        except KeyError:
            known = ", ".join(sorted(f"{s}.{n}" for s, n in self.tables)[:10])
            raise UnknownTableError(
                "no such table in the catalog",
                remedy=f"Known tables: {known}. Names are case-sensitive"
                if known
                else "Known tables: none yet. Give CREATE TABLE in the schema, as ddl, or in rows with op = 'ddl'",
                table=f"{schema}.{name}",
            ) from None

    @cached_property
    def places(self) -> dict[tuple[str, str], int]:
        """The place of each table among all, by name: which comes first among changes of one commit_ts."""
        return {key: place for place, key in enumerate(sorted(self.tables), self.first_place)}

    @cached_property
    def in_order(self) -> tuple[TablePlan, ...]:
        return tuple(self.tables[key] for key in self.places)

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """Every topic-partition that any message may go to, in order of topic."""
        return tuple(target for topic in sorted(self.router.partitions) for target in self.router.targets(topic))

    @cached_property
    def keyless(self) -> tuple[tuple[str, str], ...]:
        """The tables that have versions which TiCDC does not replicate for want of a handle key."""
        return tuple(
            key for key, table in self.tables.items() if any(span.reason == KEYLESS for span in table.left_out)
        )

    def watermark_topics(self, ts: int) -> frozenset[str]:
        """Return the topics that a watermark must reach: the default one, and those of the tables that live at it."""
        if self.router.by_table:  # it is the checkpoint, one file
            return frozenset([self.router.default_topic])
        return frozenset(
            [self.router.default_topic, *(topic for topic in self._lifetimes if self.watermark_reaches(topic, ts))]
        )

    def watermark_reaches(self, topic: str, ts: int) -> bool:
        """Return whether a watermark must reach the topic: it is the default one, or that of a table living at it."""
        if topic == self.router.default_topic or self.router.by_table:
            return topic == self.router.default_topic
        return bisect_right(self._lifetimes.get(topic, ()), ts) % 2 == 1

    @cached_property
    def _lifetimes(self) -> dict[str, list[int]]:
        """The TSOs at which each topic gets its first live table, loses its last one, gets one again, and so on."""
        steps: dict[str, dict[int, int]] = {}
        for table in self.tables.values():
            before: str | None = None
            for since, encoder in zip(table.since, table.encoders, strict=True):
                topic = None if encoder is None else table.routed(encoder).topic
                for changed, step in ((before, -1), (topic, 1)):
                    if changed is not None and topic != before:
                        changes = steps.setdefault(changed, {})
                        changes[since] = changes.get(since, 0) + step
                before = topic
        return {topic: _turns(changes) for topic, changes in steps.items()}

    def clock(self, ts: int) -> int:
        """Return the wall clock of a control message for the TSO ``ts``, in ms."""
        return physical_ms(ts) if self.build_ts is None else self.build_ts

    def with_partitions(self, config: ChangefeedConfig, partitions: Mapping[str, int], message_limit: int) -> Plan:
        """Return the plan of the same tables with the sink's partition counts (see :func:`make_plan`)."""
        router = Router.of(config, partitions)
        tables = {}
        for key, table in self.tables.items():
            route = _route(router, *key, table.encoders, is_left_out=bool(table.left_out))
            tables[key] = replace(table, **route._asdict())
        large = LargeMessages.of(config, self.codec, message_limit=message_limit, names=self.large.names)
        return replace(self, tables=tables, router=router, large=large)

    def at(self, build_ts: int | None) -> Plan:
        return self if build_ts == self.build_ts else replace(self, build_ts=build_ts)

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # no facts that a worker makes anew


def make_plan(
    config: ChangefeedConfig,
    tables: Mapping[tuple[str, str], TableHistory],
    partitions: Mapping[str, int],
    *,
    build_ts: int | None = None,
    verbatim_json: bool = False,
    message_limit: int | None = None,
    claim_names: ClaimNames | None = None,
    unreplicated: Unreplicated | None = None,
    encoders: KnownEncoders | None = None,
) -> Plan:
    """Plan every version of every table.

    ``partitions`` of each topic and ``message_limit``, the largest message that topics take, are the sink's.
    ``unreplicated``: what TiCDC leaves out, whose versions are ``None`` in ``tables``. ``encoders``: of earlier plans;
    new ones are added.
    """
    codec = codec_for(config)
    if config.storage is not None:
        codec = cast("Codec", FileCodec(codec, FileRules.of(config)))
    router = Router.of(config, partitions)
    selectors, routes = ColumnSelectors.of(config), TableRoutes.of(config)
    event_filters = EventFilters.of(config)
    known: KnownEncoders = {} if encoders is None else encoders
    planned = {}
    for (schema, name), history in tables.items():
        versions = list(history)
        planned_versions = []
        for _, info in versions:
            own, encoder = known.get(id(info), (None, None))
            if own is not info:  # a new one, or another of an id that has come again
                encoder = _checked(codec, _as_shown(config, info), selectors, routes)
                known[id(info)] = info, encoder
            planned_versions.append(encoder)
        since = tuple(since for since, _ in versions)
        filters = _row_filters(config, event_filters, versions)
        left_out = (unreplicated or {}).get((schema, name), ())
        planned[schema, name] = TablePlan(
            schema,
            name,
            since,
            tuple(planned_versions),
            *_route(router, schema, name, planned_versions, is_left_out=bool(left_out)),
            routing=config.release.routing,
            left_out=left_out,
            filters=filters,
            survivors=_survivors(versions) if config.release.ddl.surviving_partitions == "old" else (),
        )
    rendering = Rendering(config.time_zone, verbatim_json=verbatim_json, switches=config.release.values)
    large = LargeMessages.of(config, codec, message_limit=message_limit, names=claim_names)
    return Plan(
        codec,
        planned,
        router,
        rendering,
        large,
        build_ts,
        config.integrity,
        splits=not config.output_raw_change_event,
        transactions=config.release.transactions,
        ignored_start_ts=frozenset(config.filter.ignore_txn_start_ts),
    )


def _survivors(versions: Sequence[tuple[int, TableInfo | None]]) -> tuple[frozenset[int], ...]:
    """Return for each version the partitions that the DDL which made it left alone, if it changed others of them."""
    kept = [frozenset[int]()]
    for (_, before), (_, after) in pairwise(versions):
        ids = [{each.id for each in info.partitions} for info in (before, after) if info is not None]
        changed = before is not None and after is not None and before.id == after.id and ids[0] != ids[1]
        kept.append(frozenset(ids[0] & ids[1]) if changed else frozenset())
    return tuple(kept) if any(kept) else ()


def _turns(changes: Mapping[int, int]) -> list[int]:
    turns, count = [], 0
    for since in sorted(changes):
        before, count = count, count + changes[since]
        if (before == 0) is not (count == 0):
            turns.append(since)
    return turns


def verify_tables(config: ChangefeedConfig, tables: Iterable[TableInfo]) -> None:
    """Refuse tables that TiCDC refuses when a changefeed is created."""
    router, selectors = Router.of(config, {}), ColumnSelectors.of(config)
    filters = EventFilters.of(config)
    for table in tables:
        if not table.is_view:
            check_expressions(filters, table, config)
            rule = router.rule(table.schema, table.name)
            rule.verify(table, config.release.routing)
            selectors.verify(table, rule)


def topics_of(
    config: ChangefeedConfig, histories: Mapping[tuple[str, str], TableHistory], events: Iterable[DdlEvent] = ()
) -> tuple[str, ...]:
    """Return every topic that messages of these tables and DDL go to: the default one first, then in order of name."""
    router = Router.of(config, {})
    names = {
        key if router.by_table else info.source_name
        for key, history in histories.items()
        for _, info in history
        if info is not None
    }
    topics = {router.topic(*name) for name in names}
    topics |= {topic for event in events for topic in router.ddl_topics(event)}
    return (router.default_topic, *sorted(topics - {router.default_topic}))


def _route(
    router: Router, schema: str, name: str, encoders: Iterable[RowEncoder | None], *, is_left_out: bool
) -> _Route:
    """Return where a table's messages go, by the name that they show.

    A RENAME may have another case than the table, and after a discarded statement the name may be another one.
    """
    shown = [None if encoder is None else encoder.table.source_name for encoder in encoders]
    names = {each for each in shown if each is not None}
    if is_left_out and not names:  # its topic need not exist
        return _Route(router.topic(schema, name))
    if router.by_table and (len(names) > 1 or not {router.topic(*each) for each in names} <= router.partitions.keys()):
        names = set()  # all its files are of one topic
    routes = {each: _route_of(router, *each) for each in names or {(schema, name)}}
    newest = routes[next((each for each in reversed(shown) if each in routes), (schema, name))]
    if len(set(routes.values())) == 1:
        return newest
    return newest._replace(partition=None, routes=tuple(newest if each is None else routes[each] for each in shown))


def _route_of(router: Router, schema: str, name: str) -> _Route:
    topic, rule = router.topic(schema, name), router.rule(schema, name)
    partitions = router.count(topic)
    # a rule by value is asked even for one partition: it may not fit the table
    constant = not rule.by_value and (partitions == 1 or rule.kind == "table")
    return _Route(topic, table_hash(schema, name) % partitions if constant else None, rule, partitions)


def _row_filters(
    config: ChangefeedConfig, filters: EventFilters, versions: Iterable[tuple[int, TableInfo | None]]
) -> tuple[RowFilter | None, ...]:
    if not filters.rules:
        return ()
    sensitive, zone = config.case_sensitive, config.time_zone
    row_filters = tuple(
        None if info is None or info.is_view else RowFilter.of(filters, info, case_sensitive=sensitive, zone=zone)
        for _, info in versions
    )
    return row_filters if any(row_filters) else ()


def _as_shown(config: ChangefeedConfig, info: TableInfo | None) -> TableInfo | None:
    values, virtual_keys = config.release.values, config.release.filtering.virtual_keys == "accepted"
    if info is None:
        return None
    if values.column_defaults == "original":
        info = with_original_defaults(info)
    joined_keys = values.handle_key == "joined"
    if not (joined_keys if info.whole_primary_key else virtual_keys):
        return info
    keyed = replace(info, virtual_keys=virtual_keys, joined_keys=joined_keys)
    return info if keyed.shown_handle_key == info.whole_handle_key else keyed


def _checked(
    codec: Codec, info: TableInfo | None, selectors: ColumnSelectors, routes: TableRoutes
) -> RowEncoder | None:
    if info is None or info.is_view:
        return None
    if not info.row_columns:
        raise SchemaError(
            "the table has only virtual columns, so it cannot have row changes",
            remedy="Add a column that is not virtual, or remove the table from the schema",
            table=info.full_name,
        )
    try:
        return codec.rows(routes.table(selectors.select(info)))
    except ColumnSelectorError as fault:
        return cast("RowEncoder", _Refused(info, fault))


class KeylessTableWarning(TicdcEmitWarning):
    """Tables of a changefeed without a handle key: their rows and DDL are left out, as TiCDC does it."""


def warn_keyless(tables: Iterable[tuple[str, str]]) -> None:
    """Warn that tables are not replicated, once for all of them; it is logged too."""
    names = ", ".join(f"{schema}.{name}" for schema, name in tables)
    message = (
        f"Tables without a primary key or a unique key over NOT NULL columns are left out, as TiCDC does it: {names}. "
        "Add a key, or set force-replicate = true"
    )
    logger.info(message)
    warn_caller(message, KeylessTableWarning)


@dataclass(frozen=True)
class FileCodec:
    """A protocol whose rows go to files (see ``changes.codec.Codec``): control messages are whole files."""

    codec: Codec
    rules: FileRules
    compressed_parts: tuple[str, ...] = ()
    refuses_large_schemas: bool = False

    def rows(self, table: TableInfo) -> RowEncoder:
        return self.codec.rows(table)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return the schema files of a DDL: their paths are the key. Raises what ``FileRules.definitions`` raises."""
        files = [(made.file.path(folder), made.content()) for made, folder in self.rules.definitions(event)]
        return ControlMessage(*as_message(files), event.commit_ts) if files else None

    def watermark(self, ts: int, build_ts: int) -> ControlMessage:
        return ControlMessage(METADATA.encode(), checkpoint_file(ts), ts)
