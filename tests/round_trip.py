"""Round trips: what a consumer folds from a history's messages is what the history's rows fold to.

In: a protocol. Out: random histories under random options of it, sent, delivered and read back. The tests take a few
hundred examples of each; for a night's worth of them, with figures:

    python -m tests.round_trip --examples 10000 --protocol simple-avro --release next
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

import hypothesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from ticdc_emit.config import RELEASES, ChangefeedConfig, Protocol
from ticdc_emit.config.switches import DebeziumSwitches
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import MySQLType
from ticdc_emit.strategies import TYPES, FeedOptions, changefeeds, histories, names
from ticdc_emit.traffic import History
from ticdc_emit.traffic.expected_tables import Rows, TableFold, Tables
from ticdc_emit.tso import physical_ms

PROTOCOLS = {
    "canal-json": ("canal-json", {}),
    "avro": ("avro", {}),
    "debezium-avro": ("debezium-avro", {"avro-bigint-unsigned-handling-mode": "string"}),
    "open-protocol": ("open-protocol", {}),
    "simple-json": ("simple", {"encoding-format": "json"}),
    "simple-avro": ("simple", {"encoding-format": "avro"}),
    "debezium": ("debezium", {"debezium-disable-schema": "false"}),
    "debezium-without-schema": ("debezium", {"debezium-disable-schema": "true"}),
}
"""By the name of a kind of messages: the protocol, and the options of the sink URI that make it."""


def kinds_of(release: str) -> list[str]:
    """Return the kinds of messages that a lineage has."""
    return [kind for kind, (protocol, _) in PROTOCOLS.items() if release in Protocol(protocol).releases]


NEXT_OPTIONS = {"avro": "avro-include-before-value", "debezium": "debezium-include-start-ts"}
"""The options of the next lineage that are drawn, by protocol."""

_FIRST_TIMESTAMP = "1970-01-01 00:00:01"
_SIGNED_ZEROS = frozenset({"float", "double", "vector"})

_Carried: TypeAlias = Callable[[Column, "str | None"], "str | None"]

ZONES = ["UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"]


@dataclass(frozen=True)
class RoundTrip:
    """A history, how it is sent, and how it is delivered. ``seed``: of the order between partitions."""

    history: History
    feed: FeedOptions
    seed: int

    def config(self) -> ChangefeedConfig:
        return self.feed.load(time_zone=self.history.time_zone)

    def expected(self) -> Tables:
        """Return the history's tables as far as the protocol carries them."""
        catalog, debezium = self.history.catalog(), "protocol=debezium" in self.feed.sink_uri
        if not debezium:
            return TableFold(catalog, self.history.time_zone).follow(self.history.rows, self.history.ddl)
        config = self.config()
        carried = partial(_in_debezium, config.release.debezium, config.codec.protocol is Protocol.DEBEZIUM_AVRO)
        fold = _DebeziumFold(catalog, self.history.time_zone, carried)
        return _as_debezium(fold.follow(self.history.rows, self.history.ddl), catalog.tables(), carried)

    def received(self, figures: Counter[str] | None = None) -> Tables:
        """Return the tables of the reference consumer behind the last message."""
        registry, config = MemoryRegistry(), self.config()
        sent = self.history.messages(config, registry=registry)
        if figures is not None:
            figures.update(examples=1, rows=len(self.history.rows), ddl=len(self.history.ddl), messages=len(sent))
        consumer = ReferenceConsumer(
            config,
            self.history.catalog(),
            # all topics: with a number, a statement in one that is met early is applied before a RENAME in another
            partitions={message.topic: config.kafka.partition_num or 1 for message in sent},
            schemas={post.id: post.schema for post in registry.posts},
        )
        consumer.take_all(interleaved(sent, random.Random(self.seed)))
        consumer.finish()
        assert consumer.skipped == 0
        return consumer.tables


