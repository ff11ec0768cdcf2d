"""Round trips: what a consumer folds from a history's messages is what the history's rows fold to.

In: a protocol. Out: random histories under random options of it, sent, delivered and read back. The tests take a few
hundred examples of each; for a night's worth of them, with figures:

    python -m tests.round_trip --examples 10000 --protocol simple-avro --release next
    python -m tests.round_trip --examples 2000 --release all
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import hypothesis
from hypothesis import HealthCheck, Phase, assume, given, reject, settings
from hypothesis import strategies as st

from ticdc_emit.check.examples import follows_ddl
from ticdc_emit.config import RELEASES, ChangefeedConfig, Protocol
from ticdc_emit.config.switches import DebeziumSwitches, Defect
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.consume.storage_folder import FolderReader, folder_findings
from ticdc_emit.consume.verify import verify
from ticdc_emit.database.tables import Rows, Tables
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.storage_files import MemoryFilesSink
from ticdc_emit.errors import ReleaseDefectError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.routing.table_routes import TableRoutes
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.json_document import normalise
from ticdc_emit.sql.types import MySQLType
from ticdc_emit.storage.folder import MemoryFolder
from ticdc_emit.strategies import TYPES, FeedOptions, changefeeds, histories, names
from ticdc_emit.traffic.expected_tables import TableFold
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.delivery_order import interleave
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
    "csv": ("csv", {}),
    "canal-json-storage": ("canal-json", {"enable-tidb-extension": "true"}),
}
"""By the name of a kind of messages: the protocol, and the options of the sink URI that make it."""
FILES = ("csv", "canal-json-storage")
"""The kinds that are files of a storage sink. Canal-JSON has the extension there: without it, rows show milliseconds,
and the statement of a schema file its TSO, so that a reader cannot order a row and a RENAME in one millisecond.
"""


def kinds_of(release: str) -> list[str]:
    """Return the kinds of messages that a release has."""
    return [kind for kind, (protocol, _) in PROTOCOLS.items() if release in Protocol(protocol).releases]


_MORE_OPTIONS = {"avro": "avro-include-before-value", "debezium": "debezium-include-start-ts"}
"""Options that only some releases know, by protocol."""

TARGETS = [
    {"target-schema": "{schema}_bak"},
    {"target-table": "{table}_v2"},
    {"target-schema": "archive", "target-table": "{schema}.{table}"},
    {"target-schema": "{schema}`s", "target-table": "{table}{table}"},
]
"""Other names for tables, for releases that have table routing."""

_FIRST_TIMESTAMP = "1970-01-01 00:00:01"
_NULL_BYTES = "bnVsbA=="
"""The canonical text of the bytes ``null``."""
_SIGNED_ZEROS = frozenset({"float", "double", "vector"})

_Carried: TypeAlias = Callable[[Column, "str | None"], "str | None"]

ZONES = ["UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"]


@dataclass(frozen=True)
class RoundTrip:
    """A history, how it is sent, and how it is delivered. ``seed``: of the order between partitions. ``batches``: how
    many write the files of a storage sink; ``again``: the last one runs twice, as after a failure.
    """

    history: History
    feed: FeedOptions
    seed: int
    batches: int = 1
    again: bool = False

    def config(self) -> ChangefeedConfig:
        return self.feed.load(time_zone=self.history.time_zone)

    def expected(self) -> Tables:
        """Return the history's tables as far as the messages carry them, under the names that messages show."""
        target = TableRoutes.of(self.config()).target
        return {target(*name): rows for name, rows in self._carried().items()}

    def _carried(self) -> Tables:
        catalog, carried = self.history.catalog(), _carried_by(self.config())
        if carried is None:
            return TableFold(catalog, self.history.time_zone).follow(self.history.rows, self.history.ddl)
        fold = _CarriedFold(catalog, self.history.time_zone, carried)
        return _as_carried(fold.follow(self.history.rows, self.history.ddl), catalog.tables(), carried)

    def check(self, figures: Counter[str] | None = None) -> None:
        """Compare the tables; where the release has a defect, and the library says so, there is nothing to compare."""
        expected = self.expected()  # first: it gives up a history whose messages show two keys as one
        try:
            received = self.received(figures)
        except ReleaseDefectError:
            if figures is not None:
                figures["defects"] += 1
            reject()
        assert received == expected

    def received(self, figures: Counter[str] | None = None) -> Tables:
        """Return the tables of the reference consumer after the last message; the messages keep all invariants."""
        if self.config().sink_uri.stored:
            return self._received_files(figures)
        registry, config = MemoryRegistry(), self.config()
        sent = self.history.messages(config, registry=registry)
        schemas = {post.id: post.schema for post in registry.posts if post.id is not None}
        if figures is not None:
            figures.update(examples=1, rows=len(self.history.rows), ddl=len(self.history.ddl), messages=len(sent))
        consumer = ReferenceConsumer(
            config,
            self.history.catalog(config=config),
            # all topics: with a number, a statement in one that is met early is applied before a RENAME in another
            partitions={message.topic: config.kafka.partition_num or 1 for message in sent},
            schemas=schemas,
        )
        assert verify(sent, config, schemas=schemas) == []
        queues: dict[tuple[str, int], list[Message]] = {}
        for message in sent:
            queues.setdefault((message.topic, message.partition), []).append(message)
        consumer.take_all(interleave(random.Random(self.seed), queues.values()))
        consumer.finish()
        assert consumer.skipped == 0
        return consumer.tables

    def _received_files(self, figures: Counter[str] | None) -> Tables:
        """Return the tables of the reference consumer after the last file; a second reading finds nothing new."""
        config, folder = self.config(), self.files()
        reader = FolderReader(config, folder)
        read = list(reader.read())
        if figures is not None:
            count = len([path for path in folder.contents if "/CDC" in path and not path.endswith(".index")])
            figures.update(examples=1, rows=len(self.history.rows), ddl=len(self.history.ddl), files=count)
            figures.update(messages=len(read))
        assert verify(read, config) == []
        assert list(folder_findings(config, folder)) == []
        consumer = ReferenceConsumer(config, self.history.catalog(config=config))
        consumer.take_all(read)
        consumer.finish()
        assert consumer.skipped == 0
        assert reader.waiting == 0
        assert list(reader.read()) == []
        return consumer.tables

    def files(self) -> MemoryFolder:
        """Return the files of a storage sink."""
        config = self.config()
        sink = MemoryFilesSink.of(config)
        feed = Changefeed(config, sink, self.history.catalog(), ddl=self.history.ddl)
        rows = self.history.to_arrow().sort_by("commit_ts")
        stamps = rows.column("commit_ts").to_pylist()
        starts = [0, *(place for place in range(1, len(stamps)) if stamps[place] != stamps[place - 1])]
        cuts = [*starts[: self.batches], len(stamps)]
        for number, (start, end) in enumerate(pairwise(cuts)):
            for _ in range(1 + (self.again and end == len(stamps))):
                feed.run(ArrowBatch(rows.slice(start, end - start)), number, final=False)
        feed.finish()
        return sink.kept


