"""Examples: a history as a consumer receives it, and the tables that it must end with.

In: a changefeed, and a scenario or a drawn history with a plan of faults. Out: an :class:`Example`. A protocol does not
carry everything (docs/testing.md): what is known not to arrive is not drawn, and an example counts only if the
reference consumer, which shares no code with the encoders, ends with the tables of the history.
"""

from __future__ import annotations

import copy
import importlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl, urlencode

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.document import read_document
from ticdc_emit.config.protocols import parse_protocol_name
from ticdc_emit.config.releases import Release
from ticdc_emit.database.tables import Tables
from ticdc_emit.errors import ConfigError, ReleaseDefectError
from ticdc_emit.hints import counted
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.strategies.changefeeds import PROTOCOLS, FeedOptions
from ticdc_emit.strategies.columns import TYPES, names
from ticdc_emit.strategies.deliveries import Delivery
from ticdc_emit.strategies.histories import histories
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.json_objects import json_line
from ticdc_emit.traffic.scenarios.delivery_order import Fault, arrived, drawn_plan
from ticdc_emit.traffic.scenarios.model import richest_parameters

_REGISTRY = "http://127.0.0.1:8081"
_TOPIC_OF_A_TABLE = {"matcher": ["*.*"], "topic": "{schema}_{table}"}
_BY_TS = {"matcher": ["*.*"], "partition": "ts"}
_MOST_DRAWN = 8  # times as many as are wanted
_PARTITIONS = 3


def feed_of_examples(
    protocol: str | None = None,
    *,
    sink_uri: str | None = None,
    changefeed: Mapping[str, Any] | None = None,
    release: str | None = None,
) -> FeedOptions:
    """Return the changefeed of examples, complete: with its release and, for Avro, a schema registry and topics.
    ``protocol``: default that of ``changefeed``, else ``canal-json``. ``sink_uri``: default the options with which the
    protocol carries most, and three partitions. ``release``: default the changefeed file's, else the first that has the
    protocol. Raises :class:`~ticdc_emit.errors.ConfigError`.
    """
    document: dict[str, Any] = copy.deepcopy(dict(changefeed or {}))
    name = protocol or read_document(document).at("sink").text("protocol") or PROTOCOLS[0]
    own = release or read_document(document).at("ticdc-emit").text("release")
    if sink_uri is None:
        own = own or parse_protocol_name(name)[0].releases[0]
        sink_uri = f"memory://check/?{urlencode(richest_parameters(name, Release.parse(own), _PARTITIONS))}"
    if own is not None:
        document["ticdc-emit"] = {**document.get("ticdc-emit", {}), "release": Release.parse(own).name}
    feed = FeedOptions(sink_uri, document)
    try:
        config = feed.load()
    except ConfigError as error:
        if error.context.get("option") != "schema-registry":
            raise
        document["sink"] = {**document.get("sink", {}), "schema-registry": _REGISTRY}
        config = feed.load()
    if config.sink_uri.stored:
        raise ConfigError(
            f"examples are messages of a queue, and {config.sink_uri.scheme}:// is a storage sink",
            remedy="Give a sink URI of kafka:// or stdout://, or only the protocol. "
            "For files, use a scenario of files, or History.files with changefeeds(stored=True) (docs/storage.md)",
            option="sink-uri",
        )
    if config.codec.protocol.spec.registers_schemas and not config.dispatchers:
        document["sink"] = {**document.get("sink", {}), "dispatchers": [_TOPIC_OF_A_TABLE]}
    return feed


@dataclass(frozen=True)
class Example:
    """``number``: from 1, within its behaviour. ``tables``: a correct consumer's at the end, in canonical text, and
    ``shown`` the same with ENUM, SET and binary values as messages show them. ``keys``: the columns of each table's
    handle key. ``refusal``: the error that a correct consumer raises instead. ``plan``: the faults of its delivery.
    """

    behaviour: str
    number: int
    arrival: Delivery
    tables: Tables
    shown: Tables
    keys: Mapping[tuple[str, str], tuple[str, ...]]
    refusal: str | None = None
    plan: tuple[Fault, ...] = ()

    @property
    def label(self) -> str:
        history = self.arrival.history
        parts = {"table": self.keys, "row": history.rows, "statement": history.ddl, "message": self.arrival.messages}
        counts = ", ".join(counted(len(each), name) for name, each in parts.items())
        return f"{self.behaviour} {self.number}: {counts}"

    def to_dict(self, *, canonical: bool = False, messages: bool = True) -> dict[str, Any]:
        """Return ``behaviour``, ``example``, the members of the delivery, ``plan``, ``must_raise``, ``expected`` (rows
        by ``schema.table``) and ``keys``.
        """
        delivery = self.arrival.to_dict()
        if not messages:
            del delivery["messages"]
        expected = self.tables if canonical else self.shown
        config = self.arrival.config
        return {
            "behaviour": self.behaviour,
            "example": self.number,
            "protocol": config.codec.form,
            "release": config.release.name,
            **delivery,
            "plan": [fault.kind for fault in self.plan],
            "must_raise": self.refusal,
            "expected": {".".join(name): list(rows.values()) for name, rows in expected.items()},
            "keys": {".".join(name): list(columns) for name, columns in self.keys.items()},
        }

    def to_json(self, *, canonical: bool = False, messages: bool = True) -> str:
        """Return :meth:`to_dict` as one line of ASCII."""
        return json_line(self.to_dict(canonical=canonical, messages=messages), what="the example")


