"""What a scenario is: its kind, a subclass of :class:`ScenarioKind`, and its messages of one protocol (its **feed**).

:class:`AnyKind` and :class:`AnyScenario` have what scenarios of files (``files.py``) have, too.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Protocol, TypeVar

import pyarrow as pa

from ticdc_emit.config import RELEASES, ChangefeedConfig, Release
from ticdc_emit.config.protocols import FORMS, STORED, parse_protocol_name, protocol_parameters, spec_of
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.database.tables import Tables
from ticdc_emit.delivery.base import MESSAGE_SCHEMA, DeliveryReport, Message, Sink
from ticdc_emit.errors import ConfigError, IncompatibleSchemaError, TicdcEmitError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.protocols.events import RowEvent
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.storage.folder import Write
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.comparison import Difference, GivenTables, differences
from ticdc_emit.traffic.scenarios.delivery_order import SentMessage
from ticdc_emit.traffic.scenarios.orders import ORDERS, Step, history_of

FEEDS = FORMS
"""The forms of scenarios: a protocol, for Simple with its encoding."""

WITH_DDL = tuple(name for name in FEEDS if spec_of(name).ddl)
"""Feeds that send DDL and watermarks."""

WITH_CHECKSUMS = tuple(name for name in FEEDS if spec_of(name).row_checksums)
"""Feeds whose rows can have checksums."""

CORRECTNESS = {"integrity": {"integrity-check-level": "correctness"}}
"""The changefeed file with which they have them."""


def richest_parameters(feed: str, release: Release, partitions: int) -> dict[str, str]:
    """Return the parameters of a sink URI with which a feed carries most."""
    protocol, _ = parse_protocol_name(feed)
    spec = protocol.spec
    parameters = {**protocol_parameters(feed), **dict(spec.lossless), "partition-num": str(partitions)}
    if spec.extension and protocol.value not in release.options.rows_only:
        parameters["enable-tidb-extension"] = "true"
    return {name: value for name, value in parameters.items() if name not in release.options.unknown}


class AnyKind:
    """A named scenario, after an ``incident``, that ``breaks`` an assumption. A subclass with a ``name`` is one; its
    docstring is the ``outcome`` of a correct consumer. ``schema``: SQL of the tables before the first step.
    """

    name: ClassVar[str] = ""
    outcome: ClassVar[str]
    incident: ClassVar[str]
    breaks: ClassVar[str]
    protocols: ClassVar[tuple[str, ...]]
    schema: ClassVar[str] = ORDERS

    def __init_subclass__(cls, name: str = "") -> None:
        cls.name, cls.outcome = name, " ".join((cls.__doc__ or "").split())

    def __repr__(self) -> str:
        return f"<the scenario {self.name}>"

    def steps(self, chance: random.Random) -> Iterable[Step]:
        """Return what happens in the tables, in any order."""
        raise NotImplementedError

    def lacks(self, release: Release, protocol: str) -> str | None:
        """Return what it needs and a release does not have."""
        return None

    def releases(self, protocol: str) -> tuple[str, ...]:
        """Return the releases that have the protocol and it."""
        return tuple(
            name for name in parse_protocol_name(protocol)[0].releases if not self.lacks(RELEASES[name], protocol)
        )

    def release(self, protocol: str, release: str | Release | None) -> Release:
        """Return a release, by default the first that has it. Raises :class:`~ticdc_emit.errors.ConfigError` for one
        that lacks it, and for a protocol for which it does not exist.
        """
        if protocol not in self.protocols:
            raise ConfigError(
                f"the scenario {self.name} does not exist for {protocol}",
                remedy=f"Use one of {', '.join(self.protocols)}",
                option="protocol",
            )
        having = self.releases(protocol)
        record = Release.parse(release or having[0])
        if (needed := self.lacks(record, protocol)) is not None:
            raise ConfigError(
                f"the scenario {self.name} needs {needed}, which {record.name} does not have",
                remedy=f"Use the release {' or '.join(having)}",
                option="release",
            )
        return record


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Kind = TypeVar("_Kind", bound=AnyKind)
_Each = TypeVar("_Each", bound=_Named)


def kinds_in(module: ModuleType, base: type[_Kind]) -> Iterator[_Kind]:
    """Yield the scenarios of a module, in their order."""
    for each in vars(module).values():
        if isinstance(each, type) and issubclass(each, base) and each.name:
            yield each()


def kind_named(name: str, kinds: Iterable[_Each], *, what: str = "scenario") -> _Each:
    """Return the kind of this name. Raises :class:`~ticdc_emit.errors.ConfigError` for a name that none of them has."""
    by_name = {kind.name: kind for kind in kinds}
    if name not in by_name:
        raise ConfigError(
            f"there is no {what} {name!r}",
            remedy=f"{did_you_mean(name, by_name)}Use one of {', '.join(by_name)}",
            option=what,
        )
    return by_name[name]


class ScenarioKind(AnyKind):
    """A scenario of messages: its ``protocols`` are some of :data:`FEEDS`.

    ``changefeed``: the changefeed file, as a mapping, and ``parameters`` those of the sink URI, as far as its protocol
    has them. ``needs``: by protocol, an option that a release must have. ``refused_at``: the second from which on the
    producer gets an error of the type ``refused``. ``rejects``: what the registry lets no schema hold. ``refusal``: the
    error that a correct consumer raises, instead of having tables. ``asks_source``: a consumer reads some rows in TiDB.
    """

    protocols = FEEDS
    partitions: ClassVar[int] = 1
    changefeed: ClassVar[Mapping[str, Any]] = {}
    parameters: ClassVar[Mapping[str, str]] = {}
    needs: ClassVar[Mapping[str, str]] = {}
    asks_source: ClassVar[bool] = False
    refused_at: ClassVar[float | None] = None
    refused: ClassVar[type[TicdcEmitError]] = IncompatibleSchemaError
    rejects: ClassVar[str | None] = None
    refusal: ClassVar[type[TicdcEmitError] | None] = None

    def history(self, chance: random.Random) -> History:
        return history_of(self.schema, self.steps(chance))

    def deliver(self, sent: Sequence[SentMessage], chance: random.Random) -> list[SentMessage]:
        """Return the messages in the order in which they arrive: by default as they were sent."""
        return list(sent)

    def lacks(self, release: Release, protocol: str) -> str | None:
        needed = self.needs.get(protocol)
        return needed if needed in release.options.unknown else None


class FileScenarioKind(AnyKind):
    """A named scenario of files. ``repeats``: whether the last run comes again, after a failure."""

    protocols = tuple(sorted((protocol.value for protocol in STORED), reverse=True))
    repeats: ClassVar[bool] = False

    def cuts(self, writes: Sequence[Write], ends: Sequence[int], chance: random.Random) -> Sequence[int]:
        """Return after how many writes a loader reads, by default each run's; ``ends``: their number at each end."""
        return *ends[:-1], len(writes)


