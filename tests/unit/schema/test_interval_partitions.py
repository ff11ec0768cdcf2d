"""INTERVAL partitioning: the statements that TiDB runs in its place, and the partitions that they make."""

from __future__ import annotations

import pytest

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent

BY_TENS = "interval (10) first partition less than (10) last partition less than (30)"
IDS = f"create table p (id int primary key, v int) partition by range (id) {BY_TENS}"
MONTHS = (
    "create table p (d date) comment 'x' partition by range columns (d) interval (1 month) first partition less than "
    "('2024-01-31') last partition less than ('2024-04-30') maxvalue partition /* end */"
)
HOURS = (
    "create table p (d datetime(1)) partition by range columns (d) interval (12 hour) first partition less than "
    "('2024-01-01') last partition less than ('2024-01-01 12:00:00')"
)


def run(*queries: str, sql_mode: str = "") -> DdlEvent:
    catalog = Catalog(sql_mode=sql_mode)
    events = [event for query in queries for event in catalog.apply(query)]
    return events[-1]


def names(event: DdlEvent) -> list[str]:
    return [partition.name for partition in event.table_info.partitions]


def test_the_job_says_the_partitions() -> None:
    event = run(IDS)
    assert event.query == (
        "create table p (id int primary key, v int) partition by range (id) (PARTITION `P_LT_10` VALUES LESS THAN (10),"
        "\n PARTITION `P_LT_20` VALUES LESS THAN (20),\n PARTITION `P_LT_30` VALUES LESS THAN (30))"
    )
    assert event.given.restored(event).endswith("PARTITION `P_LT_30` VALUES LESS THAN (30))")
    assert names(event) == ["P_LT_10", "P_LT_20", "P_LT_30"]


def test_last_partition_adds_and_first_partition_drops() -> None:
    added = run(IDS, "alter table p last partition less than (50) no_write_to_binlog")
    assert (added.action, names(added)[-2:]) == ("add partition", ["P_LT_40", "P_LT_50"])
    assert added.query == (
        "alter table p ADD PARTITION (PARTITION `P_LT_40` VALUES LESS THAN (40),\n"
        " PARTITION `P_LT_50` VALUES LESS THAN (50))"
    )
    dropped = run(IDS, "alter table p last partition less than (50)", "alter table p first partition less than (30)")
    assert (dropped.action, names(dropped)) == ("drop partition", ["P_LT_30", "P_LT_40", "P_LT_50"])
    assert dropped.query == "alter table p DROP PARTITION `P_LT_10`, `P_LT_20`"


def test_months_end_on_the_last_day_that_they_have() -> None:
    event = run(MONTHS)
    bounds = ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"]
    assert names(event) == [*(f"P_LT_{day}" for day in bounds), "P_MAXVALUE"]
    assert event.query.endswith("PARTITION `P_MAXVALUE` VALUES LESS THAN (MAXVALUE)) /* end */")
    kept = run(MONTHS, "alter table p first partition less than ('2024-03-31')")
    assert names(kept) == ["P_LT_2024-03-31", "P_LT_2024-04-30", "P_MAXVALUE"]


def test_times_are_shown_as_the_column_has_them_and_names_in_the_quotes_of_the_mode() -> None:
    event = run(HOURS, "alter table p last partition less than ('2024-01-02')", sql_mode="ANSI_QUOTES")
    assert names(event)[-1] == "P_LT_2024-01-02 00:00:00.0"
    assert event.query.endswith("(PARTITION \"P_LT_2024-01-02 00:00:00.0\" VALUES LESS THAN ('2024-01-02 00:00:00.0'))")


def test_a_table_whose_partitions_were_written_out_takes_part() -> None:
    parts = ", ".join(f"partition p{number} values less than ({number * 5})" for number in range(1, 4))
    table = f"create table p (id int) partition by range (id) ({parts})"
    reorganised = "alter table p reorganize partition p1 into (partition a values less than (5))"
    event = run(table, reorganised, "alter table p last partition less than (25)")
    assert names(event) == ["a", "p2", "p3", "P_LT_20", "P_LT_25"]


@pytest.mark.parametrize(
    ("queries", "reason"),
    [
        (["{create} interval (10) last partition less than (30)"], "not understood"),
        (["{create} interval (10)"], "needs FIRST PARTITION and LAST PARTITION"),
        ([IDS + " null partition"], "NULL PARTITION is not understood"),
        (["{create} interval (0) first partition less than (0) last partition less than (9)"], "above 0"),
        (["{create} interval (4) first partition less than (0) last partition less than (9)"], "n intervals of 4"),
        (["{create} interval (4) first partition less than (9) last partition less than (1)"], "n intervals of 4"),
        (["{create} interval (1) first partition less than (0) last partition less than (9000)"], "8192 partitions"),
        (["{create} interval (1 day) first partition less than (0) last partition less than (9)"], "no time unit"),
        (["{create} interval (1) first partition less than (a) last partition less than (9)"], "not an integer"),
        ([HOURS.replace("12 hour", "720 minute")], "does not allow MINUTE"),
        ([HOURS.replace("12 hour", "12")], "need a time unit"),
        ([HOURS.replace("2024-01-01'", "noon'")], "is not a date"),
        ([IDS + " (partition p values less than (1))"], "together with definitions"),
        ([IDS, "alter table p last partition less than (45)"], "n intervals of 10"),
        ([IDS, "alter table p last partition less than (30)"], "the last partition already"),
        ([IDS, "alter table p first partition less than (30)"], "no partition can be dropped"),
        ([IDS, "alter table p first partition less than (10)"], "no partition can be dropped"),
        ([IDS, "alter table p drop partition P_LT_20, P_LT_10", "alter table p last partition less than (40)"], "look"),
        ([MONTHS, "alter table p last partition less than ('2024-05-31')"], "MAXVALUE partition exists"),
        ([IDS, "alter table p merge first partition less than (20)"], "does not run MERGE FIRST PARTITION"),
        ([IDS, "alter table p split maxvalue partition less than (20)"], "does not run SPLIT MAXVALUE PARTITION"),
        (["create table p (id int)", "alter table p first partition less than (20)"], "not partitioned"),
    ],
)
def test_what_tidb_refuses_is_refused_at_its_place(queries: list[str], reason: str) -> None:
    create = "create table p (id int) partition by range (id)"
    with pytest.raises(DdlError, match=reason) as refused:
        run(*(query.format(create=create) for query in queries))
    assert refused.value.position > 0
    assert refused.value.remedy
