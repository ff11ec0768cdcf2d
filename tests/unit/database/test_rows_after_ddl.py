"""What rows older than a column have in it: the history's answer and the reference consumer's, one beside the other."""

from __future__ import annotations

import pytest

from ticdc_emit.database.rows_after_ddl import value_of_old_rows
from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.consumer_tables import value_in_old_rows
from ticdc_emit.schema.catalog import catalog_from_sql

YEARS = [
    ("year not null", "0"),
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
]


@pytest.mark.parametrize(("definition", "value"), YEARS)
def test_a_year_is_read_as_text(definition: str, value: str) -> None:
    column = catalog_from_sql(f"create table a.t (id int primary key, c {definition})").table("a", "t").column("c")
    assert (value_of_old_rows(column, "UTC"), value_in_old_rows(column, "UTC")) == (value, value)


@pytest.mark.parametrize(
    "definition",
    [
        *("int default '7'", "int default -1", "bigint unsigned default 18446744073709551615", "bit(8) default b'101'"),
        *("bit(8) default 5", "bit(8) default '5'", "decimal(5,2) default '1e1'", "decimal(5,2) default 1"),
        *("float default 1e10", "double default 0.1", "date default '2020-1-2'", "date default 20200102"),
        *("datetime(3) default '2020-01-02 01:02:03'", "timestamp(3) not null default '2020-01-02 01:02:03.5'"),
        *("time default '1:2:3'", "time(2) default '01:02:03'", "time not null", "enum('a','b') default 2"),
        *("set('a','b') default 'b,a'", "set('a') not null", "char(5) default 'a  '", "binary(3) default 'a'"),
        *("varbinary(5) default 'a'", "json", "json not null", "datetime default now()", "date default (current_date)"),
    ],
)
def test_both_say_the_same(definition: str) -> None:
    column = catalog_from_sql(f"create table a.t (id int primary key, c {definition})").table("a", "t").column("c")
    consumer = value_in_old_rows(column, "Asia/Tokyo")
    if consumer is None or isinstance(consumer, str):
        assert value_of_old_rows(column, "Asia/Tokyo") == consumer
    else:
        with pytest.raises(SchemaError, match="only TiDB knows"):
            value_of_old_rows(column, "Asia/Tokyo")