@dataclass(frozen=True, repr=False)
class AnyScenario:
    """A scenario for one protocol and seed: the same arguments make the same bytes, the same seed the same tables.

    ``schema``: SQL of the source's tables at the beginning. ``expected``: a correct consumer's tables at the end, in
    canonical text by handle key; ``keys``: the columns of those keys.
    """

    kind: AnyKind
    protocol: str
    seed: int
    history: History
    sink_uri: str
    changefeed: Mapping[str, Any]
    config: ChangefeedConfig
    expected: Tables
    keys: Mapping[tuple[str, str], tuple[str, ...]]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} as {self.protocol}, seed {self.seed}>"

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def schema(self) -> str:
        return self.history.schema

    def check(self, tables: GivenTables) -> list[Difference]:
        """Compare a consumer's tables with the expected ones, by (schema, table) or ``schema.table``: rows in canonical
        text as a list or a mapping's values. Raises :class:`~ticdc_emit.errors.ConfigError`.
        """
        return differences(self.expected, self.keys, tables)


@dataclass(frozen=True, repr=False)
class Scenario(AnyScenario):
    """A scenario of messages, in order of arrival. ``partitions``: of each topic. ``schemas``: Avro schema texts by id.
    ``shown``: ``expected`` with ENUM, SET and binary values as messages show them.

    ``refusal``: the error that a consumer must raise; ``expected`` then has the source's tables. ``refused``: the error
    that the producer got; ``messages`` and ``expected`` then end before it.
    """

    kind: ScenarioKind
    messages: list[Message]
    partitions: Mapping[str, int]
    schemas: Mapping[int | str, str]
    shown: Tables
    refusal: type[TicdcEmitError] | None = None
    refused: TicdcEmitError | None = None

    def consumer(self) -> ReferenceConsumer:
        """Return a reference consumer for this changefeed."""
        return ReferenceConsumer(
            self.config,
            self.history.catalog(config=self.config),
            partitions=self.partitions,
            schemas=self.schemas,
            lookup=self.lookup,
        )

    def lookup(self, event: RowEvent) -> Row:
        """Return the row of an event that has only its handle key, as the source has it after the last message."""
        name = event.schema, event.table
        info = self.history.catalog(config=self.config).table(*name)
        image = event.after if event.after is not None else event.before
        texts = reader_for(self.config, schemas=self.schemas).image(event, image, info) or {}
        return self.expected[name][tuple(texts[column] for column in self.keys[name])]

    def send(self, sink: Sink) -> DeliveryReport:
        """Send the messages, each partition in order, until all are acknowledged; raises the errors of the sink."""
        return send(sink, self.partitions, self.messages)


def send(sink: Sink, partitions: Mapping[str, int], messages: Iterable[Message]) -> DeliveryReport:
    sink.prepare(partitions)
    batch = pa.RecordBatch.from_pylist([each._asdict() for each in messages], MESSAGE_SCHEMA)
    with sink.open(sink.message_limit(partitions)) as writer:
        writer.write(batch)
        return writer.flush()
