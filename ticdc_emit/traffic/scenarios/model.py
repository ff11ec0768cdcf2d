"""What a scenario is: its kind, its script for one seed, and the messages for one protocol.

:class:`ScenarioKind` names it, :class:`Script` has the history and the order of arrival, :class:`Scenario` the
messages. Also here: the changefeed of each protocol (its **feed**), and registries that record schemas or enforce
BACKWARD compatibility, as they may stand before a consumer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa

from ticdc_emit.config import ChangefeedConfig, Profile, load_changefeed
from ticdc_emit.config.protocols import FORMS, form_of, parse_protocol_name, protocol_parameters, spec_of
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import MESSAGE_SCHEMA, DeliveryReport, Message, Sink
from ticdc_emit.errors import ConfigError, IncompatibleSchemaError, RegistryError, TicdcEmitError
from ticdc_emit.hints import counted
from ticdc_emit.pictures.shown import facts_html
from ticdc_emit.registry.base import RegisteredSchema, SchemaRegistry, confluent_schema
from ticdc_emit.testing.embedded_registry import Refusal, RegistryStore
from ticdc_emit.traffic.expected_tables import Tables
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.comparison import Difference, GivenTables, differences
from ticdc_emit.traffic.scenarios.delivery_order import Deliver, in_order

__all__ = [
    "FEEDS",
    "WITH_CHECKSUMS",
    "WITH_DDL",
    "WITH_DEFAULTS",
    "BackwardRegistry",
    "RecordingRegistry",
    "Scenario",
    "ScenarioKind",
    "Script",
    "feed_name",
    "feed_of",
    "load_feed",
]


_INCOMPATIBLE = 409


class RecordingRegistry:
    """Forwards to another registry. ``schemas``: the registered texts by id."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self.schemas: dict[int | str, str] = {}

    def register(self, subject: str, schema: str) -> RegisteredSchema:
        """Register with the other registry, and record the schema."""
        registered = self._registry.register(subject, schema)
        self.schemas[registered.id] = schema
        return registered

    def close(self) -> None:
        """Close the other registry."""
        self._registry.close()


class BackwardRegistry:
    """A registry in memory that accepts a schema only if it can read data of the subject's last schema.

    Needs the extra ``registry``.
    """

    def __init__(self) -> None:
        self._store = RegistryStore("BACKWARD")

    def register(self, subject: str, schema: str) -> RegisteredSchema:
        """Raises :class:`~ticdc_emit.errors.IncompatibleSchemaError` for a schema that cannot."""
        try:
            return confluent_schema(self._store.register(subject, schema))
        except Refusal as refusal:
            kind = IncompatibleSchemaError if refusal.status == _INCOMPATIBLE else RegistryError
            raise kind(refusal.message, subject=subject, status=refusal.status) from None

    def close(self) -> None:
        """Nothing to release."""


_REGISTRY = "http://127.0.0.1:8081"  # never used: scenarios come with their schemas

FEEDS = FORMS
"""The forms of scenarios: a protocol, for Simple with its encoding."""

WITH_DDL = tuple(name for name in FEEDS if spec_of(name).ddl)
"""Feeds that send DDL and watermarks."""

WITH_DEFAULTS = tuple(name for name in FEEDS if spec_of(name).tells_defaults)
"""Feeds that show the value of a new column in old rows."""

WITH_CHECKSUMS = tuple(name for name in FEEDS if spec_of(name).row_checksums)
"""Feeds whose rows can have checksums."""


def load_feed(
    feed: str,
    topic: str,
    partitions: int,
    changefeed: Mapping[str, Any],
    *,
    profile: str | Profile | None,
    time_zone: str,
    schema_registry: str | None,
) -> tuple[str, ChangefeedConfig]:
    """Return the sink URI and configuration of a feed. ``changefeed``: the changefeed file, as a mapping.

    ``profile``: default the first one that has the protocol.
    """
    protocol, _ = parse_protocol_name(feed)
    spec = protocol.spec
    parameters = {**protocol_parameters(feed), **dict(spec.lossless), "partition-num": str(partitions)}
    if spec.extension:
        parameters["enable-tidb-extension"] = "true"
    if spec.packs_rows:
        parameters["max-batch-size"] = "1"
    uri = f"kafka://127.0.0.1:9092/{topic}?{urlencode(parameters)}"
    registry = (schema_registry or _REGISTRY) if spec.registers_schemas else None
    return uri, load_changefeed(
        uri, changefeed, profile=profile or protocol.profiles[0], time_zone=time_zone, schema_registry=registry
    )


def feed_name(protocol: str) -> str:
    """Return the feed for the protocol in an option; :class:`~ticdc_emit.errors.ConfigError` if there is none."""
    return form_of(*parse_protocol_name(protocol))


