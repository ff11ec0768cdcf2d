"""All scenarios by name, for a protocol and a seed. The messages are a changefeed's, with registries that record
schemas, and refuse one where a consumer's registry with BACKWARD compatibility does.
"""

from __future__ import annotations

import random
from dataclasses import replace
from urllib.parse import urlencode

from ticdc_emit.config import RELEASES, ChangefeedConfig, Release, load_changefeed
from ticdc_emit.config.protocols import QUEUED, form_of, parse_protocol_name
from ticdc_emit.errors import ConfigError, TicdcEmitError
from ticdc_emit.registry.base import MemoryRegistry, SchemaRegistry, registry_for
from ticdc_emit.registry.headers import RegisteredSchema
from ticdc_emit.traffic.scenarios import deliveries, rows, schema_changes
from ticdc_emit.traffic.scenarios.delivery_order import read_sent, renumber
from ticdc_emit.traffic.scenarios.model import (
    WITH_DDL,
    Scenario,
    ScenarioKind,
    kind_named,
    kinds_in,
    richest_parameters,
)
from ticdc_emit.traffic.scenarios.orders import tso_at

_TOPIC = "ticdc-scenario"
_WATERMARK_EVERY_S = 1.0
_REGISTRY = "http://127.0.0.1:8081"  # never used: scenarios come with their schemas
_KINDS = tuple(kind for each in (deliveries, schema_changes, rows) for kind in kinds_in(each, ScenarioKind))


def scenarios() -> tuple[ScenarioKind, ...]:
    """Return all kinds of scenarios."""
    return _KINDS


def scenario(
    name: str,
    *,
    protocol: str | None = None,
    release: str | Release | None = None,
    seed: int = 0,
    topic: str = _TOPIC,
    registry: SchemaRegistry | None = None,
    schema_registry: str | None = None,
) -> Scenario:
    """Make a scenario; the same name and seed make the same tables, with the same protocol the same messages.

    ``protocol``: one of the scenario's, default the first of them; ``simple`` is ``simple-json``. ``release``: default:
    the first that has the protocol and what the scenario needs. ``topic``: the changefeed's default topic.
    ``registry``: where Avro's schemas are registered, default: in memory; ``schema_registry``: its URL, for readers of
    the configuration. Raises :class:`~ticdc_emit.errors.ConfigError` for an unknown name, and a protocol or a release
    that cannot send the scenario.
    """
    kind = kind_named(name, _KINDS)
    chosen = kind.protocols[0] if protocol is None else form_of(*parse_protocol_name(protocol))
    record = kind.release(chosen, release)
    chance = random.Random(f"{name} {seed}")
    history = sent = kind.history(chance)
    uri, config = _load_feed(chosen, topic, kind, history.time_zone, release=record, schema_registry=schema_registry)
    if config.codec.rows_only and (history.ddl or kind.protocols == WITH_DDL):
        protocol = config.codec.protocol
        sending = next(each for each in protocol.releases if protocol.value not in RELEASES[each].options.rows_only)
        raise ConfigError(
            f"the scenario {name} needs DDL or watermarks, which {config.release.name} does not send in {chosen}",
            remedy=f"Use the release {sending}, or another protocol",
            option="release",
        )
    recorded = RecordingRegistry(registry or MemoryRegistry(kind.rejects))
    if kind.refused_at is not None:
        end = tso_at(kind.refused_at)
        before = [row for row in history.rows if row["commit_ts"] < end]
        sent = replace(history, rows=before, ddl=tuple(each for each in history.ddl if each[0] < end))
    messages = sent.messages(config, registry=recorded, watermark_interval=_WATERMARK_EVERY_S)
    refused: TicdcEmitError | None = None
    if sent is not history:
        try:
            history.messages(config, registry=recorded)
        except kind.refused as error:
            refused = error
        else:
            raise ConfigError(
                "the schema registry accepted a schema that BACKWARD compatibility forbids",
                remedy="Set the compatibility of the topic's subjects to BACKWARD",
                option="schema-registry",
            )
    delivered = kind.deliver(list(read_sent(messages, config, recorded.schemas)), chance)
    return Scenario(
        kind=kind,
        protocol=chosen,
        seed=seed,
        history=history,
        sink_uri=uri,
        changefeed=kind.changefeed,
        config=config,
        messages=renumber(each.message for each in delivered),
        expected=sent.tables(config=config),
        shown=sent.tables(protocol=chosen, config=config),
        keys=sent.keys(config=config),
        partitions={each.topic: kind.partitions for each in messages},
        schemas=recorded.schemas,
        refusal=kind.refusal,
        refused=refused,
    )


def scenario_for(
    config: ChangefeedConfig,
    name: str,
    *,
    seed: int = 0,
    topic: str | None = None,
    registry: SchemaRegistry | None = None,
) -> Scenario:
    """Make a scenario in the protocol, the release and, by default, the topic and registry of a changefeed."""
    url, registers = config.codec.schema_registry, config.codec.protocol.spec.registers_schemas
    own = registry_for(config) if registers and registry is None else None
    try:
        return scenario(
            name,
            protocol=config.codec.form,
            release=config.release,
            seed=seed,
            topic=topic or config.kafka.topic,
            registry=(registry or own) if registers else None,
            schema_registry=url.reveal() if registers and url is not None else None,
        )
    finally:
        if own is not None:
            own.close()


def _load_feed(
    feed: str, topic: str, kind: ScenarioKind, time_zone: str, *, release: Release, schema_registry: str | None
) -> tuple[str, ChangefeedConfig]:
    protocol, _ = parse_protocol_name(feed)
    spec = protocol.spec
    parameters = richest_parameters(feed, release, kind.partitions)
    of_others = {name for each in QUEUED for name, _ in each.spec.parameters} - dict(spec.parameters).keys()
    parameters |= {name: value for name, value in kind.parameters.items() if name not in of_others}
    if spec.packs_rows:
        parameters["max-batch-size"] = "1"
    uri = f"kafka://127.0.0.1:9092/{topic}?{urlencode(parameters)}"
    registry = (schema_registry or _REGISTRY) if spec.registers_schemas else None
    return uri, load_changefeed(uri, kind.changefeed, release=release, time_zone=time_zone, schema_registry=registry)


class RecordingRegistry:
    """Forwards to another registry. ``schemas``: the registered texts by id."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self.schemas: dict[int | str, str] = {}

    def register(self, subject: str, schema: str) -> RegisteredSchema:
        registered = self._registry.register(subject, schema)
        self.schemas[registered.id] = schema
        return registered

    def close(self) -> None:
        self._registry.close()