@st.composite
def round_trips(draw: st.DrawFn, kind: str, release: str = "classic", **limits: int) -> RoundTrip:
    """Return round trips of one kind of messages in one lineage, without what cannot be carried (docs/consumer.md).

    ``limits``: of the histories.
    """
    protocol, options = PROTOCOLS[kind]
    avro = "avro" in protocol
    keyless = not avro and draw(st.booleans())
    feed = draw(changefeeds(protocols=[protocol], force_replicate=keyless, compression=True))
    others = [part for part in feed.sink_uri.split("&") if part.partition("=")[0] not in options]
    feed = replace(feed, sink_uri="&".join([*others, *(f"{name}={value}" for name, value in options.items())]))
    # printed as TiCDC prints it, DDL loses backslashes of labels, and backquotes in names stop the changefeed
    feed = replace(feed, changefeed={**feed.changefeed, "ticdc-emit": {"ddl_text": "as-given", "release": release}})
    told: dict[str, Any] = {
        "names": names(allow_odd=not avro),
        "allow_keyless": keyless,
        "allow_backslashes": True,
        **limits,
    }
    if protocol == "debezium-avro":
        told["allow_virtual"] = False  # rows of tables with virtual columns fail
    if "debezium" in protocol:
        told |= {"allow_defaults": False, "allow_zero_dates": False}
        if feed.changefeed["sink"].get("debezium") == {"output-old-value": False}:
            told["allow_keyless"] = False  # nothing tells which row an update replaces
    if protocol == "open-protocol" and _hides_updates(feed):
        told["allow_keyless"] = False
    if keyless and ("content-compatible" in feed.sink_uri or "only-output-updated" in feed.sink_uri):
        told["types"] = [name for name in TYPES if name not in _SIGNED_ZEROS]  # 0 and -0 are no change to TiCDC
    if not follows_ddl(feed):
        told["ddl_kinds"] = ()
    history = draw(histories(time_zone=draw(st.sampled_from(ZONES)), **told))
    if release == "next" and protocol in NEXT_OPTIONS and (draw(st.booleans()) or not _shows_deletes(feed, history)):
        feed = replace(feed, sink_uri=f"{feed.sink_uri}&{NEXT_OPTIONS[protocol]}=true")
    if protocol == "canal-json" and "enable-tidb-extension=true" not in feed.sink_uri:
        moments = Counter((physical_ms(commit_ts), query) for commit_ts, query in history.ddl)
        assume(moments.total() == len(moments))  # the same statement again in one ms looks like a redelivery
    return RoundTrip(history, feed, draw(st.integers(0, 1 << 16)))


def _hides_updates(feed: FeedOptions) -> bool:
    """Return whether updates of Open Protocol may look like inserts, or have lost names."""
    without_old = feed.changefeed["sink"].get("open") == {"output-old-value": False}
    return without_old or "only-output-updated-columns=true" in feed.sink_uri


def _shows_deletes(feed: FeedOptions, history: History) -> bool:
    """Return whether Avro's deletes in the next lineage have a key, which a unique index is not."""
    return "protocol=avro" not in feed.sink_uri or all(info.whole_primary_key for info in history.catalog().tables())


def follows_ddl(feed: FeedOptions) -> bool:
    """Return whether a consumer can tell which rows come before a DDL: by commit_ts, or by their only partition."""
    if not feed.load().codec.sends_ddl:
        return False
    if (
        "protocol=simple" in feed.sink_uri
        or "protocol=open" in feed.sink_uri
        or "enable-tidb-extension=true" in feed.sink_uri
    ):
        return True
    (dispatcher,) = feed.changefeed["sink"]["dispatchers"]
    return "partition-num=1" in feed.sink_uri and "topic" not in dispatcher


def interleaved(messages: Iterable[Message], chance: random.Random) -> Iterator[Message]:
    """Yield messages in their order within a partition, and in any order between partitions."""
    waiting: dict[tuple[str, int], list[Message]] = {}
    for message in messages:
        waiting.setdefault((message.topic, message.partition), []).append(message)
    for own in waiting.values():
        own.reverse()
    while waiting:
        place = chance.choice(list(waiting))
        for _ in range(chance.randrange(1, 8)):
            if place in waiting:
                yield waiting[place].pop()
                if not waiting[place]:
                    del waiting[place]