@st.composite
def round_trips(draw: st.DrawFn, kind: str, release: str = "classic", **limits: int) -> RoundTrip:
    """Return round trips of one kind of messages in a release, without what cannot be carried (docs/testing.md).

    ``limits``: of the histories.
    """
    if kind in FILES:
        return draw(_file_trips(kind, release, limits))
    protocol, options = PROTOCOLS[kind]
    switches = RELEASES[release]
    avro = "avro" in protocol
    keyless = not avro and draw(st.booleans())
    feed = draw(changefeeds(protocols=[protocol], releases=[release], force_replicate=keyless, compression=True))
    feed = _with_parameters(feed, options)
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
    if protocol == "avro" and switches.avro.keyed_deletes is not None:
        told["allow_deletes"] = False
    if protocol == "avro" and isinstance(switches.avro.deleted_value, Defect):
        # after a delete with a record of its key, rows may have only their keys
        feed = replace(feed, sink_uri=feed.sink_uri.replace("&avro-enable-watermark=true", ""))
    if "debezium" in protocol:
        told |= {"allow_defaults": False, "allow_zero_dates": False}
        if feed.changefeed["sink"].get("debezium") == {"output-old-value": False}:
            told["allow_keyless"] = False  # nothing tells which row an update replaces
    if protocol == "open-protocol" and _hides_updates(feed):
        told["allow_keyless"] = False
    if keyless and ("content-compatible" in feed.sink_uri or "only-output-updated" in feed.sink_uri):
        told["types"] = [name for name in TYPES if name not in _SIGNED_ZEROS]  # 0 and -0 are no change to TiCDC
    if protocol == "avro" and "enable-tidb-extension=true" not in feed.sink_uri and "index-value" in repr(feed):
        # the keys 0 and -0 are one row in two partitions, between which nothing tells the order
        told["types"] = [name for name in TYPES if name not in _SIGNED_ZEROS]
    if not follows_ddl(feed.load()):
        told["ddl_kinds"] = ()
    if "target-schema" not in switches.options.unknown and draw(st.booleans()):
        feed = _with_targets(feed, draw(st.sampled_from(TARGETS)))
        told["allow_backslashes"] = False  # a text with targets is printed
    history = draw(histories(time_zone=draw(st.sampled_from(ZONES)), **told))
    hides_deletes = protocol == "avro" and switches.avro.key_columns == "primary-key" and not _has_primary_keys(history)
    if (name := _MORE_OPTIONS.get(protocol)) and name not in switches.options.unknown:
        if draw(st.booleans()) or hides_deletes:
            feed = replace(feed, sink_uri=f"{feed.sink_uri}&{name}=true")
    elif hides_deletes:
        assume(told.get("allow_deletes") is False)  # a delete without a key, which is nothing
    if protocol == "canal-json" and "enable-tidb-extension=true" not in feed.sink_uri:
        moments = Counter((physical_ms(commit_ts), query) for commit_ts, query in history.ddl)
        assume(moments.total() == len(moments))  # the same statement again in one ms looks like a redelivery
    return RoundTrip(history, feed, draw(st.integers(0, 1 << 16)))