@dataclass(frozen=True)
class Setting:
    """What examples are drawn for. ``schema``: SQL of the tables; ``None``: random ones."""

    feed: FeedOptions
    schema: str | None = None
    time_zone: str = "UTC"
    seed: int = 0

    @cached_property
    def config(self) -> ChangefeedConfig:
        return self.feed.load(time_zone=self.time_zone)

    def in_one_partition(self) -> Setting:
        """Return the same with one partition for each topic: what arrives is in order."""
        address, _, query = self.feed.sink_uri.partition("?")
        parameters = urlencode({**dict(parse_qsl(query, keep_blank_values=True)), "partition-num": "1"})
        return replace(self, feed=FeedOptions(f"{address}?{parameters}", self.feed.changefeed))

    def drawn(self, behaviour: str, count: int, faults: Sequence[str] = (), **options: Any) -> Iterator[Example]:
        """Yield up to ``count`` examples: fewer where the messages do not carry the others. ``options``: of
        :func:`~ticdc_emit.strategies.histories`.
        """
        chance = random.Random(f"{self.seed} {behaviour}")
        made = 0
        for attempt in range(_MOST_DRAWN):
            for history in self._histories(f"{self.seed} {behaviour} {attempt}", max(count - made, 6), options):
                plan = drawn_plan(chance, faults) if faults else ()
                example = self.example(history, plan, behaviour, made + 1)
                if example is not None:
                    made += 1
                    yield example
                if made == count:
                    return

    def example(self, history: History, plan: tuple[Fault, ...], behaviour: str, number: int) -> Example | None:
        """Return the example of a history and a plan; ``None`` if the messages do not carry the history."""
        feed = self.feed
        if any(fault.kind == "wandering-key" for fault in plan):
            sink = feed.changefeed.get("sink", {})
            rules = [{**rule, "partition": "ts"} for rule in sink.get("dispatchers") or [_BY_TS]]
            feed = FeedOptions(feed.sink_uri, {**feed.changefeed, "sink": {**sink, "dispatchers": rules}})
        try:
            delivery = Delivery.of(history, feed, lambda sent, config, schemas: arrived(sent, config, schemas, plan))
            consumer = delivery.consumer()
            consumer.take_all(delivery.messages)
            consumer.finish()
        except (ReleaseDefectError, DecodeError):  # where TiCDC itself fails, and what a message does not show
            return None
        config = delivery.config
        if consumer.tables != (tables := history.tables(config=config)):
            return None
        shown = history.tables(protocol=config.codec.protocol.value, config=config)
        return Example(behaviour, number, delivery, tables, shown, history.keys(config=config), plan=plan)

    def _histories(self, seed: str, count: int, options: Mapping[str, Any]) -> list[History]:
        config, drawn = self.config, []
        spec = config.codec.protocol.spec
        told: dict[str, Any] = {"time_zone": self.time_zone, **options}
        if self.schema is None:
            told |= {"names": names(allow_odd=False), "allow_virtual": False}
        if not follows_ddl(config):
            told["ddl_kinds"] = ()
        is_of_a_statement = isinstance(told.get("ddl_kinds"), str)
        if "debezium" in config.codec.protocol.value:
            told |= {"allow_defaults": False, "allow_zero_dates": False}
            if self.schema is None and not spec.registers_schemas:  # decimals are doubles there
                told["types"] = [name for name in told.get("types", TYPES) if name != "decimal"]
                if not told["types"]:
                    return []

        @hypothesis.seed(seed)
        @settings(
            max_examples=count,
            phases=[Phase.generate],
            deadline=None,
            database=None,
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
        )
        @given(histories(self.schema, **told))
        def draw(history: History) -> None:
            if history.ddl or not is_of_a_statement:
                drawn.append(history)

        providers = importlib.import_module("hypothesis.internal.conjecture.providers")
        # newer releases draw constants of the sources in a checkout, and an installation has others
        without: dict[str, Any] = {"_get_local_constants": lambda: providers.Constants(), "CONSTANTS_CACHE": {}}
        known = {name: each for name, each in without.items() if hasattr(providers, name)}
        with patch.multiple(providers, **known):
            draw()
        return drawn


def follows_ddl(config: ChangefeedConfig) -> bool:
    """Return whether a consumer can tell which rows come before a statement: by commit_ts, or by the only partition."""
    if not config.codec.sends_ddl:
        return False
    own_topics = any(rule.topic for rule in config.dispatchers)
    return config.codec.sends_watermarks or (config.kafka.partition_num == 1 and not own_topics)
