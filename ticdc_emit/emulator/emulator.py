"""A running TiDB with TiCDC as an object: what a test does to it, and what its consumer should have in the end.

Messages are acknowledged when a call returns; calls of several threads come one after the other. The emulator begins
with the changefeed :data:`DEFAULT`. While nothing is committed, watermarks follow the clock.
"""

from __future__ import annotations

import ctypes
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import pyarrow as pa

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.database.session import StatementResult
from ticdc_emit.database.tables import Tables
from ticdc_emit.delivery.base import Message, Sink, Target
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.emulator.call_lock import WAIT_S, CallLock
from ticdc_emit.emulator.changefeed import EmulatedChangefeed
from ticdc_emit.emulator.recording import RecordingSink
from ticdc_emit.emulator.source import MOST_BYTES, Source
from ticdc_emit.errors import ChangefeedStateError, ConfigError, ServerBusyError, TicdcEmitError, UnknownChangefeedError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.registry.base import SchemaRegistry
from ticdc_emit.routing.table_routes import TableRoutes
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.testing.running import Running
from ticdc_emit.traffic.expected_tables import shown_tables
from ticdc_emit.traffic.generate.live import LiveTraffic
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.scenarios.library import scenario_for
from ticdc_emit.traffic.scenarios.model import Scenario

if TYPE_CHECKING:
    from typing import Self

logger = logging.getLogger(__name__)

DEFAULT = "default"
"""The id of the changefeed that an emulator begins with."""

HEARTBEAT_S = 1.0
"""Between watermarks while nothing is committed, as TiCDC's."""

DEFAULT_RATE = 10.0
"""Rows a second of generated traffic."""

MOST_COUNTED = 1_000
"""Messages of a topic-partition in which a call's rows are counted: they are read for it."""

_TICK_S = 0.1  # between looks at generated traffic
_MOST_OF_TICK = 1_000  # changes between two looks whether a call waits; a quarter of a second on an idle machine
_MOST_BEFORE_CALL = 5_000
"""Generated changes that a call lets pass before it. A machine too slow for the rate has more; they come after it."""


