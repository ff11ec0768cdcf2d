"""Defaults as TiDB stores them."""

from __future__ import annotations

import pytest

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.catalog import Catalog


def stored(definition: str, time_zone: str = "UTC") -> str | bytes | None:
    catalog = Catalog(time_zone=time_zone)
    catalog.apply(f"create table t (c {definition})")
    return catalog.table("test", "t").column("c").default


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("int default -1.5", "-2"),
        ("int default 2.5e0", "2"),
        ("int default (7)", "7"),
        ("float(5,2) default 3.14159", "3.14"),
        ("decimal(10,3) default 1.50", "1.50"),
        ("decimal(10,3) default 1e2", "100"),
        ("decimal(38,30) default -99999999.999999999999999999999999999999", "-99999999.999999999999999999999999999999"),
        ("char(3) default 5", "5"),
        ("varchar(9) default 'a' 'b'", "ab"),
        ("varchar(9) default _utf8mb4'é'", "é"),
        ("varchar(9) default N'n'", "n"),
        ('varchar(20) default "a""b\'\\"c\\n\\%"', 'a"b\'"c\n\\%'),
        ("varchar(9) charset gbk default 0xd6d0", "中"),
        ("binary(3) default 0xff00", "\ufffd\0\0"),
        ("varbinary(4) default x'e4b8'", "\ufffd\ufffd"),
        ("bit(8) default 'a'", b"a"),
        ("enum('x','Y') default 2", "Y"),
        ("enum('x','Y') collate utf8mb4_general_ci default 'y '", "Y"),
        ("set('b','a') default 'a,b'", "b,a"),
        ("set('b','a') default 3", "b,a"),
        ("set('b','a') default ''", ""),
        ("date default 20200229", "2020-02-29"),
        ("date default '99-1-2'", "1999-01-02"),
        ("date default '2020-01-02 23:59:59.9999999'", "2020-01-03"),
        ("datetime default '2020-1-2 3:4:5.5'", "2020-01-02 03:04:06"),
        ("datetime(3) default '2020-12-31 23:59:59.9996'", "2021-01-01 00:00:00.000"),
        ("datetime(6) default '20200102030405.123456'", "2020-01-02 03:04:05.123456"),
        ("datetime default '2020-00-00'", "2020-00-00 00:00:00"),
        ("datetime default 70101", "2007-01-01 00:00:00"),
        ("timestamp default 700102030405", "1970-01-02 03:04:05"),
        ("time(2) default '1:2:3.456'", "01:02:03.46"),
        ("time default '1 2:3'", "26:03:00"),
        ("time(6) default '-838:59:59'", "-838:59:59.000000"),
        ("time default '2020-01-01 01:00:00'", "01:00:00"),
        ("timestamp default '0000-00-00 00:00:00'", "0000-00-00 00:00:00"),
        ("datetime default localtime()", "CURRENT_TIMESTAMP"),
        ("date default (curdate())", "CURRENT_DATE"),
        ("json default (json_array(1, 'x', -2))", "json_array(1, _utf8mb4'x', -2)"),
    ],
)
def test_stored_text(definition: str, expected: str | bytes | None) -> None:
    assert stored(definition) == expected


def test_timestamps_are_kept_in_utc() -> None:
    definition = "timestamp(3) default '2020-01-01 00:00:00.5'"
    assert stored(definition, "Asia/Shanghai") == "2019-12-31 16:00:00.500"
    assert stored(definition, "+02:00") == "2019-12-31 22:00:00.500"
    assert stored("timestamp default '2020-11-01 01:30:00'", "America/New_York") == "2020-11-01 05:30:00"
    assert stored("datetime default '2020-01-01 00:00:00'", "Asia/Shanghai") == "2020-01-01 00:00:00"


@pytest.mark.parametrize(
    "definition",
    [
        "tinyint default 128",
        "int unsigned default -1",
        "int default 'x'",
        "decimal(3,1) default 100",
        "float(3,1) default 100",
        "year default 1800",
        "char(2) default 'abc'",
        "binary(2) default 'é1'",
        "bit(2) default 4",
        "enum('a') default 'b'",
        "set('a') default 'a,b'",
        "date default '2021-02-29'",
        "time default '839:00:00'",
        "time default '00:60:00'",
        "timestamp default '1969-12-31 23:59:59'",
        "timestamp default '2038-01-19 03:14:08'",
        "datetime(3) default now()",
        "date default now()",
        "text default 'x'",
        "json default '{}'",
        "vector(2) default '[1,2]'",
        "int not null default null",
        "int default (sleep(1))",
        "int default (other)",
        "int as (1) default 2",
    ],
)
def test_a_default_that_does_not_fit_is_refused(definition: str) -> None:
    with pytest.raises(DdlError) as caught:
        stored(definition)
    assert "default" in str(caught.value) or "DEFAULT" in str(caught.value)
    assert caught.value.statement.startswith("create table t")


def test_a_time_in_a_daylight_saving_gap_is_refused() -> None:
    with pytest.raises(DdlError, match="daylight-saving gap"):
        stored("timestamp default '2020-03-08 02:30:00'", "America/New_York")


@pytest.mark.parametrize(
    ("definition", "of_job", "given"),
    [
        ("varchar(9) charset gbk default 0x0ae4b8ad", "\n中", None),
        ("varchar(9) charset gbk default x'0ae4b8ad'", "\n中", None),
        ("varchar(9) charset gbk default 0x0ad6d0", "\n中", "\n中"),  # is not UTF-8
        ("varchar(9) charset gbk default 0xd6d0", "中", "中"),  # has no control character
        ("varchar(9) default 0xc3a9c280", "é\x80", "é\x80"),
        ("varbinary(9) default 0x01c3a9", "\x01é", "\x01é"),
        ("enum('\n中') charset gbk default 0x0ae4b8ad", "\n中", None),
        ("enum(0x0ae4b8ad) charset gbk default 0x0ae4b8ad", "\n中", None),
        ("set(0x0ae4b8ad, 'b') charset gbk default 'b'", "b", "b"),
        ("int default 0x310a", "1", "12554"),
        ("int default 0x0a", "10", "10"),
        ("int default 0x0141", "321", "321"),
        ("double default 0x0931", "1", "2353"),
        ("bit(16) default 0x0141", b"\x01A", b"\x01A"),
        ("int comment 0x780a79 default 1", "1", None),
        ("int comment 0x7879 default 1", None, None),
    ],
)
def test_a_text_with_a_control_character_is_a_hex_literal_in_the_text_of_a_job(
    definition: str, of_job: str | bytes | None, given: str | bytes | None
) -> None:
    """``convertBinaryStringLiterals`` of pkg/parser/ast writes a string literal so that does not print."""
    for expected, wrote_job in ((of_job, True), (given, False)):
        catalog = Catalog()
        try:
            catalog.apply(f"create table t (c {definition})", of_job=wrote_job)
        except DdlError:
            assert expected is None
        else:
            column = catalog.table("test", "t").column("c")
            assert column.default == expected
            assert column.comment in ("", "x\ny")
