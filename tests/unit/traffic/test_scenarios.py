"""Every scenario: the reference consumer ends where it must, one with the scenario's false belief does not."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis_profiles import sample

from ticdc_emit import load_changefeed
from ticdc_emit.check.naive import NAIVE, Naive, NaiveTables
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.verify import verify
from ticdc_emit.database.tables import Tables
from ticdc_emit.errors import ConfigError, IncompatibleSchemaError, SchemaError, TableRouteError, TicdcEmitError
from ticdc_emit.protocols.events import ChecksumMismatchError, RowEvent, WatermarkEvent
from ticdc_emit.protocols.registered_avro import split_header
from ticdc_emit.protocols.simple.values import SimpleTimestamp
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.sql.types import MySQLType
from ticdc_emit.testing import MemoryTopics
from ticdc_emit.testing.embedded_registry import Refusal, RegistryStore
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.comparison import Difference, differences
from ticdc_emit.traffic.scenarios.files import file_scenario
from ticdc_emit.traffic.scenarios.library import RecordingRegistry, scenario, scenarios
from ticdc_emit.traffic.scenarios.model import FEEDS, Scenario, ScenarioKind

KINDS = [(kind, protocol) for kind in scenarios() for protocol in kind.protocols]
CASES = [(kind.name, protocol) for kind, protocol in KINDS]
IN_NEXT = [(kind.name, protocol, "next") for kind, protocol in KINDS if "next" in kind.releases(protocol)[1:]]


@cache
def made(name: str, protocol: str, release: str | None = None) -> Scenario:
    return scenario(name, protocol=protocol, release=release, seed=1)


# -- what a correct consumer ends up with -----------------------------------------------------------------------------


NEED_DDL = {"repeated-watermark", "slow-partition"}
ROWS_ALONE = [
    kind.name
    for kind in scenarios()
    if "classic-8.1.2" in kind.releases("debezium")
    and "debezium" in kind.protocols
    and kind.name not in NEED_DDL
    and not kind.history(random.Random(1)).ddl
]
ROWS_ONLY = [(name, "debezium", "classic-8.1.2") for name in ROWS_ALONE]
"""Of a release that sends only rows."""


@pytest.mark.parametrize(
    ("name", "protocol", "release"), [*((*case, None) for case in CASES), *sample(IN_NEXT, 6), *ROWS_ONLY]
)
def test_the_reference_consumer_ends_where_it_must(name: str, protocol: str, release: str | None) -> None:
    case = made(name, protocol, release)
    assert case.config.release.name == release or release is None
    consumer = case.consumer()
    if case.refusal is not None:
        with pytest.raises(case.refusal):
            consumer.take_all(case.messages)
        return
    consumer.take_all(case.messages)
    consumer.finish()
    assert case.check(consumer.tables) == []
    assert consumer.tables == case.expected
    assert any(case.expected.values())


@pytest.mark.parametrize(
    "name",
    [
        kind.name
        for kind in scenarios()
        if "debezium" in kind.protocols and kind.name not in ROWS_ALONE and "classic-8.5.7" in kind.releases("debezium")
    ],
)
def test_a_release_that_sends_only_rows_lacks_the_others(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} needs DDL or watermarks, which classic-8.5.7 does not") as refused:
        made(name, "debezium", "classic-8.5.7")
    assert refused.value.remedy.startswith("Use the release classic,")


# -- what a naive one does --------------------------------------------------------------------------------------------


class OneCommitTsIsOneTransaction(Naive):
    """Takes the clerk of a sale from the shift that has its commit_ts."""

    def row(self, event: RowEvent) -> None:
        super().row(event)
        self.clerks: dict[Any, str] = getattr(self, "clerks", {})
        (row,) = [each for each in self.rows[event.schema, event.table] if each["id"] == str(event.after["id"])]
        clerk = self.clerks.get(event.commit_ts, "")
        if event.table == "shifts":
            self.clerks[event.commit_ts] = max(clerk, row["clerk"])
        else:
            row["clerk"] = clerk


class OneSchemaReadsAll(Naive):
    """Reads every Avro value with the first schema of its topic."""

    def __init__(self, case: Scenario) -> None:
        values = [number for number, text in case.schemas.items() if "_tidb_op" in text]
        super().__init__(replace(case, schemas=case.schemas | dict.fromkeys(values, case.schemas[values[0]])))


class MisfitsAreSkipped(Naive):
    """Skips rows that do not fit the INT columns of the tables before the first message."""

    def __init__(self, case: Scenario) -> None:
        super().__init__(case)
        self.first = case.history.catalog()

    def wants(self, event: RowEvent) -> bool:
        info = self.first.table(event.schema, event.table)
        return all(int(event.after[of.name]) < 2**31 for of in info.columns if of.type is MySQLType.LONG)


def naive(begin: str) -> type[Any]:
    """Return the naive consumer whose belief begins like this."""
    (kind,) = (kind for kind in NAIVE if kind.belief.startswith(begin))
    return kind


WRONG: dict[str, tuple[type[Any], Callable[[Scenario, list[Difference]], object]]] = {
    "redelivery": (
        naive("adds a row for every INSERT"),  # there, and there again
        lambda case, found: kinds(found) == {"extra"} and keys(found) & case.expected["shop", "orders"].keys(),
    ),
    "b-a-b": (
        naive("drops a row below"),
        lambda _, found: kinds(found) == {"missing"} and all(100 <= each < 200 for each in ids(found)),
    ),
    "partition-interleave": (
        naive("drops a row below"),
        lambda case, found: (
            "missing" in kinds(found)
            and len(case.messages) == len({(each.key, each.value, each.offset) for each in case.messages})
        ),
    ),
    "slow-partition": (naive("drops rows at or below"), lambda _, found: kinds(found) == {"missing"}),
    "wandering-key": (
        naive("takes the last message"),
        lambda _, found: (
            {"scans"} <= columns(found) <= {"scans", "region"}
            and all(int(each.actual or 0) < int(each.expected or 0) for each in found if each.column == "scans")
        ),
    ),
    "added-default": (
        naive("has NULL in the existing rows"),
        lambda _, found: (
            {(each.column, each.actual) for each in found} == {("priority", None)}
            and all(each < 50 for each in ids(found))
        ),
    ),
    "wrong-checksum": (
        naive("does not compare a row with its checksum"),
        lambda _, found: [(each.kind, each.column) for each in found] == [("different", "customer")],
    ),
    "tombstones": (
        naive("skips messages without a value"),
        lambda case, found: (
            kinds(found) == {"extra"} and len(found) <= len({each.key for each in case.messages if each.value is None})
        ),
    ),
    "unsigned-extremes": (
        naive("reads BIGINT UNSIGNED as signed"),
        lambda _, found: (
            {each + 2**64 for each in ids(found, "extra")} == ids(found, "missing") and 2**64 - 1 in ids(found)
        ),
    ),
    "time-zone-extremes": (
        naive("takes the text of a TIMESTAMP for UTC"),  # not local, which is a DATETIME
        lambda case, found: columns(found) == {"at", "seen"} and len(found) == 2 * len(case.expected["shop", "visits"]),
    ),
    "null-text": (
        naive('takes the text "null" for NULL'),
        lambda _, found: {(each.kind, each.expected, each.actual) for each in found} == {("different", "null", None)},
    ),
    "shared-commit-ts": (
        OneCommitTsIsOneTransaction,
        lambda _, found: {(each.table, each.column) for each in found} == {("shop.sales", "clerk")},
    ),
    "ddl-before-checkpoint": (
        naive("takes a statement at or below a watermark"),  # row 1 has a value of its own
        lambda case, found: (
            {(each.kind, each.column) for each in found} == {("no column", "points")}
            and ids(found) == {int(number) for (number,) in case.expected["shop", "orders"]} - {1}
        ),
    ),
    "precision-change": (
        OneSchemaReadsAll,
        lambda case, found: (
            len(found) == len(case.expected["shop", "rates"])
            and columns(found) == {"rate"}
            and all((each.actual or "").replace(".", "") == (each.expected or "").replace(".", "") for each in found)
        ),
    ),
    "skipped-poison": (
        MisfitsAreSkipped,
        lambda _, found: kinds(found) == {"missing", "different"} and 7 in ids(found, "missing"),
    ),
    "clustered-pk-update": (
        naive("applies an UPDATE to the row of the new key"),
        lambda _, found: (
            [(each.table, each.kind) for each in found] == [("shop.tables", "extra")] * 5
            and all(each < 100 for each in ids(found))
        ),
    ),
    "too-large-for-topic": (
        naive("takes a column that a message does not have"),
        lambda case, found: (
            {(each.kind, each.actual) for each in found} == {("different", None)}
            and max(len(each.key or b"") + len(each.value or b"") for each in case.messages)
            <= case.config.codec.max_message_bytes
        ),
    ),
    "float-decimal": (
        naive("reads a DECIMAL as a double"),  # not price: it has few digits
        lambda case, found: (
            {(each.kind, each.column) for each in found} == {("different", "amount")}
            and len(found) == len(case.expected["shop", "balances"])
        ),
    ),
}
"""By scenario: a consumer that is wrong in one thing, and whether its tables show that."""


def kinds(found: list[Difference]) -> set[str]:
    return {each.kind for each in found}


def columns(found: list[Difference]) -> set[str | None]:
    return {each.column for each in found}


def keys(found: list[Difference]) -> set[tuple[str | None, ...]]:
    return {each.key for each in found}


def ids(found: list[Difference], kind: str | None = None) -> set[int]:
    return {int(each.key[0] or 0) for each in found if kind in (None, each.kind)}


@pytest.mark.parametrize(("name", "protocol"), [case for case in CASES if case[0] in WRONG])
def test_who_believes_what_is_not_so_has_other_tables(name: str, protocol: str) -> None:
    kind, is_as_told = WRONG[name]
    case = made(name, protocol)
    found = case.check(NaiveTables(case).of(kind))
    assert is_as_told(case, found), found


class WatermarksOnlyRise(Naive):
    def take(self, event: Any) -> None:
        assert not isinstance(event, WatermarkEvent) or event.commit_ts > self.highest["watermark"], "it goes back"
        super().take(event)


class PreviousIsTheLastCurrent(Naive):
    """``checked``: how many updates had the checksum of their row's last message."""

    def row(self, event: RowEvent) -> None:
        super().row(event)
        stated, number = event.message["checksum"], f"current of {event.after['id']}"
        assert event.op == "insert" or stated.previous == self.highest[number]
        self.checked = getattr(self, "checked", 0) + (event.op == "update")
        self.highest[number] = stated.current