@st.composite
def _file_trips(draw: st.DrawFn, kind: str, release: str, limits: Mapping[str, int]) -> RoundTrip:
    """Return round trips through the files of a storage sink."""
    (protocol, options), switches = PROTOCOLS[kind], RELEASES[release]
    keyless = draw(st.booleans())
    feed = draw(changefeeds(protocols=[protocol], releases=[release], force_replicate=keyless, stored=True))
    feed = _with_parameters(feed, options)
    feed = replace(feed, changefeed={**feed.changefeed, "ticdc-emit": {"ddl_text": "as-given", "release": release}})
    told: dict[str, Any] = {"allow_keyless": keyless, "allow_backslashes": True, **limits}
    if keyless and ("content-compatible" in feed.sink_uri or "only-output-updated" in feed.sink_uri):
        told["types"] = [name for name in TYPES if name not in _SIGNED_ZEROS]
    if "target-schema" not in switches.options.unknown and draw(st.booleans()):
        sink = {"dispatchers": [{"matcher": ["*.*"]}], **feed.changefeed["sink"]}
        feed = _with_targets(
            replace(feed, changefeed={**feed.changefeed, "sink": sink}), draw(st.sampled_from(TARGETS))
        )
        told["allow_backslashes"] = False
    history = draw(histories(time_zone=draw(st.sampled_from(ZONES)), **told))
    if protocol == "csv" and all(info.pk_is_handle for info in history.catalog().tables()):
        sink = feed.changefeed["sink"]
        csv = {**sink["csv"], "output-handle-key": draw(st.booleans())}
        feed = replace(feed, changefeed={**feed.changefeed, "sink": {**sink, "csv": csv}})
    config = feed.load(time_zone=history.time_zone)
    shows_commits = config.codec.csv.include_commit_ts if protocol == "csv" else config.codec.enable_tidb_extension
    # without commit_ts or a key, nothing distinguishes a row that comes again from a new one
    again = shows_commits and not keyless and draw(st.booleans())
    return RoundTrip(history, feed, 0, draw(st.integers(1, 3)), again)


def _with_parameters(feed: FeedOptions, parameters: Mapping[str, str]) -> FeedOptions:
    others = [part for part in feed.sink_uri.split("&") if part.partition("=")[0] not in parameters]
    return replace(feed, sink_uri="&".join([*others, *(f"{name}={value}" for name, value in parameters.items())]))


def _with_targets(feed: FeedOptions, targets: dict[str, str]) -> FeedOptions:
    sink = feed.changefeed["sink"]
    dispatchers = [{**dispatcher, **targets} for dispatcher in sink["dispatchers"]]
    return replace(feed, changefeed={**feed.changefeed, "sink": {**sink, "dispatchers": dispatchers}})


def _hides_updates(feed: FeedOptions) -> bool:
    """Return whether updates of Open Protocol may look like inserts, or have lost names."""
    without_old = feed.changefeed["sink"].get("open") == {"output-old-value": False}
    return without_old or "only-output-updated-columns=true" in feed.sink_uri


