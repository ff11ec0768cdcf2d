"""Examples for a consumer in any language: random histories, their messages as they arrive, and the expected tables.

The same arguments and versions of packages give the same examples. A protocol does not carry everything
(docs/consumer.md): what is known not to arrive is not drawn, and an example counts only if the reference consumer,
which shares no code with the encoders, ends with the tables of the history.
"""

from __future__ import annotations

import copy
import importlib
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn
from urllib.parse import urlencode

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, given, reject, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.document import read_document
from ticdc_emit.config.protocols import parse_protocol_name
from ticdc_emit.config.releases import RELEASES, Release
from ticdc_emit.delivery.base import Message, Target
from ticdc_emit.errors import ConfigError, ReleaseDefectError, StrategyError, TicdcEmitError
from ticdc_emit.hints import counted
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.strategies.changefeeds import PROTOCOLS, FeedOptions
from ticdc_emit.strategies.columns import TYPES, names
from ticdc_emit.strategies.deliveries import Delivery, deliveries
from ticdc_emit.strategies.histories import histories
from ticdc_emit.traffic.scenarios.comparison import Difference, GivenTables, differences
from ticdc_emit.traffic.scenarios.delivery_order import interleave
from ticdc_emit.traffic.scenarios.model import richest_parameters

__all__ = ["SHRINK_S", "Example", "ExampleOptions", "examples", "failing_example", "feed_of_examples"]

SHRINK_S = 60.0
"""How long smaller examples are looked for, in seconds."""

_REGISTRY = "http://127.0.0.1:8081"
_TOPIC_OF_A_TABLE = {"matcher": ["*.*"], "topic": "{schema}_{table}"}
_MOST_LEFT_OUT = 10  # for each one that counts


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
    if release is not None:
        document["ticdc-emit"] = {**document.get("ticdc-emit", {}), "release": Release.parse(release).name}
    if sink_uri is None:
        name = protocol or read_document(document).at("sink").text("protocol") or PROTOCOLS[0]
        own = read_document(document).at("ticdc-emit").text("release")
        held = RELEASES[parse_protocol_name(name)[0].releases[0]] if own is None else Release.parse(own)
        document["ticdc-emit"] = {**document.get("ticdc-emit", {}), "release": held.name}
        sink_uri = f"memory://fuzz/?{urlencode(richest_parameters(name, held, 3))}"
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
            "For files, use History.files with changefeeds(stored=True) (docs/storage.md)",
            option="sink-uri",
        )
    if config.codec.protocol.spec.registers_schemas and not config.dispatchers:
        document["sink"] = {**document.get("sink", {}), "dispatchers": [_TOPIC_OF_A_TABLE]}
    return feed


@dataclass(frozen=True)
class ExampleOptions:
    """What is drawn. ``schema``: SQL of the tables; ``None``: random ones. ``restarts``: the maximum number."""

    feed: FeedOptions
    schema: str | None = None
    time_zone: str = "UTC"
    ddl: bool = True
    restarts: int = 3


