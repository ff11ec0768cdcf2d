"""A changefeed's filter over batches: what is sent, and what its report counts."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from arrow_feeds import generic, sent

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.routing.partitions import table_hash

TS = 450_000_000_262_144_000
URI = "memory://filter?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
SCHEMA = "create table s.a (id int primary key, u int not null unique, n int); create table s.b (id int primary key)"


def row(offset: int, table: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, Any]:
    op = "d" if after is None else "c" if before is None else "u"
    own = {"op": op, "commit_ts": TS + offset, "start_ts": TS + offset - 1, "schema": "s", "table": table}
    return {**own, "before": before, "after": after}


def ddl(offset: int, query: str) -> dict[str, Any]:
    return {"op": "ddl", "commit_ts": TS + offset, "schema": "s", "query": query}


def run(
    filter_table: dict[str, Any], rows: list[dict[str, Any]], bad_rows: Any = "refuse", **options: Any
) -> tuple[list[str], RunReport]:
    config = load_changefeed(URI, {"filter": filter_table}, **options)
    found, report = sent(config, SCHEMA, generic(rows), options=RunOptions(bad_rows=bad_rows))
    shown = []
    for content in (json.loads(message.value or b"") for message in found):
        if content["type"] != "TIDB_WATERMARK":
            shown.append(content["sql"] or f"{content['type']} {content['table']} {content['data'][0]['id']}")
    return shown, report


A = {"id": 1, "u": 1, "n": 1}
ROWS = [
    row(1, "a", None, A),
    row(2, "b", None, {"id": 1}),
    row(3, "a", A, A | {"n": 5}),
    row(4, "a", A | {"n": 5}, A | {"n": 5, "u": 2}),
    row(5, "a", A | {"n": 5, "u": 2}, None),
]


def test_rows_of_tables_that_the_rules_leave_out_are_counted() -> None:
    shown, report = run({"rules": ["s.b"]}, ROWS)
    assert shown == ["INSERT b 1"]
    assert (report.rows, report.filtered) == (1, {"rules": 4})


def test_kinds_values_and_transactions() -> None:
    filters = {
        "ignore-txn-start-ts": [TS + 1],
        "event-filters": [
            {"matcher": ["s.a"], "ignore-event": ["delete"], "ignore-update-new-value-expr": "n = 5 and u = 1"}
        ],
    }
    shown, report = run(filters, ROWS)
    assert shown == ["INSERT a 1", "DELETE a 1", "INSERT a 1"]
    assert report.filtered == {
        "event-filters[0].ignore-event": 1,
        "event-filters[0].ignore-update-new-value-expr": 1,
        "ignore-txn-start-ts": 1,
    }
    assert report.to_dict()["filtered_rows"] == 3
    # the new architecture splits the update of the unique key first, and looks at the kinds of its halves
    assert run(filters, ROWS, release="next")[0] == ["INSERT a 1", "INSERT a 1"]


def test_ddl_that_is_kept_back_is_counted_in_the_batch_that_reaches_it() -> None:
    filters = {"rules": ["s.a"], "event-filters": [{"matcher": ["s.a"], "ignore-event": ["add column"]}]}
    given = [*ROWS[:1], ddl(2, "alter table a add column x int"), ddl(3, "alter table b add column x int")]
    shown, report = run(filters, [*given, row(4, "a", None, A | {"id": 2, "u": 2, "x": 7})])
    assert shown == ["INSERT a 1", "INSERT a 2"]
    assert report.filtered_ddl == {"event-filters[0].ignore-event": 1, "rules": 1}
    assert report.ddl_events == 0


@pytest.mark.filterwarnings("ignore::ticdc_emit.config.ConfigWarning")
def test_only_listed_columns_changed() -> None:
    filters = {"event-filters": [{"matcher": ["s.a"], "ignore-update-only-columns": ["N", "u"]}]}
    assert run(filters, ROWS, release="next")[0].count("UPDATE a 1") == 0
    assert run(filters, ROWS, strict=False)[0].count("UPDATE a 1") == 1


def test_an_unknown_column_is_refused_at_start_or_with_the_first_row() -> None:
    filters = {"event-filters": [{"matcher": ["s.a"], "ignore-insert-value-expr": "nope = 1"}]}
    with pytest.raises(ConfigError, match="nope"):
        run(filters, ROWS[2:3])
    assert run(filters, ROWS[2:3], release="next")[0] == ["UPDATE a 1"]
    with pytest.raises(Exception, match="ErrExpressionColumnNotFound"):
        run(filters, ROWS, release="next")


@pytest.mark.parametrize(
    ("expression", "bad"),
    [
        ("-(n - 4 - 9223372036854775807) = 0", {0, 3}),
        ("1 / n % replace('3', if(n = 7, '3', ''), '1e400') = 1", {7}),
        ("cast(concat(n, '0000000000000000000000') as signed) = 1", {3, 5, 7}),
        ("n + 9223372036854775800 = 0", set()),
        ("1 + 'x' = 0", {0, 3, 5, 7}),
    ],
)
def test_skipping_bad_rows_skips_those_at_which_an_expression_fails(expression: str, bad: set[int]) -> None:
    rows = [row(key, "a", None, {"id": key, "u": key, "n": key}) for key in (0, 3, 5, 7)]
    filters = {"event-filters": [{"matcher": ["s.a"], "ignore-insert-value-expr": expression}]}
    shown, report = run(filters, rows, bad_rows="skip")
    assert shown == [f"INSERT a {key}" for key in (0, 3, 5, 7) if key not in bad]
    assert report.skipped_rows == len(bad)


def test_a_typed_batch_of_a_table_that_is_left_out_sends_nothing() -> None:
    config = load_changefeed(URI, {"filter": {"rules": ["s.b"]}})
    image = pa.struct([("id", pa.int64()), ("u", pa.int64()), ("n", pa.int64())])
    table = pa.table({"op": ["c"], "commit_ts": [TS], "after": pa.array([A], image), "before": pa.nulls(1, image)})
    _, report = sent(config, SCHEMA, table, "s.a")
    assert (report.rows, report.filtered) == (0, {"rules": 1})
    encoder = Encoder(config, SCHEMA)
    assert encoder.encode(table, table="s.a").num_rows == 0
    assert encoder.filtered == {"rules": 1}


def test_rows_go_to_the_partition_of_the_name_that_they_show() -> None:
    uri = "memory://x?topic=t&protocol=canal-json&partition-num=1000"
    encoder = Encoder(uri, "create table test.a (id int primary key); create database `Other-DB`")
    encoder.ddl("rename table test.a to `other-db`.x", TS)  # shown in lower case until the table's next statement
    encoder.ddl("alter table `other-db`.x comment 'x'", TS + 10)
    for at, shown in ((TS + 5, "other-db"), (TS + 15, "Other-DB")):
        (message,) = encoder.encode([{"op": "c", "commit_ts": at, "after": {"id": 1}}], table="Other-DB.x").to_pylist()
        assert json.loads(message["value"])["database"] == shown
        assert message["partition"] == table_hash(shown, "x") % 1000