class _DebeziumFold(TableFold):
    """Gives up a history in which two keys of a table, alive together or not, are one to the messages."""

    def __init__(self, catalog: Catalog, time_zone: str, carried: _Carried) -> None:
        super().__init__(catalog, time_zone)
        self._carried = carried
        self._keys: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def commit(self, changes: Sequence[Mapping[str, Any]]) -> None:
        info = self.catalog.table(changes[0]["schema"], changes[0]["table"])
        handle = info.whole_handle_key
        for image in (change[which] for change in changes for which in ("before", "after")):
            if image is not None and handle:
                key = tuple(image[column.name] for column in handle)
                told = tuple(self._carried(column, image[column.name]) for column in handle)
                assume(self._keys.setdefault((info.id, *told), key) == key)
        super().commit(changes)


def _as_debezium(tables: Tables, versions: Iterable[TableInfo], carried: _Carried) -> Tables:
    """Return the tables as Debezium's messages carry them (docs/consumer.md).

    DECIMAL comes as a double, a TIMESTAMP of the first hours as zero, a year before 100 as one of two digits.
    """
    found: Tables = {}
    for info in versions:
        handle = [column.name for column in info.whole_handle_key]
        rows: Rows = {}
        for row in tables[info.schema, info.name].values():
            told = {column.name: carried(column, row[column.name]) for column in info.row_columns}
            key: tuple[Any, ...] = tuple(told[name] for name in handle)
            if not handle:
                key = *told.values(), sum(each == told for each in rows.values())
            assume(key not in rows)  # a schema change may have made one of two keys
            rows[key] = told
        found[info.schema, info.name] = rows
    return found


def _in_debezium(switches: DebeziumSwitches, avro: bool, column: Column, text: str | None) -> str | None:
    if text is None:
        return None
    if column.type is MySQLType.NEWDECIMAL:
        return text if avro else f"{Decimal(repr(float(text))):.{max(column.decimal, 0)}f}"
    # by the clocks of the changefeed's zone
    if column.type is MySQLType.TIMESTAMP and text < _FIRST_TIMESTAMP and switches.early_timestamps == "epoch":
        return "0000-00-00 00:00:00.000000"[: len(text)]
    short = switches.short_years == "completed" and text < "0100"
    if column.type in (MySQLType.DATE, MySQLType.DATETIME) and short:
        return ("20" if text < "0070" else "19") + text[2:]
    return text


def run(kind: str, release: str, examples: int, seed: int, figures: Counter[str]) -> None:
    """Take so many round trips of a kind in a lineage and count them; the first that fails is raised, made small."""

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples,
        phases=[Phase.generate, Phase.shrink],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(round_trips(kind, release))
    def trip_returns(trip: RoundTrip) -> None:
        assert trip.received(figures) == trip.expected()

    trip_returns()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Round trips of random histories through messages and back.")
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--protocol", choices=[*PROTOCOLS, "all"], default="all")
    parser.add_argument("--release", choices=list(RELEASES), default="classic")
    parser.add_argument("--seed", type=int, default=0)
    given_ = parser.parse_args(arguments)
    failures = 0
    for kind in kinds_of(given_.release) if given_.protocol == "all" else [given_.protocol]:
        started, figures, failed = time.monotonic(), Counter[str](), False
        try:
            run(kind, given_.release, given_.examples, given_.seed, figures)
        except Exception:
            traceback.print_exc()
            failed = True
        failures += failed
        seconds = round(time.monotonic() - started, 1)
        print(
            json.dumps(
                {"protocol": kind, "release": given_.release, **figures, "failures": int(failed), "seconds": seconds}
            ),
            flush=True,
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