@dataclass(frozen=True)
class Example:
    """``number``: from 1. ``keys``: the columns of each table's handle key, at the end."""

    number: int
    delivery: Delivery

    @property
    def size(self) -> tuple[int, int]:
        """How small an example is: rows and statements, then messages."""
        history = self.delivery.history
        return len(history.rows) + len(history.ddl), len(self.delivery.messages)

    @property
    def label(self) -> str:
        history = self.delivery.history
        counts = (
            counted(len(self.keys), "table"),
            counted(len(history.rows), "row"),
            counted(len(history.ddl), "statement"),
            counted(len(self.delivery.messages), "message"),
        )
        return f"example {self.number}: {', '.join(counts)}"

    @property
    def keys(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        return self.delivery.history.keys(config=self.delivery.config)

    def expected(self, *, canonical: bool = False) -> dict[tuple[str, str], dict[Any, Any]]:
        """Return the tables at the end, ENUM, SET and binary values as messages show them unless ``canonical``."""
        config = self.delivery.config
        protocol = None if canonical else config.codec.protocol.value
        return self.delivery.history.tables(protocol=protocol, config=config)

    def check(self, tables: GivenTables, *, canonical: bool = False) -> list[Difference]:
        """Compare a consumer's tables with :meth:`expected`. Raises :class:`~ticdc_emit.errors.ConfigError`."""
        return differences(self.expected(canonical=canonical), self.keys, tables)

    def to_dict(self, *, canonical: bool = False) -> dict[str, Any]:
        """Return ``example``, the members of the delivery, ``expected`` (rows by ``schema.table``) and ``keys``."""
        expected = self.expected(canonical=canonical)
        return {
            "example": self.number,
            **self.delivery.to_dict(),
            "expected": {".".join(name): list(rows.values()) for name, rows in expected.items()},
            "keys": {".".join(name): list(columns) for name, columns in self.keys.items()},
        }


def examples(options: ExampleOptions, *, seed: int, count: int, take: Callable[[Example], object]) -> None:
    """Draw ``count`` examples and call ``take`` with each; ``StrategyError`` if the changefeed carries too little."""
    tally = _Tally(count)
    _draw(options, seed, tally, take, (Phase.generate,))
    if tally.taken < count:
        raise tally.too_few()


def failing_example(
    options: ExampleOptions, *, seed: int, count: int, passes: Callable[[Example], bool], shrink_s: float = SHRINK_S
) -> tuple[Example, Example] | None:
    """Return the first of ``count`` examples that ``passes`` refuses, and the smallest found; ``None`` if all pass.
    Smaller histories are looked for during ``shrink_s`` seconds. Raises what :func:`examples` and ``passes`` raise.
    """
    tally = _Tally(count)
    first: Example | None = None
    smallest: Example | None = None
    deadline = math.inf

    def take(example: Example) -> None:
        nonlocal first, smallest, deadline
        if time.monotonic() >= deadline:
            raise _Enough
        if passes(example):
            return
        if first is None or smallest is None:
            first = smallest = example
            tally.gives_up = False  # most of what is smaller does not exist
            deadline = time.monotonic() + shrink_s
        elif example.size <= smallest.size:  # of two of a size, the later one has simpler values
            smallest = example
        raise _Refused

    with suppress(_Enough, _Refused, Flaky):  # flaky: what has failed passes when it is tried again
        _draw(options, seed, tally, take, (Phase.generate, Phase.shrink))
    if first is not None and smallest is not None:
        return first, smallest
    if tally.taken < count:
        raise tally.too_few()
    return None


def _draw(
    options: ExampleOptions, seed: int, tally: _Tally, take: Callable[[Example], object], phases: Sequence[Phase]
) -> None:
    @hypothesis.seed(seed)
    @settings(
        max_examples=tally.wanted,
        phases=phases,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(_carried(options, tally))
    def draw(delivery: Delivery) -> None:
        tally.taken += 1
        try:
            take(Example(tally.taken, delivery))
        except _Refused:
            raise
        except BaseException as error:
            raise _Stop(error) from None

    cause: BaseException | None = None
    with _without_constants_of_sources():
        try:
            draw()
        except _Stop as stop:
            cause = stop.cause
    if cause is not None:
        raise cause


@dataclass
class _Tally:
    wanted: int
    taken: int = 0
    left_out: int = 0
    gives_up: bool = True

    def leave_out(self) -> NoReturn:
        """Leave the example at hand out, and give up after too many."""
        self.left_out += 1
        if self.gives_up and self.left_out > _MOST_LEFT_OUT * (self.taken + 2):
            raise _Stop(self.too_few())
        reject()

    def too_few(self) -> StrategyError:
        return StrategyError(
            f"only {counted(self.taken, 'example')} of {self.wanted} could be drawn",
            remedy="The messages of this changefeed do not carry the other ones completely (docs/consumer.md): "
            "choose other tables or options",
            argument="feed",
        )


@contextmanager
def _without_constants_of_sources() -> Iterator[None]:
    """Draw what an installation draws: newer releases of Hypothesis read constants in sources of a checkout."""
    providers = importlib.import_module("hypothesis.internal.conjecture.providers")
    instead = {"_get_local_constants": lambda: providers.Constants(), "CONSTANTS_CACHE": {}}
    usual = {name: getattr(providers, name) for name in instead if hasattr(providers, name)}
    for name in usual:
        setattr(providers, name, instead[name])
    try:
        yield
    finally:
        for name, value in usual.items():
            setattr(providers, name, value)


class _Stop(BaseException):
    """Ends the drawing at once: Hypothesis would run the example again first. ``cause``: the error to raise."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


class _Refused(Exception):  # noqa: N818 - a verdict, not an error
    """The consumer fails an example: Hypothesis looks for a smaller one."""


class _Enough(BaseException):
    """The time for smaller examples is over."""


@st.composite
def _carried(draw: st.DrawFn, options: ExampleOptions, tally: _Tally) -> Delivery:
    config = options.feed.load(time_zone=options.time_zone)
    drawn = deliveries(_histories(options, config), st.just(options.feed), max_restarts=options.restarts)
    try:
        delivery = draw(drawn)
        order = random.Random(draw(st.integers(0, 1 << 16)))
        delivery = replace(delivery, messages=interleaved(delivery.messages, order))
        consumer = delivery.consumer()
        consumer.take_all(delivery.messages)
        consumer.finish()
    except (ReleaseDefectError, DecodeError):  # where TiCDC itself fails, and what a message does not show
        tally.leave_out()
    except TicdcEmitError as error:
        raise _Stop(error) from None
    if consumer.tables != delivery.history.tables(config=delivery.config):
        tally.leave_out()
    return delivery


def _histories(options: ExampleOptions, config: ChangefeedConfig) -> st.SearchStrategy[Any]:
    spec = config.codec.protocol.spec
    told: dict[str, Any] = {"time_zone": options.time_zone}
    if options.schema is None:
        told |= {"names": names(allow_odd=False), "allow_virtual": False}
    if not (options.ddl and follows_ddl(config)):
        told["ddl_kinds"] = ()
    if "debezium" in config.codec.protocol.value:
        told |= {"allow_defaults": False, "allow_zero_dates": False}
        if options.schema is None and not spec.registers_schemas:
            told["types"] = [name for name in TYPES if name != "decimal"]  # doubles there
    return histories(options.schema, **told)


def follows_ddl(config: ChangefeedConfig) -> bool:
    """Return whether a consumer can tell which rows come before a statement: by commit_ts, or by the only partition."""
    if not config.codec.sends_ddl:
        return False
    own_topics = any(rule.topic for rule in config.dispatchers)
    return config.codec.sends_watermarks or (config.kafka.partition_num == 1 and not own_topics)


def interleaved(messages: Iterable[Message], order: random.Random) -> list[Message]:
    """Return messages in their order within a partition, and in a random order between partitions."""
    queues: dict[Target, list[Message]] = {}
    for message in messages:
        queues.setdefault((message.topic, message.partition), []).append(message)
    return interleave(order, queues.values())
