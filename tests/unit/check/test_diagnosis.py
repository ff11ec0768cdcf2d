"""Every naive consumer is caught by something, and a consumer with its tables is told what it believes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ticdc_emit import History, scenario
from ticdc_emit.check.diagnosis import Diagnosis, diagnose
from ticdc_emit.check.examples import feed_of_examples
from ticdc_emit.check.naive import NAIVE, RIGHT, AnyNaive, NaiveTables, Rows
from ticdc_emit.strategies.deliveries import Delivery

ROWS = "insert into t values (1, 'a'), (2, 'b');"


def delivered(sql: str, columns: str = "v varchar(9)", *, key: str = "id", order: Sequence[int] = ()) -> Delivery:
    """What a script does to ``t``; ``order``: the messages that arrive instead, by number, without watermarks."""
    schema = f"create table shop.t (id int, {columns}, primary key ({key}))"
    return arrived(History.from_sql(sql, schema=schema), order)


def arrived(history: History, order: Sequence[int] = ()) -> Delivery:
    feed = feed_of_examples("canal-json")
    config = feed.load(time_zone=history.time_zone)
    messages = history.messages(config)
    changes = [each for each in messages if b"WATERMARK" not in (each.value or b"")]
    chosen = [changes[number]._replace(offset=at) for at, number in enumerate(order)]
    return Delivery(history, config, feed, chosen or messages, {messages[0].topic: 3}, {})


def swapped() -> Delivery:
    history = delivered("insert into t values (1, 'a'); delete from t; insert into t values (1, 'b');").history
    insert, delete, again = history.rows
    return arrived(
        replace(
            history,
            rows=[
                insert,
                {**delete, "seq": 1},
                {**delete, "seq": 2, "op": "insert", "before": None, "after": again["after"]},
            ],
        )
    )


def one(kind: str, literal: str) -> Delivery:
    return delivered(f"set sql_mode = ''; insert into t values (1, {literal}), (2, null);", f"v {kind}")


CAUGHT: dict[str, Any] = {
    "skips messages": ("tombstones", "avro"),
    "does not apply DELETE": partial(delivered, f"{ROWS} delete from t where id = 1;"),
    "inserts rows, and does not": ("redelivery", "debezium"),
    "applies an UPDATE to the row of the new": ("clustered-pk-update", "simple-json"),
    "leaves a row": partial(
        delivered, "insert into t values (1, 'a'); delete from t; insert into t values (1, 'b');", order=(0, 2, 1)
    ),
    "adds a row for every INSERT": ("redelivery", "avro"),
    "takes the first column of a key": partial(delivered, "insert into t values (1, 'a'), (1, 'b');", key="id, v"),
    "does not compare": ("wrong-checksum", "simple-avro"),
    "takes a column that a message": ("too-large-for-topic", "canal-json"),
    "begins with an empty": partial(delivered, f"{ROWS} rename table t to u;", order=(1, 2, 0)),
    "keeps the rows after": partial(delivered, f"{ROWS} truncate table t; insert into t values (3, 'c');"),
    "keeps a column": partial(delivered, f"{ROWS} alter table t drop column v;"),
    "has NULL in the": ("added-default", "debezium"),
    "takes a column with another": partial(delivered, f"{ROWS} alter table t rename column v to w;", order=(1, 2, 0)),
    "takes a statement at": ("ddl-before-checkpoint", "open-protocol"),
    "applies a statement each": partial(delivered, "truncate table t; insert into t values (1, 'a');", order=(0, 1, 0)),
    "does not apply DROP TABLE": partial(delivered, f"{ROWS} drop table t;", order=(1, 2, 0)),
    "does not apply RENAME TABLE": partial(delivered, f"{ROWS} rename table t to u;", order=(1, 2, 0)),
    "does not apply RENAME COLUMN": partial(delivered, f"{ROWS} alter table t rename column v to w;"),
    "does not apply ADD COLUMN": ("added-default", "canal-json"),
    "does not apply M": partial(delivered, "insert t values (1, 1); alter table t modify v decimal(11,1)", "v decimal"),
    "does not apply DDL": partial(delivered, f"{ROWS} alter table t rename column v to w; alter table t add x int;"),
    "takes the last message": ("wandering-key", "canal-json"),
    "takes the watermark": ("slow-partition", "canal-json"),
    "drops rows at": ("repeated-watermark", "canal-json"),
    "drops a row below": ("b-a-b", "canal-json"),
    "takes a second": ("shared-commit-ts", "canal-json"),
    "reads partition 0": ("redelivery", "canal-json"),
    "applies a statement at once": partial(
        delivered, f"{ROWS} alter table t add column w int default 7;", order=(2, 0, 1)
    ),
    "takes 0000-00-00": partial(one, "date", "'0000-00-00'"),
    'takes the text "null"': ("null-text", "canal-json"),
    "takes an empty text": ("null-text", "avro"),
    "takes NULL for an empty": ("null-text", "debezium"),
    "takes NULL for the zero": partial(one, "int", "1"),
    "cuts blanks": partial(one, "varchar(9)", "' a '"),
    "reads TINYINT(1)": partial(one, "tinyint(1)", "2"),
    "reads BIGINT UNSIGNED": ("unsigned-extremes", "avro"),
    "reads a BIGINT as a": partial(one, "bigint", "9007199254740993"),
    "reads a BIGINT as JavaScript": partial(one, "bigint", "9223372036854775807"),
    "keeps 32 bits": partial(one, "int unsigned", "4294967295"),
    "reads a DECIMAL": ("float-decimal", "canal-json"),
    "shows a DECIMAL": partial(one, "decimal(5,2)", "1.00"),
    "cuts zeros": partial(one, "decimal(5,2)", "1.50"),
    "keeps milliseconds": partial(one, "datetime(6)", "'2024-01-01 00:00:00.123456'"),
    "shows a time without": partial(one, "time(3)", "'00:00:00.250'"),
    "keeps whole seconds": partial(one, "time(3)", "'00:00:00.250'"),
    "takes the text of a TIMESTAMP": ("time-zone-extremes", "canal-json"),
    "shows a TIMESTAMP in UTC": ("time-zone-extremes", "debezium"),
    "shows a DATE": partial(one, "date", "'2024-01-01'"),
    "has a question mark for each character of": partial(one, "varchar(9)", "'a😀'"),
    "has a question mark for what": partial(one, "varchar(9)", "'ä'"),
    "reads the bytes": partial(one, "varchar(9)", "'é😀'"),
}
"""By the beginning of a belief: a scenario and its protocol, or a history, in which it makes the tables wrong."""


def arrival_of(case: Any) -> Any:
    return case() if isinstance(case, partial) else scenario(case[0], protocol=case[1], seed=1)


def content(tables: Rows | None) -> Any:
    return tables and {name: sorted(str(sorted(row.items())) for row in rows) for name, rows in tables.items()}


def differs(kind: AnyNaive, arrival: Any, count: int) -> bool:
    naive = NaiveTables(replace(arrival, messages=arrival.messages[:count]))
    return content(naive.of(kind)) != content(naive.of(RIGHT))


@pytest.mark.parametrize("kind", NAIVE, ids=lambda kind: kind.belief)
def test_a_consumer_is_told_what_it_believes(kind: AnyNaive) -> None:
    (case,) = (case for begin, case in CAUGHT.items() if kind.belief.startswith(begin))
    arrival = arrival_of(case)
    tables = NaiveTables(arrival).of(kind)
    assert tables is not None
    assert differs(kind, arrival, len(arrival.messages))
    found = diagnose(arrival, partial(differs, kind, arrival), tables, canonical=True)
    assert found.beliefs[0] == kind.belief
    assert len(found.beliefs) <= 3
    assert not differs(kind, arrival, found.number - 1)
    assert found.guilty == arrival.messages[found.number - 1]


SPECIAL: list[tuple[Any, str]] = [
    (("wandering-key", "debezium"), "a newer change of its key came before it"),
    (("wandering-key", "debezium-avro"), "the last change of its key came from another partition"),
    (("redelivery", "avro"), "the same came before from this partition"),
    (("repeated-ddl", "open-protocol"), "the same came before from another partition"),
    (("repeated-ddl", "simple-json"), "rows of a later commit came before it"),
    (("repeated-watermark", "canal-json"), "its partition had a watermark at or above it before"),
    (("ddl-before-checkpoint", "canal-json"), "a watermark at or above its commit_ts came before it"),
    (("slow-partition", "debezium"), "a watermark of another partition is at or above its commit_ts"),
    (
        ("added-default", "simple-avro"),
        "it is the first row of its table after: ALTER TABLE `shop`.`orders` ADD COLUMN",
    ),
    (CAUGHT["applies a statement at once"], "a statement with a later commit_ts came before it: ALTER TABLE `t` ADD"),
    (("shared-commit-ts", "avro"), "a row of its table with its commit_ts came before it"),
    (("b-a-b", "canal-json"), "a row of its table with a later commit_ts came before it"),
    (("clustered-pk-update", "open-protocol"), "it changes the key of its row"),
    (("too-large-for-topic", "simple-json"), "it has the handle key of its row alone"),
    (("tombstones", "avro"), "its message has no value"),
    (partial(swapped), "its key has a DELETE and an INSERT in one commit"),
    (partial(delivered, "insert into t values (1, '', null);", "v text, w text"), "it has NULL beside an empty text"),
    (("unsigned-extremes", "avro"), "total is at the end of its type's range: 18446744073709551615"),
    (partial(one, "bigint", "9007199254740993"), "v is beyond 2^53: 9007199254740993"),
    (("float-decimal", "debezium"), "amount has more than 15 digits: "),
    (("time-zone-extremes", "simple-json"), "at is in the changefeed's time zone: "),
    (partial(one, "date", "'0000-00-00'"), "v is at the end of its type's range: '0000-00-00'"),
    (partial(one, "varchar(9)", "'a😀 '"), "v has a character of four bytes: 'a😀 '"),
    (partial(one, "varchar(9)", "'null'"), "v is the text null: 'null'"),
]


@pytest.mark.parametrize(("case", "fact"), SPECIAL)
def test_what_is_special_about_the_guilty_message_is_told(case: Any, fact: str) -> None:
    arrival = arrival_of(case)
    facts = {
        each
        for number in range(1, len(arrival.messages) + 1)
        for each in diagnose(arrival, lambda count, least=number: count >= least, None).special[1:]
    }
    assert any(each.startswith(fact) for each in facts), facts


def test_what_earlier_messages_had_is_not_special() -> None:
    script = "insert into t values (1, 'ä'); insert into t values (2, 'ä'); insert into t values (3, ' ä');"
    arrival = delivered(script, order=(0, 1, 2))
    special = [diagnose(arrival, lambda count, least=at: count >= least, None).special for at in (1, 2, 3)]
    assert special == [
        ("it is INSERT in shop.t: id=1", "v has a character that is not ASCII: 'ä'"),
        ("it is INSERT in shop.t: id=2",),
        ("it is INSERT in shop.t: id=3", "v begins or ends with a blank: ' ä'"),
    ]


def test_labels_are_compared_as_messages_show_them() -> None:
    arrival = delivered("insert into t values (1, 'b', '');", "e enum('a', 'b'), v text")
    for canonical, label in ((True, "b"), (False, "2")):
        tables: Any = {"shop.t": {("1",): {"id": "1", "e": label, "v": None}}}
        found = diagnose(arrival, lambda count: count > 1, tables, canonical=canonical)
        assert found.beliefs == ("takes an empty text for NULL",)
        assert diagnose(arrival, lambda count: count > 1, tables, canonical=not canonical).beliefs == ()
    assert found.lines()[-1] == "your tables are those of a consumer that takes an empty text for NULL"
    assert found.to_dict()["guilty"] == {"topic": "ticdc", "partition": 1, "offset": 0}


def test_nothing_is_told_of_right_tables_and_of_none() -> None:
    arrival = delivered(ROWS)
    assert diagnose(arrival, bool, NaiveTables(arrival).of(RIGHT)).beliefs == ()
    assert diagnose(arrival, lambda _: True, None) == Diagnosis(is_error=True)


def test_a_consumer_that_fails_is_told_of_one_that_does() -> None:
    told = diagnose(scenario("reordered-ddl", protocol="canal-json", seed=1), bool, None).lines()
    assert told[-1].startswith("it fails as a consumer does that applies a statement at once")


def test_a_long_example_runs_few_times() -> None:
    arrival, counts = replace(delivered(ROWS), messages=[delivered(ROWS).messages[1]] * 1000), list[int]()
    assert diagnose(arrival, lambda count: counts.append(count) or count > 700, None).number == 701
    assert len(counts) <= 40
    in_time = iter([True] * 8)
    assert diagnose(arrival, lambda _: next(in_time, None), None).guilty is None