def feed_of(config: ChangefeedConfig) -> str:
    """Return the feed of a configuration.

    Raises :class:`~ticdc_emit.errors.ConfigError` for a protocol without scenarios.
    """
    form = config.codec.form
    if form not in FEEDS:
        raise ConfigError(
            f"no scenario has the protocol {form}",
            remedy=f"Use one of {', '.join(FEEDS)}",
            option="protocol",
        )
    return form


@dataclass(frozen=True)
class Script:
    """A kind of scenario for one seed.

    ``deliver``: the order in which the messages arrive. ``changefeed``: the changefeed file, as a mapping. ``sent``:
    the part of the history that is sent before the registry refuses the rest; ``None``: all of it. ``refusal``: the
    error that a correct consumer raises, instead of having tables.
    """

    history: History
    deliver: Deliver = in_order
    partitions: int = 1
    changefeed: Mapping[str, Any] = field(default_factory=dict)
    sent: History | None = None
    refusal: type[TicdcEmitError] | None = None


@dataclass(frozen=True)
class ScenarioKind:
    """A named scenario. ``incident``: a real case. ``breaks``: the assumption that it breaks. ``outcome``: the result
    of a correct consumer. ``protocols``: those for which it exists, see :data:`~ticdc_emit.traffic.scenarios.FEEDS`.
    """

    name: str
    incident: str
    breaks: str
    outcome: str
    protocols: tuple[str, ...]
    make: Callable[[random.Random], Script] = field(repr=False)


@dataclass(frozen=True, repr=False)
class Scenario:
    """A scenario for one protocol and seed: the same arguments make the same bytes, the same seed the same tables.

    ``messages``: the messages in order of arrival; :meth:`send` puts them on topics. ``schema``: SQL of the tables
    before the first message. ``expected``: the tables after the last one, in canonical text by handle key; ``keys``:
    the columns of those keys. ``partitions``: the partition count of each topic. ``schemas``: Avro schema texts by id.

    ``refusal``: the error that a consumer must raise; ``expected`` then has the source's tables. ``refused``: the error
    that the producer got from the schema registry; ``messages`` and ``expected`` then end before it.
    """

    kind: ScenarioKind
    protocol: str
    seed: int
    history: History
    sink_uri: str
    changefeed: Mapping[str, Any]
    config: ChangefeedConfig
    messages: list[Message] = field(repr=False)
    expected: Tables = field(repr=False)
    keys: Mapping[tuple[str, str], tuple[str, ...]]
    partitions: Mapping[str, int]
    schemas: Mapping[int | str, str] = field(repr=False)
    refusal: type[TicdcEmitError] | None = None
    refused: TicdcEmitError | None = None

    def __repr__(self) -> str:
        return f"<Scenario {self.name} as {self.protocol}, seed {self.seed}: {counted(len(self.messages), 'message')}>"

    def _repr_html_(self) -> str:
        kind = self.kind
        facts = [("incident", kind.incident), ("breaks", kind.breaks), ("outcome", kind.outcome)]
        facts += [("messages", f"{len(self.messages):,}"), ("tables", ", ".join(map(".".join, self.expected)))]
        return facts_html(f"{self.name} as {self.protocol}, seed {self.seed}", facts)

    @property
    def name(self) -> str:
        """The kind's name."""
        return self.kind.name

    @property
    def schema(self) -> str:
        """SQL of the tables before the first message."""
        return self.history.schema

    def check(self, tables: GivenTables) -> list[Difference]:
        """Compare a consumer's tables with the expected ones and return the differences.

        ``tables``: by (schema, table) or ``schema.table``, rows in canonical text: a list, or the values of a mapping.
        Raises :class:`~ticdc_emit.errors.ConfigError` for anything else, such as numbers.
        """
        return differences(self.expected, self.keys, tables)

    def consumer(self) -> ReferenceConsumer:
        """Return a reference consumer for this changefeed."""
        return ReferenceConsumer(self.config, self.history.catalog(), partitions=self.partitions, schemas=self.schemas)

    def send(self, sink: Sink) -> DeliveryReport:
        """Send the messages, each partition in order. Returns when all are acknowledged.

        Raises the errors of the sink, the family of :class:`~ticdc_emit.errors.DeliveryError`.
        """
        sink.prepare(self.partitions)
        columns = list(
            zip(*((each.topic, each.partition, each.key, each.value) for each in self.messages), strict=True)
        )
        arrays = [pa.array(values, member.type) for values, member in zip(columns, MESSAGE_SCHEMA, strict=False)]
        batch = pa.RecordBatch.from_arrays(
            [*arrays, pa.nulls(len(self.messages), MESSAGE_SCHEMA.field("commit_ts").type)], schema=MESSAGE_SCHEMA
        )
        with sink.open(sink.message_limit(self.partitions)) as writer:
            writer.write(batch)
            return writer.flush()
