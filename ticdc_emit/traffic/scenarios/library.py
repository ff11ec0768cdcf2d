"""All scenarios by name, and making one.

In: a name, a protocol, a seed. Out: a :class:`~ticdc_emit.traffic.scenarios.model.Scenario`: the messages in order of
arrival, and the tables that a correct consumer has in the end.
"""

from __future__ import annotations

import random

from ticdc_emit.config import Profile
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.errors import ConfigError, IncompatibleSchemaError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.registry.base import MemoryRegistry, SchemaRegistry
from ticdc_emit.traffic.expected_tables import Tables, fold_tables
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.deliveries import DELIVERIES
from ticdc_emit.traffic.scenarios.delivery_order import Sent, renumber
from ticdc_emit.traffic.scenarios.model import (
    BackwardRegistry,
    RecordingRegistry,
    Scenario,
    ScenarioKind,
    feed_name,
    load_feed,
)
from ticdc_emit.traffic.scenarios.statements import STATEMENTS
from ticdc_emit.traffic.scenarios.values import VALUES

__all__ = ["scenario", "scenarios"]

_TOPIC = "ticdc-scenario"
_WATERMARK_EVERY_S = 1.0
_KINDS = {kind.name: kind for kind in (*DELIVERIES, *STATEMENTS, *VALUES)}


def scenarios() -> tuple[ScenarioKind, ...]:
    """Return all kinds of scenarios."""
    return tuple(_KINDS.values())


def scenario(
    name: str,
    *,
    protocol: str | None = None,
    profile: str | Profile | None = None,
    seed: int = 0,
    topic: str = _TOPIC,
    registry: SchemaRegistry | None = None,
    schema_registry: str | None = None,
) -> Scenario:
    """Make a scenario; the same name and seed make the same tables, with the same protocol the same messages.

    ``protocol``: one of the scenario's, default the first of them; ``simple`` is ``simple-json``. ``profile``:
    ``classic`` or ``next``; default: the first that has the protocol. ``topic``: the changefeed's
    default topic. ``registry``: where Avro's schemas are registered, default: a registry in memory;
    ``schema_registry``: its URL, for readers of the configuration.

    Raises :class:`~ticdc_emit.errors.ConfigError` for an unknown name and for a protocol that the scenario lacks,
    :class:`~ticdc_emit.errors.MissingDependencyError` if the scenario needs the extra ``registry``.
    """
    kind = _KINDS.get(name)
    if kind is None:
        raise ConfigError(
            f"there is no scenario {name!r}",
            remedy=f"{did_you_mean(name, _KINDS)}Use one of {', '.join(_KINDS)}",
            option="scenario",
        )
    chosen = kind.protocols[0] if protocol is None else feed_name(protocol)
    if chosen not in kind.protocols:
        raise ConfigError(
            f"the scenario {name} does not exist for {chosen}",
            remedy=f"Use one of {', '.join(kind.protocols)}",
            option="protocol",
        )
    script = kind.make(random.Random(f"{name} {seed}"))
    history = script.history
    uri, config = load_feed(
        chosen,
        topic,
        script.partitions,
        script.changefeed,
        profile=profile,
        time_zone=history.time_zone,
        schema_registry=schema_registry,
    )
    refusing = script.sent is not None
    recorded = RecordingRegistry(registry or (BackwardRegistry() if refusing else MemoryRegistry()))
    sent = script.sent or history
    messages = sent.messages(config, registry=recorded, watermark_interval=_WATERMARK_EVERY_S)
    refused: IncompatibleSchemaError | None = None
    if refusing:
        try:
            history.messages(config, registry=recorded)
        except IncompatibleSchemaError as error:
            refused = error
        else:
            raise ConfigError(
                "the schema registry accepted a schema that BACKWARD compatibility forbids",
                remedy="Set the compatibility of the topic's subjects to BACKWARD",
                option="schema-registry",
            )
    reader = reader_for(config, schemas=recorded.schemas)
    delivered = script.deliver([Sent(each, reader.read(each.key, each.value)) for each in messages])
    expected, keys = _truth(sent)
    return Scenario(
        kind=kind,
        protocol=chosen,
        seed=seed,
        history=history,
        sink_uri=uri,
        changefeed=script.changefeed,
        config=config,
        messages=renumber(delivered),
        expected=expected,
        keys=keys,
        partitions={each.topic: script.partitions for each in messages},
        schemas=recorded.schemas,
        refusal=script.refusal,
        refused=refused,
    )


def _truth(history: History) -> tuple[Tables, dict[tuple[str, str], tuple[str, ...]]]:
    """Return the final tables of a history, and the columns of their handle keys."""
    catalog = history.catalog()
    tables = fold_tables(catalog, history.rows, history.ddl, history.time_zone)
    keys = {name: tuple(column.name for column in catalog.table(*name).whole_handle_key) for name in tables}
    return tables, keys