def _has_primary_keys(history: History) -> bool:
    """Return whether Avro's deletes have keys in a release whose keys are primary keys."""
    return all(info.whole_primary_key for info in history.catalog().tables())


class _CarriedFold(TableFold):
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


def _as_carried(tables: Tables, versions: Iterable[TableInfo], carried: _Carried) -> Tables:
    """Return the tables as the messages carry them (docs/testing.md)."""
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


def _carried_by(config: ChangefeedConfig) -> _Carried | None:
    """Return what a changefeed's messages carry of a value; ``None`` if that is everything."""
    protocol, release = config.codec.protocol, config.release
    losses: list[_Carried] = []
    if release.values.json_doubles == "old":
        losses.append(_with_old_doubles)
    if protocol in (Protocol.DEBEZIUM, Protocol.DEBEZIUM_AVRO):
        keeps_decimals = protocol is Protocol.DEBEZIUM_AVRO or config.codec.debezium_decimal_handling_mode == "string"
        losses.append(partial(_in_debezium, switches=release.debezium, keeps_decimals=keeps_decimals))
    if protocol is Protocol.CANAL_JSON and release.canal_json.null_text == "null":
        losses.append(_without_null_texts)
    if protocol is Protocol.OPEN and not release.open_protocol.time_fraction:
        losses.append(_without_time_fractions)
    return partial(_carried_after, losses) if losses else None


def _carried_after(losses: Sequence[_Carried], column: Column, text: str | None) -> str | None:
    for loss in losses:
        text = loss(column, text)
    return text


def _with_old_doubles(column: Column, text: str | None) -> str | None:
    return text if text is None or column.type is not MySQLType.JSON else normalise(text, "old")


def _in_debezium(column: Column, text: str | None, *, switches: DebeziumSwitches, keeps_decimals: bool) -> str | None:
    """DECIMAL comes as a double, a TIMESTAMP of the first hours as zero, a year before 100 as one of two digits."""
    if text is None:
        return None
    if column.type is MySQLType.NEWDECIMAL and not keeps_decimals:
        return f"{Decimal(repr(float(text))):.{max(column.decimal, 0)}f}"
    # by the clocks of the changefeed's zone
    if column.type is MySQLType.TIMESTAMP and text < _FIRST_TIMESTAMP and switches.early_timestamps == "epoch":
        return "0000-00-00 00:00:00.000000"[: len(text)]
    completed = switches.short_years == "completed"
    if column.type in (MySQLType.DATE, MySQLType.DATETIME) and text < "0100" and completed:
        return ("20" if text < "0070" else "19") + text[2:]
    return text


def _without_null_texts(column: Column, text: str | None) -> str | None:
    return None if text == (_NULL_BYTES if column.is_binary else "null") else text


def _without_time_fractions(column: Column, text: str | None) -> str | None:
    if text is None or column.type is not MySQLType.DURATION:
        return text
    whole, point, fraction = text.partition(".")
    return whole + point + "0" * len(fraction)


def run(kind: str, release: str, examples: int, seed: int, figures: Counter[str]) -> None:
    """Take so many round trips of a kind in a release and count them; the first that fails is raised, made small."""

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
        trip.check(figures)

    trip_returns()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Round trips of random histories through messages and back.")
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--protocol", choices=[*PROTOCOLS, "all"], default="all")
    parser.add_argument("--release", choices=[*RELEASES, "all"], default="classic")
    parser.add_argument("--seed", type=int, default=0)
    given_ = parser.parse_args(arguments)
    failures = 0
    for release in RELEASES if given_.release == "all" else [given_.release]:
        known = kinds_of(release)
        for kind in known if given_.protocol == "all" else [given_.protocol]:
            failures += kind in known and _failed(kind, release, given_.examples, given_.seed)
    return 1 if failures else 0


def _failed(kind: str, release: str, examples: int, seed: int) -> bool:
    """Take the round trips and print their figures as one line; return whether one failed."""
    started, figures, failed = time.monotonic(), Counter[str](), False
    try:
        run(kind, release, examples, seed, figures)
    except Exception:
        traceback.print_exc()
        failed = True
    seconds = round(time.monotonic() - started, 1)
    line = {"protocol": kind, "release": release, **figures, "failures": int(failed), "seconds": seconds}
    print(json.dumps(line), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