class _Int64:
    """Tells generators of HTTP clients that a whole number needs 64 bits."""

    @staticmethod
    def __get_pydantic_json_schema__(core_schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return {**handler(core_schema), "format": "int64"}


Tso: TypeAlias = Annotated[int, _Int64()]
Offset: TypeAlias = Annotated[int, _Int64()]


@dataclass(frozen=True)
class PartitionSent:
    """``messages``: that a topic-partition got; ``rows``: the row changes in them, ``None`` above :data:`MOST_COUNTED`
    messages. ``end_offset``: the offset after its last message.
    """

    topic: str
    partition: int
    messages: int
    end_offset: Offset
    rows: int | None = None


@dataclass(frozen=True)
class Sent:
    """What a call has sent, acknowledged by the sink.

    ``commit_ts``: the call's last commit, if any; ``rows``: the row changes that it committed; ``messages``: those of
    all ``partitions``; ``state``: that of the changefeed; one that is stopped sends its messages when it is resumed.
    """

    commit_ts: Tso | None
    rows: int
    messages: int
    partitions: tuple[PartitionSent, ...]
    state: str


@dataclass(frozen=True)
class TrafficState:
    """``rows``: how many changes were generated since the start."""

    running: bool
    rate: float
    rows: int
    error: TicdcEmitError | None = None


@dataclass
class _Call:
    feed: EmulatedChangefeed
    partitions: tuple[PartitionSent, ...] = ()

    def sent(self, commit_ts: int | None = None, rows: int = 0) -> Sent:
        return Sent(
            commit_ts=commit_ts,
            rows=rows,
            messages=sum(each.messages for each in self.partitions),
            partitions=self.partitions,
            state=self.feed.state,
        )


class Emulator(Running):
    """``schema``: SQL of the tables, which begin empty. ``config``: of the default changefeed, whose release, time zone
    and SQL mode are the server's. Use it as a context manager.

    ``sinks``: makes the sink of a configuration. ``registry``: instead of the configured one. ``traffic``: how
    generated traffic is made once it is started. ``now``: the clock's milliseconds, by default the wall clock's.
    ``heartbeat_s``: seconds between watermarks while nothing is committed, ``None`` for none. ``wait_s``: how long a
    call waits for another thread's until it raises :class:`~ticdc_emit.errors.ServerBusyError`, ``None`` for no limit.
    ``retain_bytes``: memory for commits that a restart may need, and for the messages that each changefeed has sent:
    half of it each. Raises the :class:`~ticdc_emit.errors.ConfigError` and :class:`~ticdc_emit.errors.SchemaError`
    families before anything outside is touched.
    """

    def __init__(
        self,
        config: ChangefeedConfig,
        schema: str = "",
        *,
        sinks: Callable[[ChangefeedConfig], Sink] = sink_for,
        registry: SchemaRegistry | None = None,
        traffic: Settings | None = None,
        now: Callable[[], int] | None = None,
        heartbeat_s: float | None = HEARTBEAT_S,
        wait_s: float | None = WAIT_S,
        retain_bytes: int = 2 * MOST_BYTES,
    ) -> None:
        self.retain_bytes = retain_bytes
        self._lock = CallLock(wait_s)
        self._sinks = sinks
        self._registry = registry
        self.on_report: Callable[[str, RunReport], None] = lambda name, report: None
        """Called with a changefeed's id and the report of each batch."""
        self._ends: dict[tuple[object, ...], dict[Target, int]] = {}
        self.source = Source(config, schema, now=now, most_bytes=retain_bytes // 2)
        self.changefeeds: dict[str, EmulatedChangefeed] = {}
        self.add(DEFAULT, config)
        self._schema, self.config = schema, config
        self._traffic_settings = traffic or Settings(rows=None, rate=DEFAULT_RATE)
        self._traffic: LiveTraffic | None = None
        self._traffic_error: TicdcEmitError | None = None
        self._generated_of: list[TableInfo | None] = []
        """The tables of which changes are generated, as they were when they were last."""
        self._scenarios = 0
        self._heartbeat_s = heartbeat_s
        self._last_watermark = time.monotonic()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.is_ready = False

    # -- life ---------------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Create the topics, send the first watermark, and begin to follow the clock. Raises the errors of the sink."""
        with self._lock.held("the start"):
            self.changefeed().send_new(self.source.clock())
            self.is_ready = True
        self._ended.clear()
        self._thread = threading.Thread(target=self._follow_clock, name="emulator", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End traffic and watermarks. What is held back is dropped."""
        self._ended.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        self.is_ready = False

    def _follow_clock(self) -> None:
        is_behind = False
        while not self._ended.wait(0 if is_behind else _TICK_S):
            is_behind = False
            try:
                is_behind = not self._send_due(waits=False)
            except ServerBusyError:  # a call runs or waits, which sends what is due itself
                continue
            except Exception:  # the thread must live on, and nobody waits for it
                logger.exception("the emulator failed while it followed the clock")

    def tick(self) -> None:
        """Send what is due: generated traffic, and the watermark if none was sent for a while."""
        until = self.source.clock()
        while not self._send_due(until):
            pass

    def _send_due(self, until: int | None = None, *, waits: bool = True) -> bool:
        """Send a piece of what is due by a TSO, by default now; return whether nothing more is."""
        with self._lock.held("what is due", waits=waits):
            until = self.source.clock() if until is None else until
            is_due = self._heartbeat_s is not None and time.monotonic() - self._last_watermark >= self._heartbeat_s
            try:
                has_any, reached = self._generate(until, _MOST_OF_TICK)
                if has_any or is_due:
                    self._send_new(reached, watermark=is_due)
            except TicdcEmitError as error:
                if self._is_generating:
                    self._stop_generating(error)
                return True
            return reached >= until

    # -- changefeeds --------------------------------------------------------------------------------------------------

    def changefeed(self, name: str = DEFAULT) -> EmulatedChangefeed:
        """Return a changefeed by its id; raises :class:`UnknownChangefeedError`."""
        found = self.changefeeds.get(name)
        if found is None:
            raise UnknownChangefeedError(
                f"no changefeed has the id {name!r}",
                remedy=f"{did_you_mean(name, self.changefeeds)}There are: {', '.join(sorted(self.changefeeds))}",
                changefeed=name,
            )
        return found

    def add(
        self, name: str, config: ChangefeedConfig | None, *, start_ts: int | None = None, target_ts: int | None = None
    ) -> EmulatedChangefeed:
        """Make a changefeed over the source, which sends from the next call on; ``None``: for ``blackhole://``."""
        with self._lock.held("a new changefeed"):
            made = EmulatedChangefeed(
                name,
                self.source,
                config,
                None if config is None else self.recording_sink(config),
                start_ts=self.source.clock() if start_ts is None else start_ts,
                target_ts=target_ts,
                registry=self._registry,
                on_report=lambda report: self.on_report(name, report),
            )
            self.changefeeds[name] = made
            return made

    def recording_sink(self, config: ChangefeedConfig) -> RecordingSink:
        """Return the sink of a configuration. Raises :class:`~ticdc_emit.errors.ConfigError` for a storage sink."""
        if config.sink_uri.stored:
            raise ConfigError(
                f"an emulated changefeed sends messages, and {config.sink_uri.scheme}:// is for files",
                remedy="Use kafka://",
                option="sink-uri",
                code="CDC:ErrSinkURIInvalid",
            )
        place = (config.sink_uri.scheme, config.sink_uri.hosts, "" if config.sink_uri.hosts else config.sink_uri.path)
        ends = self._ends.setdefault(place, {})
        return RecordingSink(self._sinks(config), ends, most_bytes=self.retain_bytes // 2)

    @property
    def retained_bytes(self) -> int:
        """The bytes of commits and messages that are kept now."""
        sinks = [feed.sink for feed in list(self.changefeeds.values()) if feed.sink is not None]
        return self.source.retained_bytes + sum(sink.retained_bytes for sink in sinks)

    def locked(self, call: str) -> AbstractContextManager[None]:
        """Keep other calls out of the block; ``call`` names it. Raises :class:`~ticdc_emit.errors.ServerBusyError`."""
        return self._lock.held(call)

    @contextmanager
    def exclusive(self, call: str) -> Iterator[None]:
        """As :meth:`locked`, and keep generated traffic out: what was due before the block is committed and sent."""
        with self._lock.held(call), self._between_traffic():
            yield

    # -- changes ------------------------------------------------------------------------------------------------------

    def run_sql(self, script: str, database: str | None = None) -> tuple[Sent, list[StatementResult]]:
        """Execute a change script and send what it commits; return what each statement did. ``database``: the current
        one. Raises :class:`~ticdc_emit.errors.StatementError` and others; what was committed before is sent.
        """
        with self._call("SQL") as call:
            results, commits, failure = self.source.run(script, database)
            if failure is None or not self._ended.is_set():  # at the end only the answer is waited for
                self._send_new(commits.end)
        sent = call.sent(commits.end, commits.row_count)
        if failure is not None:
            failure.sent = sent
            raise failure
        return sent, results

    def tables(self, form: Literal["canonical", "messages"] = "canonical") -> Tables:
        """Return the expected tables: what a consumer that has read everything should have, by the names of messages.
        ``form``: ENUM, SET and binary values in canonical text, or as the default changefeed's messages show them.
        """
        with self._lock.held("the expected tables"):
            tables, target = self.source.tables, TableRoutes.of(self.config).target
            if form == "messages":
                tables = shown_tables(tables, self.source.catalog.table, self.config.codec.protocol.value)
            return {target(*name): dict(rows) for name, rows in tables.items()}

    def keys(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return the columns of each table's handle key, by the names of :meth:`tables`."""
        with self._lock.held("the expected tables"):
            target = TableRoutes.of(self.config).target
            return {
                target(info.schema, info.name): info.handle_key_names
                for info in self.source.catalog.tables()
                if not info.is_view
            }

    def run_scenario(self, name: str, *, seed: int = 0, topic: str | None = None) -> tuple[Sent, Scenario]:
        """Send a scenario's messages to topics of their own; ``topic``: by default a new one. Raises
        :class:`~ticdc_emit.errors.ConfigError` for a scenario that the protocol or release does not have.
        """
        with self._call("a scenario") as call:
            self._scenarios += 1
            own = topic or f"scenario-{name}-{seed}-{self._scenarios}"
            made = scenario_for(self.config, name, seed=seed, topic=own, registry=self._registry)
            sink = self.recording_sink(self.config)
            made.send(sink)
            call.partitions = _partitions(sink, sink.sent(), call.feed)
        return call.sent(rows=len(made.history.rows)), made

    # -- generated traffic --------------------------------------------------------------------------------------------

    @property
    def traffic(self) -> TrafficState:
        """Whether changes are generated, and how many were."""
        traffic = self._traffic  # another thread may replace it
        rows, is_running = (0, False) if traffic is None else (traffic.taken, not traffic.is_paused)
        return TrafficState(is_running, self._traffic_settings.changes_per_second, rows, self._traffic_error)

    @property
    def _is_generating(self) -> bool:
        return self._traffic is not None and not self._traffic.is_paused

    def start_traffic(self, rate: float | None = None) -> TrafficState:
        """Generate changes of the tables from now on; ``rate``: rows a second, by default as before. Raises
        :class:`~ticdc_emit.errors.ChangefeedStateError` if a table has other columns than at the start.
        """
        with self._lock.held("the start of traffic"):
            traffic = self._traffic
            if rate is not None:
                self._traffic_settings = replace(self._traffic_settings, rate=rate)
            if traffic is None:
                begin = self.source.clock()
                traffic = LiveTraffic(self._schema, replace(self._traffic_settings, rows=None, start=begin))
                is_as_before = self.source.has_definition_of_start(traffic.tables)
            else:
                is_as_before = self._tables_of(traffic) == self._generated_of
            if not is_as_before:
                raise _table_changed()
            self._traffic, self._generated_of = traffic, self._tables_of(traffic)
            if rate is not None and not traffic.is_paused:
                self._send_traffic()
            if rate is not None or traffic.is_paused:
                traffic.resume(self.source.clock(), self._traffic_settings.changes_per_second)
            self._traffic_error = None
            return self.traffic

    def stop_traffic(self) -> TrafficState:
        """Generate nothing more. What was due is sent, if the machine is not too slow for the rate."""
        with self._lock.held("the end of traffic"):
            if self._traffic is not None:
                self._traffic.pause(self._send_traffic())
                self._generated_of = self._tables_of(self._traffic)
            return self.traffic

    def _send_traffic(self) -> int:
        has_any, reached = self._generate(self.source.clock(), _MOST_BEFORE_CALL)
        if has_any:
            self._send_new(reached)
        return reached

    def _generate(self, until: int, most: int) -> tuple[bool, int]:
        """Commit about ``most`` changes due by a TSO. Return whether there are any, and the TSO that was reached."""
        if self._traffic is None or self._traffic.is_paused:
            return False, until
        due = self._traffic.take(until, most=most)
        has_any = bool(due.changes or due.ddl)
        if has_any:
            self.source.take_generated(due.changes, due.until, due.ddl)
        if due.ddl:
            self._generated_of = self._tables_of(self._traffic)
        return has_any, due.until

    @contextmanager
    def _between_traffic(self) -> Iterator[None]:
        """Commit what is due before the block; the next change comes after it, none if a table of them changes."""
        is_generating, traffic = self._is_generating, self._traffic
        if traffic is None or not is_generating:
            yield
            return
        self._generate(self.source.clock(), _MOST_BEFORE_CALL)
        self._generated_of = self._tables_of(traffic)
        try:
            yield
        finally:
            if self._traffic is traffic and self._tables_of(traffic) != self._generated_of:
                self._stop_generating(_table_changed())
            elif self._traffic is traffic:
                traffic.resume(self.source.clock())

    def _tables_of(self, traffic: LiveTraffic) -> list[TableInfo | None]:
        known = {info.full_name: info for info in self.source.catalog.tables()}
        return [known.get(name) for name in traffic.tables]

    def _stop_generating(self, error: TicdcEmitError) -> None:
        self._traffic_error = error
        if self._traffic is not None:
            self._traffic.pause(self.source.clock())

    # -- what a delivery may do ---------------------------------------------------------------------------------------

    def messages(
        self,
        topic: str | None = None,
        partition: int | None = None,
        last: int | None = None,
        *,
        changefeed: str = DEFAULT,
    ) -> list[Message]:
        """Return the newest messages that a changefeed has sent, by topic-partition and offset."""
        return self.sink(changefeed).messages(topic, partition, last)

    def redeliver(
        self,
        last: int,
        topic: str | None = None,
        partition: int | None = None,
        *,
        rows_only: bool = False,
        changefeed: str = DEFAULT,
    ) -> Sent:
        """Send each topic-partition's last messages again, the very last of which is a watermark where the protocol has
        them; ``rows_only``: those with rows, no watermarks and DDL.
        """
        with self._call("redeliver", changefeed) as call:
            rows_in = call.feed.rows_in
            self.sink(changefeed).redeliver(last, topic, partition, lambda each: not rows_only or rows_in([each]) > 0)
        return call.sent()

    def hold(self, topic: str, partition: int, *, changefeed: str = DEFAULT) -> dict[Target, int]:
        """Keep the messages of a topic-partition back from now on; return how many wait by topic-partition."""
        with self._lock.held("hold"):
            self.changefeed(changefeed).hold(topic, partition)
            return self.sink(changefeed).held

    def release(self, topic: str | None = None, partition: int | None = None, *, changefeed: str = DEFAULT) -> Sent:
        """Send what was held back, in order."""
        with self._call("release", changefeed) as call:
            call.feed.release(topic, partition)
        return call.sent()

    def restart(
        self, checkpoint_ts: int | None = None, *, transactions: int | None = None, changefeed: str = DEFAULT
    ) -> Sent:
        """Stop a changefeed as a crash does and start it again at a checkpoint, by default its own; send what comes
        after. ``transactions``: the checkpoint before that number of last transactions and DDL. Raises
        :class:`~ticdc_emit.errors.ChangefeedStateError`.
        """
        with self._call("a restart", changefeed) as call:
            if transactions is not None:
                checkpoint_ts = min(self.source.last_commits(transactions), call.feed.checkpoint)
            call.feed.restart(checkpoint_ts)
        return call.sent()

    def reset(self) -> Sent:
        """Make everything as at the start, for the next test; return where each topic-partition ends now. Traffic and
        holds end. Tables are truncated or, with another definition, dropped and created anew: by DDL that is sent, so
        that a consumer that lives on has empty tables, too. Then the changefeeds begin anew. The clock goes on.
        """
        with self._call("reset") as call:
            self._traffic, self._traffic_error = None, None
            feeds = list(self.changefeeds.values())
            for feed in feeds:
                feed.begin_anew(self.source.clock())
            commits = self.source.reset()
            self._send_new(commits.end)
            self.source.begin_log()
            for feed in feeds:
                feed.begin_anew(commits.end)
                if feed.sink is not None:
                    feed.sink.clear()
            sink = self.sink()
            call.partitions = _partitions(sink, dict.fromkeys(sink.targets, 0), call.feed)
            # memory that is not used goes back to the system, which otherwise gets it when the process ends
            pa.default_memory_pool().release_unused()
            with suppress(OSError, AttributeError):  # a libc that has no such function
                ctypes.CDLL(None).malloc_trim(0)
        return call.sent(commits.end)

    # -- inside -------------------------------------------------------------------------------------------------------

    def sink(self, changefeed: str = DEFAULT) -> RecordingSink:
        """Return the sink of a changefeed, which knows what was sent."""
        return self.changefeed(changefeed).recording

    @contextmanager
    def _call(self, name: str, changefeed: str = DEFAULT) -> Iterator[_Call]:
        with self.exclusive(name):
            feed = self.changefeed(changefeed)
            call = _Call(feed)
            before = Counter({} if feed.sink is None else feed.sink.sent())
            yield call
            if feed.sink is not None and not call.partitions:
                call.partitions = _partitions(feed.sink, Counter(feed.sink.sent()) - before, feed)

    def _send_new(self, until: int, *, watermark: bool = True) -> None:
        """Raises the error of the default changefeed, also if it has failed before; the others keep theirs."""
        failure: TicdcEmitError | None = None
        if watermark:
            self._last_watermark = time.monotonic()
        for feed in self.changefeeds.values():
            try:
                feed.send_new(until, watermark=watermark)
            except TicdcEmitError as error:
                if feed.name == DEFAULT:
                    failure = error
        if failure is not None:
            raise failure
        feed = self.changefeed()
        if feed.state == "failed" and feed.error is not None:
            raise ChangefeedStateError(
                f"the changefeed {feed.name} has failed, so nothing is sent: {feed.error.message}",
                remedy=f"{feed.error.remedy}. Then restart it, or reset the server".removeprefix(". "),
                changefeed=feed.name,
            )


def _table_changed() -> ChangefeedStateError:
    fault = "a table of which changes are generated has another definition now"
    return ChangefeedStateError(fault, remedy="Reset the server first")


def _partitions(
    sink: RecordingSink, counts: Mapping[Target, int], feed: EmulatedChangefeed
) -> tuple[PartitionSent, ...]:
    return tuple(
        PartitionSent(
            *target,
            number,
            sink.end(target),
            feed.rows_in(sink.messages(*target, number)) if number <= MOST_COUNTED else None,
        )
        for target, number in sorted(counts.items())
    )
