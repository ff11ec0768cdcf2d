"""One changefeed of an emulator: it sends what its source commits, from its checkpoint on, at least once as TiCDC does.

A restart begins at a checkpoint with nothing remembered, so all after it is sent again and watermarks fall back to it.
States are TiCDC's (docs.pingcap.com, "Changefeed state transfer"), but errors that TiCDC retries (``warning``) are
``failed`` at once, since a test wants to see them. The emulator holds its lock for whatever changes a changefeed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.delivery.base import Message, Target
from ticdc_emit.emulator.recording import RecordingSink
from ticdc_emit.emulator.source import Commits, Source
from ticdc_emit.errors import ChangefeedStateError, TicdcEmitError
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.report import ReportCallback
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.protocols.events import DecodeError, RowEvent
from ticdc_emit.registry.base import SchemaRegistry
from ticdc_emit.routing.filter_rules import FilterRules
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo


def tables_of(config: ChangefeedConfig, catalog: Catalog) -> tuple[list[TableInfo], list[TableInfo]]:
    """Return the tables that a changefeed replicates, and those that its rules name but that have no handle key."""
    rules = FilterRules.of(config)
    named = [info for info in catalog.tables() if not info.is_view and rules.has(info)]
    eligible = [info for info in named if rules.allows_key(info)]
    return eligible, [info for info in named if not rules.allows_key(info)]


State: TypeAlias = Literal["normal", "stopped", "failed", "finished"]


@dataclass(eq=False, repr=False)
class EmulatedChangefeed:
    """It sends what comes after the TSO ``start_ts``, up to ``target_ts``; ``blackhole://`` has no ``config``."""

    name: str
    source: Source
    config: ChangefeedConfig | None
    sink: RecordingSink | None
    start_ts: int
    target_ts: int | None
    registry: SchemaRegistry | None
    on_report: ReportCallback
    created: float = field(default_factory=time.time, init=False)
    state: State = field(default="normal", init=False)
    error: TicdcEmitError | None = field(default=None, init=False)
    position: int = field(init=False)
    """The TSO up to which it has made messages, sent or held back."""
    _held_since: dict[Target, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.position = self.start_ts
        self._feed = self._begin(self.start_ts)

    @property
    def recording(self) -> RecordingSink:
        """The sink, which knows what was sent. Raises :class:`~ticdc_emit.errors.ChangefeedStateError` without one."""
        if self.sink is None:
            raise ChangefeedStateError(
                f"the changefeed {self.name} sends its messages nowhere", remedy="Name another changefeed"
            )
        return self.sink

    @property
    def checkpoint(self) -> int:
        """The TSO up to which everything was sent. Messages that are held back stop it."""
        return min([self.position, *self._held_since.values()])

    # -- sending ------------------------------------------------------------------------------------------------------

    def send_new(self, until: int | None = None, *, watermark: bool = True) -> None:
        """Send what the source has committed since the last call, and then the watermark ``until``, a TSO, if it is
        normal. An error ends this state.
        """
        if self.state != "normal":
            return
        try:
            for commits in self.source.after(self.position):
                self._send(commits, watermark)
            if until is not None and until > self.position:
                self._send(Commits(self.position, until), watermark)
        except TicdcEmitError as error:
            self.error = error
            self.state = "failed"  # now others may read the error
            raise
        if self.target_ts is not None and self.position >= self.target_ts:
            self.state = "finished"

    def _send(self, commits: Commits, watermark: bool) -> None:
        due = commits if self.target_ts is None else commits.between(commits.start, self.target_ts)
        if due.end <= self.position:
            return
        if self._feed is not None:
            self._feed.run(due.batch(), self._feed.next_batch_id(), final=False, until=due.end, watermark=watermark)
        self.position = due.end

    def _begin(self, checkpoint: int) -> Changefeed | None:
        self.source.check_start(checkpoint)
        if self.config is None or self.sink is None:
            return None
        return Changefeed(
            self.config,
            self.sink,
            self.source.catalog_at(checkpoint),
            options=RunOptions(clock="wall"),
            registry=self.registry,
            on_report=[self.on_report],
        )

    # -- states -------------------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop sending. What is held back is dropped: it is sent after the checkpoint."""
        if self.state != "finished":
            self.state = "stopped"

    def restart(self, checkpoint: int | None = None, *, skips: bool = False) -> None:
        """Begin anew after a checkpoint, with ``skips`` also a later one; what waited in held partitions is new."""
        begin = self.checkpoint if checkpoint is None else checkpoint
        if begin > self.checkpoint and not skips:
            raise ChangefeedStateError(
                f"the changefeed has not sent everything up to {begin}: its checkpoint is {self.checkpoint}",
                remedy="Give a TSO up to the checkpoint, or leave it out",
                checkpoint_ts=begin,
            )
        self.begin_anew(begin, keeps_holds=True)
        self.send_new()

    def begin_anew(self, start_ts: int, *, keeps_holds: bool = False) -> None:
        """Begin at a TSO as a new changefeed does, and drop what is held back. ``keeps_holds``: go on with that."""
        self._feed = self._begin(start_ts)
        if self.sink is not None:
            self.sink.forget_held(ends_holds=not keeps_holds)
        self._held_since = dict.fromkeys(self._held_since if keeps_holds else (), start_ts)
        self.position = start_ts
        self.state, self.error = "normal", None

    def rows_in(self, messages: Iterable[Message]) -> int:
        assert self.config is not None  # as there are messages
        count, reader = 0, reader_for(self.config, schemas={})
        for key, value in (part for each in messages for part in reader.parts(each.key, each.value)):
            try:
                count += isinstance(reader.read(key, value), RowEvent)
            except DecodeError:  # only rows need the schemas and tables that a consumer has
                count += 1
        return count

    # -- what a test asks for -----------------------------------------------------------------------------------------

    def hold(self, topic: str, partition: int) -> None:
        """From now on, keep the messages of a topic-partition back; the checkpoint stays where it is."""
        self.recording.hold(topic, partition)
        self._held_since.setdefault((topic, partition), self.position)

    def release(self, topic: str | None, partition: int | None) -> None:
        sink = self.recording
        released = sink.chosen(topic, partition)
        sink.release(topic, partition)
        for target in released:
            self._held_since.pop(target, None)