class ChecksumsCoverTimesAsShown(Naive):
    """Takes the text of a TIMESTAMP for UTC when it checks a row."""

    def __init__(self, case: Scenario) -> None:
        super().__init__(case)
        options = {"schema_registry": "http://127.0.0.1:1", "release": case.config.release}
        self.reader = reader_for(load_changefeed(case.sink_uri, case.changefeed, **options), schemas=case.schemas)

    def check(self, event: RowEvent) -> None:
        self.reader.check(replace(event, before=_in_utc(event.before), after=_in_utc(event.after)))


def _in_utc(image: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return an image of Simple with another time zone beside the times."""
    return image and {
        name: replace(value, location="UTC") if isinstance(value, SimpleTimestamp) else value
        for name, value in image.items()
    }


def fold(consumer: Naive, case: Scenario) -> None:
    for message in case.messages:
        for event in consumer.events(message):
            consumer.take(event)


@pytest.mark.parametrize(
    ("name", "kind", "error", "said"),
    [
        ("repeated-watermark", WatermarksOnlyRise, AssertionError, "it goes back"),
        ("repeated-ddl", naive("applies a statement each time"), SchemaError, "gift"),
        ("reordered-ddl", Naive, SchemaError, r"orders.*exists|exists.*orders"),
        ("checksum-after-ddl", PreviousIsTheLastCurrent, AssertionError, ""),
        ("checksum-time-zone", ChecksumsCoverTimesAsShown, ChecksumMismatchError, "visits"),
    ],
)
def test_who_believes_what_is_not_so_ends(name: str, kind: type[Any], error: type[Exception], said: str) -> None:
    for protocol in protocols_of(name):
        consumer = kind(made(name, protocol))
        with pytest.raises(error, match=said or None):
            fold(consumer, made(name, protocol))
        assert getattr(consumer, "checked", 5) == 5  # all updates before the statement


def test_a_start_ts_names_one_transaction() -> None:
    starts = {row["start_ts"]: row["commit_ts"] for row in made("shared-commit-ts", "canal-json").history.rows}
    assert len(starts) > len(set(starts.values())) > 1


def protocols_of(name: str) -> tuple[str, ...]:
    return next(kind.protocols for kind in scenarios() if kind.name == name)


def test_who_reads_all_with_the_newest_schema_cannot_read_old_rows() -> None:
    import fastavro

    case = made("registry-refusal", "avro")
    lax = RecordingRegistry(MemoryRegistry())  # a registry that takes everything lets the rows through
    messages = case.history.messages(case.config, registry=lax)
    newest = json.loads([text for text in lax.schemas.values() if "_tidb_op" in text][-1])
    values = [split_header(message.value) for message in messages if message.value is not None]
    store = RegistryStore("BACKWARD")  # it refuses what the scenario's registry does
    with pytest.raises(Refusal, match="warehouse"):
        [store.register("value", text) for text in lax.schemas.values() if "_tidb_op" in text]
    with pytest.raises(fastavro.read.SchemaResolutionError, match="warehouse"):
        [
            fastavro.schemaless_reader(io.BytesIO(each), json.loads(lax.schemas[number]), newest)
            for number, each in values
        ]
    assert isinstance(case.refused, IncompatibleSchemaError)
    assert case.refused.subject == "ticdc-scenario-value"
    assert case.refused.version
    assert not any(b"hall" in (message.value or b"") for message in case.messages)


@pytest.mark.parametrize(
    ("name", "protocol", "option", "releases"),
    [
        ("float-decimal", "debezium", "debezium-decimal-handling-mode", ("master",)),
        ("two-sources-one-target", "canal-json", "target-schema", ("next", "master", "next-8.5.7", "next-8.5.8")),
    ],
)
def test_a_release_without_the_option_is_refused(
    name: str, protocol: str, option: str, releases: tuple[str, ...]
) -> None:
    assert made(name, protocol).config.release.name == releases[0]
    with pytest.raises(ConfigError, match=f"{name} needs {option}, which classic does not have") as refused:
        made(name, protocol, "classic")
    assert refused.value.remedy == f"Use the release {' or '.join(releases)}"


@pytest.mark.parametrize("protocol", FEEDS)
def test_the_producer_learns_which_sources_have_one_target(protocol: str) -> None:
    case = made("two-sources-one-target", protocol)
    assert isinstance(case.refused, TableRouteError)
    assert all(name in str(case.refused) for name in ("east", "west", "shop"))
    assert not any(b"west" in (message.value or b"") for message in case.messages)
    assert list(case.expected) == [("shop", "orders")]


@pytest.mark.parametrize("protocol", FEEDS)
def test_who_takes_a_target_for_one_source_mixes_the_rows_of_two(protocol: str) -> None:
    lax = RecordingRegistry(MemoryRegistry())
    case = scenario("two-sources-one-target", protocol=protocol, seed=1, registry=lax)
    rows = [row for row in case.history.rows if row["schema"] == "west"]
    west = History(case.schema.replace("east.", "west."), rows)  # a second changefeed does not know of the first
    messages = [*case.messages, *west.messages(case.config, registry=lax)]
    tables = NaiveTables(replace(case, messages=messages, schemas=lax.schemas)).of(naive("takes the last message"))
    assert "different" in kinds(case.check(tables))
    mixed = {row["id"]: row["state"] for row in tables["shop", "orders"]}
    assert mixed == {str(number): "west" for number in range(1, 7)}


BROKEN = {"wrong-checksum": ["checksum"], "ddl-before-checkpoint": ["watermark"]}
"""What is broken on purpose."""


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_what_is_delivered_is_legal(name: str, protocol: str) -> None:
    case = made(name, protocol)
    found = verify(case.messages, case.config, schemas=case.schemas, partitions=case.partitions)
    assert [each.invariant for each in found] == BROKEN.get(name, [])


# -- the scenarios themselves -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "name", "what"), [(scenario, "redelivery", "messages"), (file_scenario, "files-again", "stages")]
)
def test_the_same_seed_makes_the_same_bytes_and_another_one_others(make: Any, name: str, what: str) -> None:
    first, again, other = (make(name, seed=seed) for seed in (3, 3, 4))
    assert getattr(first, what) == getattr(again, what) != getattr(other, what)
    assert first.protocol == (FEEDS[0] if make is scenario else "csv")


@pytest.mark.parametrize("kind", scenarios(), ids=lambda kind: kind.name)
def test_a_seed_tells_the_tables_for_every_protocol(kind: ScenarioKind) -> None:
    first, *others = [made(kind.name, protocol) for protocol in kind.protocols]
    assert all((each.schema, each.expected) == (first.schema, first.expected) for each in others)


@pytest.mark.parametrize("name", ["redelivery", "reordered-ddl", "tombstones"])
def test_a_scenario_is_sent_as_it_is(name: str) -> None:
    case = made(name, next(kind.protocols[0] for kind in scenarios() if kind.name == name))
    with MemoryTopics() as topics:
        report = case.send(topics.sink())
        arrived = topics.messages()
    assert report.messages == len(case.messages)
    assert arrived == sorted(case.messages, key=lambda each: (each.topic, each.partition, each.offset))


def test_check_takes_rows_by_name_and_says_what_differs() -> None:
    case = made("tombstones", "avro")
    rows = [dict(row) for row in case.expected["shop", "orders"].values()]
    assert case.check({"shop.orders": rows}) == []
    first, second, *others = rows
    wrong = {name: text for name, text in first.items() if name != "state"} | {"amount": None, "more": "1"}
    found = case.check({"shop.orders": [wrong, *others, others[0]], "shop.other": [{"id": "1"}], "shop.empty": []})
    assert sorted(map(str, found)) == sorted(
        [
            f"shop.orders {first['id']}: amount is NULL, must be '{first['amount']}'",
            f"shop.orders {first['id']}: the column more should not be there",
            f"shop.orders {first['id']}: the column state is missing",
            f"shop.orders {second['id']}: the row is missing",
            f"shop.orders {others[0]['id']}: a row too many",
            "shop.other 1: a row too many",
        ]
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shop.orders": [{"id": "1"}, {"id": 1.5}]}, "row 1 of shop.orders: id is 1.5, not text"),
        ({"shop.orders": [{"id": b"1"}]}, "id is b'1', not text"),
        ({"shop.orders": [{1: "1"}]}, "a column's name is not text"),
        ({"shop.orders": ["1"]}, "row 0 of shop.orders is not a mapping"),
        ({"shop.orders": [None]}, "row 0 of shop.orders is not a mapping"),
        ({"shop.orders": None}, "shop.orders has no list of rows"),
        ({"shop.orders": "rows"}, "shop.orders has no list of rows"),
        ({"orders": []}, "'orders' names no table"),
        ({(1, "orders"): []}, "names no table"),
        ({None: []}, "None names no table"),
        ({"shop.orders": [], ("shop", "orders"): []}, "shop.orders is given twice"),
        ([1], "not a mapping of tables"),
        (None, "not a mapping of tables"),
    ],
)
def test_check_says_what_is_no_table(given: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        made("tombstones", "avro").check(given)


LOG: Tables = {("s", "t"): {("a", "x", "0"): {"a": "x", "b": None}, ("a", "y", "0"): {"a": "y", "b": "1"}}}
Y = {"b": "1", "a": "y"}
COMPARED: list[tuple[Tables, tuple[str, ...], list[Any], list[str]]] = [
    (
        {("s", "t"): {("", "a\n"): {"k": "", "l": "a\n"}, ("-1", None): {"k": "-1", "l": None}}},
        ("k", "l"),
        [],
        [r"<s.t '', 'a\n': the row is missing>", "<s.t -1, NULL: the row is missing>"],
    ),
    (LOG, (), [Y, {"a": "x", "b": None}], []),
    (LOG, (), [{"a": "x"}, Y], ["<s.t 'x': a row too many>", "<s.t 'x', NULL: the row is missing>"]),
    (
        LOG,
        (),
        [{**Y, "c": "2"}, {"a": "x", "b": None}],
        ["<s.t 'y', 1: the row is missing>", "<s.t 'y', 1, 2: a row too many>"],
    ),
]
"""Expected tables, their key, the rows of a consumer, and what a failed assertion shows."""


@pytest.mark.parametrize(("expected", "key", "rows", "shown"), COMPARED)
def test_what_differs_is_shown(expected: Tables, key: tuple[str, ...], rows: list[Any], shown: list[str]) -> None:
    assert sorted(map(repr, differences(expected, {("s", "t"): key}, {"s.t": rows}))) == sorted(shown)


@pytest.mark.parametrize(
    ("make", "name", "protocol", "named"),
    [
        (scenario, "nothing", None, "redelivery"),
        (scenario, "tombstones", "canal-json", "avro"),
        (scenario, "redelivery", "csv", "simple-avro"),
        (file_scenario, "date-rolover", None, "date-rollover"),
        (file_scenario, "date-rollover", "avro", "csv"),
        (file_scenario, "b-a-b", None, "files-again"),
    ],
)
def test_what_is_none_is_refused(make: Any, name: str, protocol: str | None, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        make(name, protocol=protocol)


def test_a_registry_that_refuses_nothing_is_told() -> None:
    with pytest.raises(TicdcEmitError, match="BACKWARD"):
        scenario("registry-refusal", registry=MemoryRegistry())
