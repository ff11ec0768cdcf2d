"""What TiDB derives from a column definition: type, length, charset, flags."""

from __future__ import annotations

import pytest

from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import Column, mysql_type_name, sql_type, type_desc
from ticdc_emit.sql.types import ColumnFlag


def column(definition: str, options: str = "") -> Column:
    catalog = Catalog()
    catalog.apply(f"create table t (pk int, c {definition}, key (pk)) {options}")
    return catalog.table("test", "t").column("c")


@pytest.mark.parametrize(
    ("definition", "desc"),
    [
        ("int1", "tinyint(4)"),
        ("int2 unsigned", "smallint(5) unsigned"),
        ("middleint", "mediumint(9)"),
        ("int4 zerofill", "int(10) unsigned zerofill"),
        ("int8 unsigned", "bigint(20) unsigned"),
        ("integer(3) signed", "int(3)"),
        ("bool unsigned", "tinyint(1) unsigned"),
        ("dec", "decimal(10,0)"),
        ("numeric(0)", "decimal(10,0)"),
        ("fixed(65,30)", "decimal(65,30)"),
        ("float(24)", "float"),
        ("float(25)", "double"),
        ("float(10,0)", "float"),
        ("float4 unsigned", "float unsigned"),
        ("real", "double"),
        ("double precision(255,30)", "double(255,30)"),
        ("bit", "bit(1)"),
        ("char", "char(1)"),
        ("national character varying(5)", "varchar(5)"),
        ("nchar varchar(5)", "varchar(5)"),
        ("nvarchar(5)", "varchar(5)"),
        ("long", "mediumtext"),
        ("long varchar", "mediumtext"),
        ("long varbinary", "mediumblob"),
        ("binary", "binary(1)"),
        ("char(3) charset binary", "binary(3)"),
        ("text(63)", "tinytext"),
        ("text(64)", "text"),
        ("text(16384)", "mediumtext"),
        ("blob(255)", "tinyblob"),
        ("blob(16777216)", "longblob"),
        ("text byte", "blob"),
        ("varchar(16383)", "varchar(16383)"),
        ("varchar(16384)", "mediumtext"),
        ("varbinary(65536)", "mediumblob"),
        ("datetime(0)", "datetime"),
        ("timestamp(6)", "timestamp(6)"),
        ("time(3)", "time(3)"),
        ("year(4)", "year(4)"),
        ("vector", "vector"),
        ("vector<float>(4)", "vector(4)"),
        ("enum('a ', 'b''c', \"d\\\\\")", "enum('a','b''c','d\\')"),
        ("set(x'61', b'01100010')", "set('a','b')"),
    ],
)
def test_type_desc(definition: str, desc: str) -> None:
    assert type_desc(column(definition)) == desc


def test_lengths_of_labels_are_bytes() -> None:
    assert column("enum('中', 'ab')").flen == 3
    assert column("set('中', 'ab')").flen == 3 + 2 + 1


def test_names_with_and_without_length_and_sign() -> None:
    made = column("decimal(8,3) unsigned zerofill")
    assert (sql_type(made), mysql_type_name(made)) == ("decimal(8,3)", "decimal unsigned zerofill")
    assert mysql_type_name(column("year")) == "year"
    assert mysql_type_name(column("bit(8)")) == "bit"
    assert mysql_type_name(column("tinytext charset binary")) == "tinyblob"


@pytest.mark.parametrize(
    ("definition", "options", "expected"),
    [
        ("varchar(5)", "", ("utf8mb4", "utf8mb4_bin")),
        ("varchar(5)", "charset latin1", ("latin1", "latin1_bin")),
        ("varchar(5)", "collate gbk_bin", ("gbk", "gbk_bin")),
        ("varchar(5) charset gbk", "charset latin1", ("gbk", "gbk_chinese_ci")),
        ("varchar(5) charset gb18030", "", ("gb18030", "gb18030_chinese_ci")),
        ("varchar(5) collate utf8_general_ci", "charset latin1", ("utf8", "utf8_general_ci")),
        ("varchar(5) charset utf8mb3", "", ("utf8", "utf8_bin")),
        ("varchar(5) binary", "collate utf8mb4_general_ci", ("utf8mb4", "utf8mb4_bin")),
        ("enum('a')", "charset = ascii", ("ascii", "ascii_bin")),
        ("int", "charset latin1", ("binary", "binary")),
        ("json", "charset latin1", ("binary", "binary")),
        ("text charset utf8mb4 collate utf8mb4_0900_ai_ci", "", ("utf8mb4", "utf8mb4_0900_ai_ci")),
    ],
)
def test_charset_comes_from_column_then_table(definition: str, options: str, expected: tuple[str, str]) -> None:
    made = column(definition, options)
    assert (made.charset, made.collate) == expected


def test_charset_comes_from_the_database_at_last() -> None:
    catalog = Catalog()
    catalog.apply("create database d charset gbk")
    catalog.apply("create table d.a (c char(3))")
    catalog.apply("alter database d collate utf8mb4_general_ci")
    catalog.apply("create table d.b (c char(3))")
    assert catalog.table("d", "a").collate == "gbk_chinese_ci"
    assert catalog.table("d", "b").column("c").collate == "utf8mb4_general_ci"


@pytest.mark.parametrize(
    ("definition", "flags"),
    [
        ("int not null", ColumnFlag.NOT_NULL),
        ("int not null null", ColumnFlag.NONE),
        ("serial", ColumnFlag.UNSIGNED | ColumnFlag.NOT_NULL | ColumnFlag.AUTO_INCREMENT),
        ("year", ColumnFlag.UNSIGNED | ColumnFlag.ZEROFILL),
        ("bit(3)", ColumnFlag.UNSIGNED),
        ("int zerofill", ColumnFlag.UNSIGNED | ColumnFlag.ZEROFILL),
        ("datetime(2) on update now(2)", ColumnFlag.ON_UPDATE_NOW),
        ("int primary key", ColumnFlag.PRIMARY_KEY | ColumnFlag.NOT_NULL),
    ],
)
def test_flags(definition: str, flags: ColumnFlag) -> None:
    assert column(definition).flags == flags
