"""What TiDB derives from a column definition: type, length, charset, flags."""

from __future__ import annotations

import pytest

from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import Column, mysql_type_name, sql_type, type_desc


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
