"""Every scenario: the reference consumer ends where it must, one with the scenario's false belief does not."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import naive_consumer as naive
import pytest

from ticdc_emit.consume.verify import verify
from ticdc_emit.database.tables import Tables
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import ConfigError, IncompatibleSchemaError, SchemaError, TableRouteError, TicdcEmitError
from ticdc_emit.protocols.events import ChecksumMismatchError
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.testing import MemoryTopics
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios import FEEDS, Difference, Scenario, ScenarioKind, scenario, scenarios
from ticdc_emit.traffic.scenarios.comparison import differences
from ticdc_emit.traffic.scenarios.library import RecordingRegistry

CASES = [(kind.name, protocol) for kind in scenarios() for protocol in kind.protocols]
IN_NEXT = [
    (kind.name, protocol, "next")
    for kind in scenarios()
    for protocol in kind.protocols
    if "next" in kind.releases(protocol)[1:]
]
"""Of the protocols that have both lineages, whose scenarios are of the first one unless the other is asked for."""


@cache
def made(name: str, protocol: str, release: str | None = None) -> Scenario:
    return scenario(name, protocol=protocol, release=release, seed=1)


# -- what a correct consumer ends up with -----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "protocol", "release"), [*((*case, None) for case in CASES), *IN_NEXT])
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


NEED_DDL = {"repeated-watermark", "slow-partition"}
ROWS_ALONE = [
    kind.name
    for kind in scenarios()
    if "classic-8.1.2" in kind.releases("debezium")
    and "debezium" in kind.protocols
    and kind.name not in NEED_DDL
    and not kind.history(random.Random(1)).ddl
]


@pytest.mark.parametrize("name", ROWS_ALONE)
def test_a_release_that_sends_only_rows_has_the_scenarios_without_ddl(name: str) -> None:
    case = made(name, "debezium", "classic-8.1.2")
    consumer = case.consumer()
    consumer.take_all(case.messages)
    consumer.finish()
    assert consumer.tables == case.expected


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


def run(kind: type[naive.NaiveConsumer], case: Scenario) -> tuple[naive.NaiveConsumer, list[Difference]]:
    consumer = kind(case)
    consumer.take_all(case.messages)
    return consumer, case.check(consumer.tables)


def of(name: str) -> Callable[[Callable[[Scenario], None]], Callable[[str], None]]:
    """Run a test for each protocol of a scenario."""
    protocols = next(kind.protocols for kind in scenarios() if kind.name == name)

    def wrap(test: Callable[[Scenario], None]) -> Callable[[str], None]:
        @pytest.mark.parametrize("protocol", protocols)
        def each(protocol: str) -> None:
            test(made(name, protocol))

        return each

    return wrap


@of("redelivery")
def test_who_takes_every_insert_for_new_has_rows_twice(case: Scenario) -> None:
    _, found = run(naive.EveryInsertIsNew, case)
    assert {each.kind for each in found} == {"extra"}
    assert {each.key for each in found} & case.expected["shop", "orders"].keys()  # there, and there again


@of("b-a-b")
def test_who_drops_lower_commits_loses_what_was_overtaken(case: Scenario) -> None:
    _, found = run(naive.CommitsRiseWithOffsets, case)
    assert {each.kind for each in found} == {"missing"}
    assert all(100 <= int(each.key[0] or 0) < 200 for each in found)


@of("partition-interleave")
def test_who_drops_lower_commits_loses_rows_of_the_slower_physical_partition(case: Scenario) -> None:
    consumer, found = run(naive.CommitsRiseWithOffsets, case)
    assert isinstance(consumer, naive.CommitsRiseWithOffsets)
    assert "missing" in {each.kind for each in found}
    dropped = {str((event.after or {})["id"]) for event in consumer.dropped}
    assert {each.key[0] for each in found} <= dropped
    assert len(case.messages) == len({(message.key, message.value, message.offset) for message in case.messages})


@of("repeated-watermark")
def test_who_wants_rising_watermarks_ends(case: Scenario) -> None:
    with pytest.raises(naive.WatermarkError, match="a watermark goes back"):
        run(naive.WatermarksOnlyRise, case)


@of("slow-partition")
def test_who_believes_the_watermark_of_another_partition_loses_the_slow_one(case: Scenario) -> None:
    consumer, found = run(naive.OneWatermarkHoldsForAll, case)
    assert isinstance(consumer, naive.OneWatermarkHoldsForAll)
    slow = case.messages[-1]
    assert set(consumer.dropped) == {(slow.topic, slow.partition)}
    assert {each.kind for each in found} == {"missing"}


@of("wandering-key")
def test_who_takes_the_last_message_for_the_newest_has_old_rows(case: Scenario) -> None:
    _, found = run(naive.NaiveConsumer, case)
    scans = [each for each in found if each.column == "scans"]
    assert scans
    assert all(int(each.actual or 0) < int(each.expected or 0) for each in scans)
    assert {each.column for each in found} <= {"scans", "region"}


@of("repeated-ddl")
def test_who_runs_every_statement_fails_at_the_second(case: Scenario) -> None:
    with pytest.raises(SchemaError, match="gift"):
        run(naive.StatementsComeOnce, case)


@of("reordered-ddl")
def test_who_runs_statements_on_sight_meets_a_table_that_is_there(case: Scenario) -> None:
    with pytest.raises(SchemaError, match=r"orders.*exists|exists.*orders"):
        run(naive.NaiveConsumer, case)


@of("added-default")
def test_who_takes_new_columns_for_empty_lacks_the_default(case: Scenario) -> None:
    _, found = run(naive.NewColumnsAreEmpty, case)
    assert {(each.kind, each.column, each.actual) for each in found} == {("different", "priority", None)}
    assert {int(each.key[0] or 0) < 50 for each in found} == {True}


@of("registry-refusal")
def test_who_reads_all_with_the_newest_schema_cannot_read_old_rows(case: Scenario) -> None:
    import fastavro

    lax = RecordingRegistry(MemoryRegistry())  # a registry that takes everything lets the rows through
    messages = case.history.messages(case.config, registry=lax)
    with pytest.raises(fastavro.read.SchemaResolutionError, match="warehouse"):
        naive.NewestSchemaReadsAll(replace(case, schemas=lax.schemas)).take_all(messages)


@of("registry-refusal")
def test_the_producer_learns_which_subject_was_refused(case: Scenario) -> None:
    assert isinstance(case.refused, IncompatibleSchemaError)
    assert case.refused.subject == "ticdc-scenario-value"
    assert case.refused.version
    assert not any(b"hall" in (message.value or b"") for message in case.messages)


@of("wrong-checksum")
def test_who_trusts_every_row_has_a_damaged_one(case: Scenario) -> None:
    assert case.refusal is ChecksumMismatchError
    _, found = run(naive.NaiveConsumer, case)
    assert [(each.kind, each.column) for each in found] == [("different", "customer")]


@of("tombstones")
def test_who_passes_over_null_values_keeps_deleted_rows(case: Scenario) -> None:
    _, found = run(naive.EveryMessageHasAValue, case)
    assert {each.kind for each in found} == {"extra"}
    deleted = {message.key for message in case.messages if message.value is None}
    assert 0 < len(found) <= len(deleted)


@of("unsigned-extremes")
def test_who_reads_signed_integers_has_negative_numbers(case: Scenario) -> None:
    _, found = run(naive.IntegersHaveASign, case)
    extra = {int(each.key[0] or 0) for each in found if each.kind == "extra"}
    missing = {int(each.key[0] or 0) for each in found if each.kind == "missing"}
    assert {number + 2**64 for number in extra} == missing
    assert 2**64 - 1 in missing


@of("time-zone-extremes")
def test_who_takes_times_for_utc_has_other_timestamps(case: Scenario) -> None:
    _, found = run(naive.TimesAreInUtc, case)
    assert {each.column for each in found} == {"at", "seen"}  # not local, which is a DATETIME
    assert len(found) == 2 * len(case.expected["shop", "visits"])


@of("null-text")
def test_who_takes_the_text_null_for_null_loses_it(case: Scenario) -> None:
    _, found = run(naive.TheTextNullIsNull, case)
    assert {(each.kind, each.expected, each.actual) for each in found} == {("different", "null", None)}


@of("shared-commit-ts")
def test_who_takes_a_commit_ts_for_a_transaction_has_the_clerk_of_another(case: Scenario) -> None:
    consumer, found = run(naive.OneCommitTsIsOneTransaction, case)
    assert isinstance(consumer, naive.OneCommitTsIsOneTransaction)
    assert found
    assert {(each.table, each.column) for each in found} == {("shop.sales", "clerk")}
    assert all(len(consumer.clerks[consumer.commits[each.key[0] or ""]]) > 1 for each in found)
    starts = {row["start_ts"]: row["commit_ts"] for row in case.history.rows}
    assert len(starts) > len(set(starts.values())) > 1  # a start_ts names one


@of("ddl-before-checkpoint")
def test_who_drops_statements_at_the_watermark_lacks_the_column(case: Scenario) -> None:
    consumer, found = run(naive.StatementsComeBeforeTheirWatermark, case)
    assert isinstance(consumer, naive.StatementsComeBeforeTheirWatermark)
    assert consumer.dropped
    assert {(each.kind, each.column) for each in found} == {("no column", "points")}
    assert len(found) == len(case.expected["shop", "orders"])


@of("checksum-after-ddl")
def test_who_compares_previous_with_the_last_current_ends_at_an_intact_row(case: Scenario) -> None:
    consumer = naive.PreviousIsTheLastCurrent(case)
    with pytest.raises(naive.PreviousChecksumError):
        consumer.take_all(case.messages)
    assert consumer.checked == 5  # all updates before the statement


@of("precision-change")
def test_who_reads_all_with_the_first_schema_has_other_numbers(case: Scenario) -> None:
    _, found = run(naive.OneSchemaReadsAll, case)
    assert len(found) == len(case.expected["shop", "rates"])
    for each in found:
        assert each.column == "rate"
        assert (each.actual or "").replace(".", "") == (each.expected or "").replace(".", "")


@of("skipped-poison")
def test_who_skips_what_does_not_fit_loses_rows(case: Scenario) -> None:
    consumer, found = run(naive.MisfitsAreSkipped, case)
    assert isinstance(consumer, naive.MisfitsAreSkipped)
    assert {each.key[0] for each in found} == set(consumer.skipped)
    assert {each.kind for each in found} == {"missing", "different"}


@of("checksum-time-zone")
def test_who_checks_times_as_shown_ends_at_an_intact_row(case: Scenario) -> None:
    with pytest.raises(ChecksumMismatchError) as refused:
        naive.ChecksumsCoverTimesAsShown(case).take_all(case.messages)
    assert "visits" in str(refused.value)  # rows without a TIMESTAMP came before it


@of("clustered-pk-update")
def test_who_expects_updates_to_keep_their_key_has_rows_twice(case: Scenario) -> None:
    _, found = run(naive.UpdatesKeepTheirKey, case)
    assert [(each.table, each.kind) for each in found] == [("shop.tables", "extra")] * 5
    assert all(int(each.key[0] or 0) < 100 for each in found)


@of("too-large-for-topic")
def test_who_expects_whole_rows_has_nulls(case: Scenario) -> None:
    consumer, found = run(naive.EveryMessageHasTheWholeRow, case)
    assert isinstance(consumer, naive.EveryMessageHasTheWholeRow)
    assert {each.key[0] for each in found} == consumer.partial
    assert {each.actual for each in found} == {None}
    limit = case.config.codec.max_message_bytes
    assert all(len(message.key or b"") + len(message.value or b"") <= limit for message in case.messages)


@of("float-decimal")
def test_who_reads_decimals_as_doubles_loses_digits(case: Scenario) -> None:
    _, found = run(naive.DecimalsAreDoubles, case)
    assert {(each.kind, each.column) for each in found} == {("different", "amount")}  # not price: it has few digits
    assert len(found) == len(case.expected["shop", "balances"])


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


@of("two-sources-one-target")
def test_the_producer_learns_which_sources_have_one_target(case: Scenario) -> None:
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
    consumer, found = run(naive.NaiveConsumer, replace(case, messages=messages, schemas=lax.schemas))
    assert "different" in {each.kind for each in found}
    mixed = {row["id"]: row["state"] for row in consumer.tables["shop", "orders"]}
    assert mixed == {str(number): "west" for number in range(1, 7)}


BROKEN = {"wrong-checksum": ["checksum"], "ddl-before-checkpoint": ["watermark"]}
"""What is broken on purpose."""


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_what_is_delivered_is_legal(name: str, protocol: str) -> None:
    case = made(name, protocol)
    found = verify(case.messages, case.config, schemas=case.schemas, partitions=case.partitions)
    assert [each.invariant for each in found] == BROKEN.get(name, [])


def test_the_page_names_every_scenario_with_its_incident() -> None:
    page = (Path(__file__).parents[3] / "docs" / "scenarios.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:4] for line in page.splitlines() if line.startswith("| `")]
    told = {name.strip(" `"): (incident.strip(), belief.strip()) for name, incident, belief in rows}
    for kind in scenarios():
        incident, belief = told[kind.name]
        assert all(each.split("/")[-1] in kind.incident for each in incident.split(", "))
        assert kind.breaks.startswith(belief)


# -- the scenarios themselves -----------------------------------------------------------------------------------------


def test_the_same_seed_makes_the_same_bytes_and_another_one_others() -> None:
    first, again, other = (scenario("redelivery", seed=seed) for seed in (3, 3, 4))
    assert first.messages == again.messages
    assert first.messages != other.messages
    assert first.protocol == FEEDS[0]


@pytest.mark.parametrize("kind", scenarios(), ids=lambda kind: kind.name)
def test_a_seed_tells_the_tables_for_every_protocol(kind: ScenarioKind) -> None:
    first, *others = [made(kind.name, protocol) for protocol in kind.protocols]
    assert all((each.schema, each.expected) == (first.schema, first.expected) for each in others)


def test_offsets_count_in_each_partition() -> None:
    case = made("slow-partition", "canal-json")
    for partition in range(3):
        offsets = [message.offset for message in case.messages if message.partition == partition]
        assert offsets == list(range(len(offsets)))


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
        ({"shop.orders": [{"id": 1}]}, r"row 0 of shop.orders: id is 1, a number; its canonical text is '1'"),
        ({"shop.orders": [{"id": "1"}, {"id": 1.5}]}, "row 1 of shop.orders: id is 1.5, a number"),
        ({"shop.orders": [{"id": True}]}, "id is True, a truth value"),
        ({"shop.orders": [{"id": ["1"]}]}, "id is no text"),
        ({"shop.orders": [{"id": b"1"}]}, "id is no text"),
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


def test_a_failed_assertion_shows_what_differs() -> None:
    expected: Tables = {("shop", "orders"): {("1",): {"id": "1", "state": "paid"}, ("2",): {"id": "2", "state": None}}}
    keys = {("shop", "orders"): ("id",)}
    assert repr(differences(expected, keys, {"shop.orders": [{"id": "1", "state": "new"}]})) == (
        "[<shop.orders 1: state is 'new', must be 'paid'>, <shop.orders 2: the row is missing>]"
    )


def test_a_key_that_is_no_number_is_quoted() -> None:
    expected: Tables = {("s", "t"): {("", "a\n"): {"k": "", "l": "a\n"}, ("-1", None): {"k": "-1", "l": None}}}
    assert [str(each) for each in differences(expected, {("s", "t"): ("k", "l")}, {"s.t": []})] == [
        r"s.t '', 'a\n': the row is missing",
        "s.t -1, NULL: the row is missing",
    ]


def test_tables_without_a_key_are_compared_by_whole_rows() -> None:
    expected: Tables = {
        ("shop", "log"): {("a", "x", "0"): {"a": "x", "b": None}, ("a", "y", "0"): {"a": "y", "b": "1"}}
    }
    right: list[dict[str, str | None]] = [{"b": "1", "a": "y"}, {"a": "x", "b": None}]
    assert differences(expected, {}, {"shop.log": right}) == []
    found = differences(expected, {}, {"shop.log": [{"a": "x"}, right[0]]})
    assert sorted(map(str, found)) == ["shop.log 'x', NULL: the row is missing", "shop.log 'x': a row too many"]
    found = differences(expected, {}, {"shop.log": [{**right[0], "c": "2"}, right[1]]})
    assert sorted(map(str, found)) == ["shop.log 'y', 1, 2: a row too many", "shop.log 'y', 1: the row is missing"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(("nothing", None), "redelivery"), (("tombstones", "canal-json"), "avro"), (("redelivery", "csv"), "simple-avro")],
)
def test_a_scenario_that_is_none_is_refused(arguments: tuple[str, str | None], named: str) -> None:
    name, protocol = arguments
    with pytest.raises(ConfigError, match=named):
        scenario(name, protocol=protocol)


def test_a_registry_that_refuses_nothing_is_told() -> None:
    with pytest.raises(TicdcEmitError, match="BACKWARD"):
        scenario("registry-refusal", registry=MemoryRegistry())


def test_messages_are_of_the_contract() -> None:
    assert all(isinstance(message, Message) for message in made("b-a-b", "debezium").messages)
