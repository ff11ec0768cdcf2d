"""Rows that were there before a DDL: what a new column holds in them, and what becomes of a changed one."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit.protocols.consumer_tables import Carrier
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.schema.catalog import catalog_from_sql

_MISSING = object()


def _carried(column: str, statement: str, value: str | None, zone: str = "Asia/Shanghai") -> dict[str, str | None]:
    catalog = catalog_from_sql(f"create table test.t (id int primary key, a {column})", time_zone=zone)
    before = catalog.table("test", "t")
    catalog.apply(f"alter table test.t {statement}")
    return Carrier(before, catalog.table("test", "t"), zone).row({"id": "1", "a": value})


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("int", None),
        ("int default 5", "5"),
        ("bigint unsigned not null", "0"),
        ("float default 0.1", "0.1"),
        ("double not null", "0"),
        ("decimal(6,3) default 1.5", "1.500"),
        ("decimal(6,3) not null", "0.000"),
        ("bit(10) default b'101'", "5"),
        ("bit(10) not null", "0"),
        ("year default 24", "2024"),
        ("year default 1999", "1999"),
        ("year not null", "0"),
        # TiDB stores the default of a YEAR as text
        ("year not null default 0", "2000"),
        ("year default '0'", "2000"),
        ("year default '00'", "2000"),
        ("year default '000'", "2000"),
        ("year default '0000'", "0"),
        ("year default '00000'", "2000"),
        ("year default 5", "2005"),
        ("year default '69'", "2069"),
        ("year default 70", "1970"),
        ("year default '0099'", "1999"),
        ("year default 2155", "2155"),
        ("date default '2024-05-05'", "2024-05-05"),
        ("date default '2020-1-1'", "2020-01-01"),
        ("date not null", "0000-00-00"),
        ("datetime(3) default '2024-05-05 12:00:00.5'", "2024-05-05 12:00:00.500"),
        ("datetime(3) not null", "0000-00-00 00:00:00.000"),
        ("timestamp(2) null default '2024-05-05 12:00:00'", "2024-05-05 12:00:00.00"),
        ("timestamp default current_timestamp", _MISSING),
        ("time(1) default '-12:00:00'", "-12:00:00.0"),
        ("timestamp not null default '0000-00-00 00:00:00'", "0000-00-00 00:00:00"),
        ("time(1) not null", "00:00:00.0"),
        ("time default '-1:2:3'", "-01:02:03"),
        ("varchar(9) default 'a\\'b'", "a'b"),
        ("text not null", ""),
        ("binary(4) default 'ab'", "YWIAAA=="),
        ("binary(2) not null", "AAA="),
        ("varbinary(4) not null", ""),
        ("varbinary(4) default x'ff'", _MISSING),
        ("enum('x','y') default 'y'", "y"),
        ("enum('x','y') not null", "x"),
        ("set('x','y') default 'x,y'", "x,y"),
        ("set('b','a') default 'a,b'", "b,a"),
        ("set('x','y') not null", ""),
        ("json not null", "null"),
    ],
)
def test_new_columns(definition: str, expected: Any) -> None:
    row = _carried("int", f"add column b {definition}", "7")
    assert row.get("b", _MISSING) == expected
    assert row["a"] == "7"


@pytest.mark.parametrize(
    ("old", "statement", "value", "expected"),
    [
        ("int", "rename column a to b", "7", {"b": "7"}),
        ("int", "change column a b bigint", "7", {"b": "7"}),
        ("int", "drop column a", "7", {}),
        ("int", "modify a bigint", "7", {"a": "7"}),
        ("int", "modify a int unsigned", "5", {"a": "5"}),
        ("int", "modify a varchar(20)", "7", {"a": "7"}),
        ("int", "modify a decimal(6,2)", "7", {"a": "7.00"}),
        ("int", "modify a datetime", "7", {}),
        ("int", "modify a datetime", None, {"a": None}),
        ("varchar(20)", "modify a varchar(5)", "abc", {"a": "abc"}),
        ("varchar(20)", "modify a char(5)", "ab  ", {"a": "ab"}),
        ("binary(1)", "modify a binary(3)", "YQ==", {"a": "YQAA"}),
        ("varchar(20)", "modify a varbinary(20)", "abc", {"a": "YWJj"}),
        ("varbinary(20)", "modify a varchar(20)", "YWJj", {}),
        ("varbinary(4)", "modify a blob", "eHg=", {"a": "eHg="}),
        ("time(1)", "modify a time(2)", "-00:00:00.5", {"a": "-00:00:00.50"}),
        ("decimal(6,2)", "modify a decimal(8,3)", "1.50", {"a": "1.500"}),
        ("decimal(6,2)", "modify a decimal(8,1)", "1.50", {}),
        # 99...9.99, rounded to the nearest double
        ("decimal(65,30)", "comment = 'rows stay'", f"-1{'0' * 35}.{'0' * 30}", {"a": f"-1{'0' * 35}.{'0' * 30}"}),
        ("datetime", "modify a datetime(2)", "2024-05-05 12:00:00", {"a": "2024-05-05 12:00:00.00"}),
        ("datetime(2)", "modify a datetime", "2024-05-05 12:00:00.99", {}),
        ("float", "modify a double", "0.1", {"a": "0.10000000149011612"}),
        ("enum('x','y')", "modify a enum('x','y','z')", "y", {"a": "y"}),
        ("enum('x','y')", "modify a enum('y','x')", "y", {}),
    ],
)
def test_changed_columns(old: str, statement: str, value: str | None, expected: dict[str, str]) -> None:
    row = _carried(old, statement, value)
    assert row.pop("id") == "1"
    assert row == expected


def test_columns_are_in_table_order() -> None:
    catalog = catalog_from_sql("create table test.t (id int primary key, a int, b int)")
    before = catalog.table("test", "t")
    catalog.apply(
        "alter table test.t add column c int default 1 after id, add column d int, modify column a int after b"
    )
    row = Carrier(before, catalog.table("test", "t"), "UTC").row({"b": "3", "id": "1", "a": "2"})
    assert list(row.items()) == [("id", "1"), ("c", "1"), ("b", "3"), ("a", "2"), ("d", None)]


def test_text_that_is_no_value_of_its_column() -> None:
    with pytest.raises(DecodeError, match=r"'18o6\.87' is not a value of the column") as caught:
        _carried("decimal(6,2)", "modify a decimal(8,3)", "18o6.87")
    assert (caught.value.table, caught.value.field) == ("test.t", "a")


def test_a_part_of_a_row_gets_no_defaults() -> None:
    catalog = catalog_from_sql("create table test.t (id int primary key, a int)")
    before = catalog.table("test", "t")
    catalog.apply("alter table test.t add column b int default 1, rename column a to c")
    carrier = Carrier(before, catalog.table("test", "t"), "UTC")
    assert carrier.part({"a": "1"}) == {"c": "1"}
    assert carrier.row({"a": "1"}) == {"c": "1", "b": "1"}
