"""The value of a row decides its partition, also after DDL; TiDB's error for a value without one."""

from __future__ import annotations

import pytest
from sql_sessions import error_number, session_of

from ticdc_emit.database.session import Session
from ticdc_emit.errors import SchemaError, StatementError, UnsupportedStatementError

BY_RANGE = "range (a) (partition p0 values less than (0), partition p1 values less than (2 * 5))"
BY_COLUMNS = """range columns (a, b) (partition p0 values less than (1, 'm'),
partition p1 values less than (3, maxvalue), partition p2 values less than (5, 'B'))"""
BY_DAYS = """range (to_days(d)) (partition p0 values less than (to_days('2024-01-01')),
partition p1 values less than (739300))"""
BY_DATE = "range columns (d) (partition p0 values less than ('2024-2-1'), partition p1 values less than ('20240301'))"
BY_TIME = """range columns (t) interval (1 month) first partition less than ('2024-01-01')
last partition less than ('2024-02-01')"""
BY_LIST = "list (a) (partition p0 values in (1, null, -3), partition p1 values in (4, 5))"
BY_TEXTS = "list columns (b) (partition p0 values in ('x', 'y'), partition p1 values in ('Z', ''))"
BY_PAIRS = "list columns (a, b) (partition p0 values in ((1, 'x'), (2, 'y')), partition p1 default)"
BY_CI = "list columns (c) (partition p0 values in ('x'), partition p1 values in ('y'))"
COLUMNS = "a bigint, b varchar(5), c varchar(5) collate utf8mb4_general_ci, d date, t datetime"


def session(by: str) -> Session:
    on = session_of()
    on.execute(f"create table t ({COLUMNS}) partition by {by}")
    return on


def insert(values: str) -> str:
    return f"insert into t ({', '.join('abcd'[: values.count(',') + 1])}) values ({values})"


def left(on: Session, table: str = "t") -> list[str | None]:
    """Column a of the rows of a table."""
    return [row["a"] for row in on.database.tables["test", table].values()]


@pytest.mark.parametrize(
    ("by", "values", "in_first", "without"),
    [
        (BY_RANGE, ["-1", "null", "0", "9"], 2, "10"),
        (BY_COLUMNS, ["0, 'z'", "1, 'l'", "1, 'm'", "3, 'zz'", "4, ''", "null, 'a'", "5, 'A'"], 3, "5, 'a'"),
        (BY_DAYS, ["1, '', '', '2023-12-31'", "2, '', '', null", "3, '', '', '2024-01-01'"], 2, ""),
        (
            BY_DATE,
            ["1, '', '', '2024-01-31'", "2, '', '', null", "3, '', '', '2024-02-29'"],
            2,
            "4, '', '', '2024-03-01'",
        ),
        (BY_LIST, ["1", "null", "-3", "4", "5"], 3, "6"),
        (BY_TEXTS, ["1, 'x'", "2, 'y'", "3, 'Z'", "4, ''"], 2, "5, 'X'"),
        (BY_PAIRS, ["1, 'x'", "2, 'y'", "1, 'y'", "null, null"], 2, ""),
        (BY_CI, ["1, '', 'x'", "2, '', 'X'", "3, '', 'Y'"], 2, "4, '', 'z'"),
        ("hash (a) partitions 3", ["-3", "0", "6", "null", "9223372036854775806", "1", "-2", "5"], 5, ""),
        ("hash (year(d)) partitions 2", ["1, '', '', '2024-01-31'", "2, '', '', '2023-01-31'"], 1, ""),
    ],
)
@pytest.mark.parametrize("change", ["drop", "truncate"])
def test_rows_of_a_partition_go_with_it(by: str, values: list[str], in_first: int, without: str, change: str) -> None:
    on = session(by)
    for value in values:
        on.execute(insert(value))
    if without:
        assert error_number(on, insert(without)) == 1526
    assert len(left(on)) == len(values)
    (result,) = on.execute(f"alter table t {'truncate' if by.startswith('hash') else change} partition p0")
    assert [type(each).__name__ for each in result.committed] == ["AppliedDdl"], "no row is sent"
    assert len(left(on)) == len(values) - in_first


@pytest.mark.parametrize(
    ("by", "ddl", "number"),
    [
        (BY_RANGE, "add partition (partition p2 values less than (20))", None),
        (BY_RANGE, "add partition (partition p2 values less than maxvalue)", None),
        (BY_LIST, "add partition (partition p2 values in (12))", None),
        (BY_LIST, "add partition (partition p2 default)", None),
        (BY_LIST, "reorganize partition p1 into (partition p1 values in (4, 5, 12))", None),
        (BY_LIST, "reorganize partition p1 into (partition p1 values in (4))", 1526),
        (BY_LIST, "partition by range (a) (partition p values less than (3))", 1526),
        (BY_LIST, "partition by hash (a) partitions 3", None),
        (BY_LIST, "remove partitioning", None),
    ],
)
def test_ddl_decides_which_values_have_a_partition(by: str, ddl: str, number: int | None) -> None:
    on = session(by)
    on.execute("insert into t (a) values (5)")
    if number is not None:
        assert error_number(on, f"alter table t {ddl}") == number
    else:
        on.execute(f"alter table t {ddl}; insert into t (a) values (12)")
    assert left(on) == ["5"] + ["12"] * (number is None)


def test_interval_partitions() -> None:
    on = session(BY_TIME)
    on.execute("insert into t (t) values ('2023-05-05'), ('2024-01-31 23:59:59')")
    with pytest.raises(StatementError):
        on.execute("insert into t (t) values ('2024-02-01')")


def test_an_update_stays_in_its_partition() -> None:
    on = session(BY_RANGE)
    on.execute("insert into t (a) values (5)")
    on.execute("update t set a = 6")
    with pytest.raises(UnsupportedStatementError, match="another partition"):
        on.execute("update t set a = -6")
    assert error_number(on, "update t set a = 60") == 1526
    assert left(on) == ["6"]


def test_exchange_moves_the_rows_of_one_partition() -> None:
    on = session(BY_RANGE)
    on.execute(f"create table other ({COLUMNS}); insert into t (a) values (-5), (5); insert into other (a) values (-7)")
    on.execute("alter table t exchange partition p0 with table other")
    assert (left(on), left(on, "other")) == (["5", "-7"], ["-5"])
    assert error_number(on, "alter table t exchange partition p1 with table other") == 1737
    assert (left(on), left(on, "other")) == (["5", "-7"], ["-5"])


def test_what_is_not_known_is_refused() -> None:
    on = session("key (a) partitions 2")
    on.execute("insert into t (a) values (1)")
    with pytest.raises(SchemaError, match="which rows are in a partition"):
        on.execute("alter table t truncate partition p0")
    on = session("range (floor(a / 2)) (partition p values less than (2))")
    with pytest.raises(UnsupportedStatementError):
        on.execute("insert into t (a) values (1)")


def test_ignore_leaves_out_rows_without_a_partition_and_an_upsert_moves_none() -> None:
    on = session_of()
    on.execute(f"create table t (a bigint primary key, b bigint) partition by {BY_RANGE}")
    on.execute("insert ignore into t values (1, 1), (30, 1), (9, 1), (40, 1), (1, 2)")
    assert left(on) == ["1", "9"]
    with pytest.raises(UnsupportedStatementError, match="moves a row to another partition"):
        on.execute("insert into t values (1, 1) on duplicate key update a = -1")
    assert error_number(on, "insert into t values (50, 1) on duplicate key update b = 2") == 1526
