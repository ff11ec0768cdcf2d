"""Any expression of an expression index has a type or is refused, whatever its tokens and the types of its columns."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import type_desc

TABLE = """
    create table t (
        a int not null, b bigint unsigned, f float, d decimal(6,3), c char(3) charset latin1, s varchar(20), t text,
        bl varbinary(9), j json, g varchar(5) collate utf8mb4_general_ci, e enum('x','y'), st set('a','b'),
        dt datetime(2), tm time(3), da date, ts timestamp null, ye year, bt bit(10)
    )
"""
WORDS = """
    a b f d c s t bl j g e st dt tm da ts ye bt 1 0 2.5 1e3 'x' '2020-01-01' x'ff' b'1' null true + - * / % div mod
    & | ^ << >> ~ ! = <=> <> < > <= >= and or xor not is in like regexp between case when then else end if( ifnull(
    coalesce( nullif( greatest( concat( lower( substr( cast( convert( as signed char(3) binary date array
    decimal(5,2) datetime(3) collate utf8mb4_bin using interval day date_add( extract( from trim( abs( round( , ( )
    ) ) -> ->> '$.a' json_length( hex( unhex( lpad( any_value( isnull( . /* */ ` ' " @ ? ; \\ 0x 0b é
"""
OPERANDS = "a b f d c s t bl j g e st dt tm da ts ye bt 1 2.5 1e3 'x' x'ff' null date'2020-01-01' 12345678901234567890"
CALLS = """
    {} + {}; {} / {}; {} % {}; {} * {}; {} div {}; {} = {}; {} < {}; {} & {}; {} and {}; - {}; not {}; {} is null; ~ {};
    {} is not true; {} in ({}, {}); {} in ({}); {} between {} and {}; {} like {}; {} regexp {}; lower({}); reverse({});
    md5({}); json_length({}); json_quote({}); json_extract({}, {}); json_object({}, {}); {} collate utf8mb4_bin;
    cast({} as char); cast({} as char(3)); cast({} as binary(4)); cast({} as signed); cast({} as decimal(9,2));
    cast({} as datetime(3)); cast({} as json); cast({} as signed array); concat({}, {}); tidb_shard({})
"""
CATALOG = Catalog()
CATALOG.apply(TABLE)


def nested(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operands = children.map(lambda child: f"({child})")
    calls = st.sampled_from([call.strip() for call in CALLS.split(";")])
    return calls.flatmap(lambda call: st.tuples(*[operands] * call.count("{}")).map(lambda parts: call.format(*parts)))


def check(expression: str) -> None:
    name = "k"
    try:
        CATALOG.apply(f"alter table t add key {name} (({expression}\n))")
    except DdlError:
        return
    column = CATALOG.table("test", "t").column(f"_V$_{name}_0")
    assert column.flen >= -1
    assert column.collate
    assert type_desc(column)
    CATALOG.apply(f"alter table t drop key {name}")


@settings(max_examples=examples(600))
@given(st.lists(st.sampled_from(WORDS.split()), max_size=12))
def test_any_words(words: list[str]) -> None:
    check(" ".join(words))


@settings(max_examples=examples(600))
@given(st.recursive(st.sampled_from(OPERANDS.split()), nested, max_leaves=6))
def test_any_calls(expression: str) -> None:
    check(expression)
