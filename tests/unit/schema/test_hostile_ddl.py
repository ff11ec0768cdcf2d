"""DDL made to cost time or memory, or to be misread: each statement is refused or applied, and soon."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis_profiles import sample

from ticdc_emit.errors import DdlError, SchemaError
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.sql.script import parse_ddl, restored_statements, split_statements

pytestmark = pytest.mark.timeout(20)

HUGE = (8193, 10**8, 2**63 - 1, 2**64 - 1)
HASHED = "create table h (id int primary key) partition by hash(id) partitions 3"


def applied(*queries: str) -> Catalog:
    catalog = Catalog()
    for query in queries:
        catalog.apply(query)
    return catalog


# -- partitions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", HUGE)
@pytest.mark.parametrize("by", ["hash(id)", "key(id)", "linear hash(id)", "key()"])
def test_too_many_partitions_are_refused_before_they_are_named(count: int, by: str) -> None:
    clause = f"partition by {by} partitions {count}"
    with pytest.raises(DdlError, match="more than 8192 partitions"):
        applied(f"create table t (id int primary key) {clause}")
    with pytest.raises(DdlError, match="more than 8192 partitions"):
        applied(HASHED, f"alter table h {clause}")


@pytest.mark.parametrize("count", [8190, *HUGE])
def test_too_many_added_partitions_are_refused_before_they_are_named(count: int) -> None:
    with pytest.raises(DdlError, match="more than 8192 partitions"):
        applied(HASHED, f"alter table h add partition partitions {count}")


def test_the_most_partitions() -> None:
    catalog = applied(HASHED, "alter table h add partition partitions 8189")
    assert len(catalog.table("test", "h").partitions) == 8192
    assert len(applied("create table h (id int) partition by hash(id) partitions 8192").tables()[0].partitions) == 8192
    with pytest.raises(DdlError, match="more than 8192 partitions"):
        catalog.apply("alter table h add partition (partition x)")


def test_too_many_partitions_by_reorganisation() -> None:
    ranges = joined("partition p{0} values less than ({0})", 8192)
    catalog = applied(f"create table r (id int) partition by range (id) ({ranges})")
    with pytest.raises(DdlError, match="more than 8192 partitions"):
        catalog.apply("alter table r add partition (partition x values less than maxvalue)")
    with pytest.raises(DdlError, match="more than 8192 partitions"):
        catalog.apply(
            "alter table r reorganize partition p8191 into "
            "(partition x values less than (8191), partition y values less than (8192))"
        )


@pytest.mark.parametrize(
    "query",
    [
        "create table t (id int) partition by hash(id) partitions 0",
        "alter table h partition by key(id) partitions 0",
        "alter table h add partition partitions 0",
        "alter table h coalesce partition 0",
    ],
)
def test_no_partitions(query: str) -> None:
    with pytest.raises(DdlError, match="partitions"):
        applied(HASHED, query)


def joined(template: str, count: int) -> str:
    return ", ".join(template.format(number) for number in range(count))


# -- lists -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        f"create table t (a int, {joined('key (a)', 5_000)})",
        f"create table t (a int, {joined('key k{} (a)', 513)})",
        f"create table t (a int, key ({joined('(a + {})', 5_000)}))",
        f"alter table h {joined('add index (id)', 5_000)}",
        f"create table t (a int, key (a), {joined('foreign key (a) references h (id)', 5_000)})",
        f"alter table h {joined('add unique k{} (id)', 513)}",
        f"alter table h {joined('add column c{} int', 5_000)}",
        f"alter table h add column ({joined('c{} int', 1017)})",
    ],
    ids=lambda query: query[:40],
)
def test_more_of_it_than_a_table_has(query: str) -> None:
    with pytest.raises(DdlError, match="at most"):
        applied(HASHED, query)


def test_the_most_indexes_and_columns() -> None:
    catalog = applied(f"create table t (a int, {joined('key (a)', 511)})", "alter table t add key (a)")
    assert len(catalog.table("test", "t").indexes) == 512
    catalog = applied("create table t (a int)", f"alter table t add column ({joined('c{} int', 1016)})")
    assert len(catalog.table("test", "t").columns) == 1017


def test_long_lists_of_partitions() -> None:
    ranges = joined("partition p{0} values less than ({0})", 8192)
    names = joined("P{}", 8191)
    for change, left in (
        (f"truncate partition {names}", 8192),
        (f"reorganize partition {names} into (partition x values less than (8191))", 2),
        (f"drop partition {names}", 1),
    ):
        catalog = applied(f"create table r (id int) partition by range (id) ({ranges})", f"alter table r {change}")
        assert len(catalog.table("test", "r").partitions) == left


# -- constants -------------------------------------------------------------------------------------------------------

EXPONENTS = ("1e99999999", "-1e9999999", "1e999999999999", "1e999999999999999999", "1e-99999999", "1e-999999999999")
NUMBERS = ("tinyint", "bigint", "bigint unsigned", "decimal(65,30)", "decimal(10,0)", "float", "double", "float(9,2)")
OTHERS = ("year", "date", "datetime(6)", "timestamp", "time(3)", "bit(64)", "enum('a')", "set('a')")


@pytest.mark.parametrize("kind", NUMBERS + OTHERS)
@pytest.mark.parametrize("number", EXPONENTS)
def test_exponents_cost_nothing(kind: str, number: str) -> None:
    for default in f"'{number}'", f"' {number} '", number, f"date '{number}'", f"_utf8mb4'{number}'", f"({number})":
        try:
            stored = applied(f"create table t (v {kind} default {default})").table("test", "t").column("v").default
        except DdlError:
            continue
        assert len(stored) < 100


@pytest.mark.parametrize(
    ("kind", "default", "stored"),
    [
        ("int", "'1e2'", "100"),
        ("int", "'1.5e0'", "2"),
        ("int", "'1e-99999999'", "0"),
        ("bigint unsigned", "'18446744073709551615'", "18446744073709551615"),
        ("decimal(65,30)", "'1e-99999999'", "1e-99999999"),
        ("double", "'1e-99999999'", "0"),
        ("bigint", "0x00000000000000000000000000000005", "5"),
    ],
)
def test_numbers_in_range(kind: str, default: str, stored: str) -> None:
    assert applied(f"create table t (v {kind} default {default})").table("test", "t").column("v").default == stored


@pytest.mark.parametrize(
    "literal", ["0x{f}", "x'{f}'", "0b{one}", "b'{one}'", "'{one}'", "{one}", "1e{one}", "'1e{one}'", "'0.{one}e{one}'"]
)
def test_long_literals(literal: str) -> None:
    size = 400_000
    default = literal.format(f="f" * size, one="1" * size)
    for kind in (*NUMBERS, *OTHERS, "varchar(9)", "binary(9)", "varchar(9) charset gbk"):
        if (kind, literal) == ("double", "{one}"):
            continue  # TiDB reads the digits as its largest decimal, which a DOUBLE holds
        with pytest.raises(DdlError):
            applied(f"create table t (v {kind} default {default})")


def test_long_literals_elsewhere() -> None:
    bits, ones = "0x" + "f" * 400_000, "1" * 400_000
    for query in (
        f"create table t (id int primary key, v enum({bits}))",
        f"create table t (id int primary key) auto_increment = {ones}",
        f"create table t (id int primary key) partition by hash(id) partitions {ones}",
        f"create table t (id int({ones}) primary key)",
        f"create table t (v decimal({ones}, {ones}))",
        f"create table t (v float(5, {'9' * 20}) default 1)",
        f"create table t (v datetime({'9' * 20}) default now({'9' * 20}))",
        f"create table t (v char(9), key (v({ones})))",
        f"create table t (v int, key ((v + {bits})))",
        f"create table t (v int, key ((v + {ones})))",
        f"create table t (v int, key ((v + 1e{ones})))",
        f"create table t (v int, key ((cast(v as char({ones})))))",
        f"create table t (v int, key ((concat(v, {bits}))), key ((v))",
    ):
        with pytest.raises(DdlError):
            applied(query)


# -- comments and strings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unit", ["'\\", '"\\', "''", '""', "'", '"', "`", "``", "/*", "/*!", "/*T!", "*/", "/*T![", "--", "#", "/**", "\\"]
)
@pytest.mark.parametrize("opener", ["/*T! ", "/*T![warp] ", "create table t (a int default '", ""])
def test_comments_are_read_in_linear_time(opener: str, unit: str) -> None:
    text = opener + unit * 40_000
    with pytest.raises(DdlError):
        applied(text)


@pytest.mark.parametrize("unit", ["/*", "'\\", '"\\', "`", "a/*", "1.", "1e1", "_a ", "(", "-", "not ", "a.", "a->"])
def test_expressions_are_read_in_linear_time(unit: str) -> None:
    for text in (f"(({unit * 10_000}))", f"((a + {unit * 10_000}a))"):
        with pytest.raises(DdlError):
            applied(f"create table t (a int, key {text})")
        with suppress(DdlError):  # the text of a generated column is kept as it is
            applied(f"create table t (a int, b int as {text})")


def test_a_string_that_nothing_closes_is_refused_within_a_comment_too() -> None:
    for text in ("/*! a 'b */ c", '/*T! a "b\\" */ c', "/*! a `b */ c", "/*! a 'b\\"):
        with pytest.raises(DdlError, match="never ends"):
            applied(text)


# -- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "create vıew v as select 1 as a",
        "create view v as ſelect 1 as a",
        "alter table h add partıtion partitions 2",
        "alter table h ſet tiflash replica 1",
        "uſe test",
        "drop ındex a on h",
        *(
            f"create table t ({definition})"
            for definition in (
                "id ınt",
                "b ſmallint",
                "v varchar(9) charſet utf8mb4",
                "v decımal(5,2)",
                "b bınary(3)",
                "v varchar(9) collate utf8mb4_bın",
                "v int prımary key",
                "d datetime default current_tımestamp",
                "v int as (id) ſtored",
            )
        ),
        *(
            f"create table t (a int, key (({expression})))"
            for expression in ("a ıs null", "cast(a as ſigned)", "a dıv 2", "(a lıke 'x')", "ıf(a, 1, 2)")
        ),
    ],
)
def test_words_of_sql_are_ascii(query: str) -> None:
    with pytest.raises(DdlError if query.startswith("create table") else SchemaError):
        applied(HASHED, query)


def test_words_beyond_ascii_are_names() -> None:
    catalog = applied("create table ſelect (ınt int, ſet int, `ıs` int, primary key (ınt), key (ſet))")
    assert [column.name for column in catalog.table("test", "ſelect")] == ["ınt", "ſet", "ıs"]


@pytest.mark.parametrize("digits", ["٣", "²", "５", "1²", "①"])
def test_digits_are_ascii(digits: str) -> None:
    for query in (
        f"create table t (a int({digits}))",
        f"create table t (a int default {digits})",
        f"create table t (a int default '{digits}')",
        f"create table t (a date default '{digits * 4}-01-01')",
        f"create table t (a enum('x') default '{digits}')",
        f"create table t (a int) partition by hash(a) partitions {digits}",
        f"create table t (a int, key ((a + {digits})))",
    ):
        with pytest.raises(DdlError):
            applied(query)


# -- what is no text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [None, b"create table t (a int)", 5, ["create table t (a int)"], float("nan")])
def test_a_query_that_is_no_text(query: Any) -> None:
    for apply in (catalog_from_sql, Catalog().apply, parse_ddl, split_statements):
        with pytest.raises(DdlError, match=f"must be str, not {type(query).__name__}"):
            apply(query)


# -- chains of operators ---------------------------------------------------------------------------------------------

CHAINED = "create table t (id int primary key, b varchar(20), d date)"
CHAINS: dict[str, Callable[[int], str]] = {
    "generated": lambda count: f"alter table t add column v int as (id{' + 1' * count})",
    "logic": lambda count: f"alter table t add column v int as (id{' and id + 1 * 2 = 3 or id' * (count // 5)})",
    "comparisons": lambda count: f"alter table t add column v int as (id{' = 1' * count})",
    "branches": lambda count: f"alter table t add column v int as (case{' when id then 1' * count} end)",
    "check": lambda count: f"alter table t add constraint k check (id > 1{' and id > 1' * count})",
    "hash": lambda count: f"alter table t partition by hash(id{' + 1' * count}) partitions 3",
    "range": lambda count: f"alter table t partition by range(id{' + 1' * count}) (partition p values less than (9))",
    "index": lambda count: f"alter table t add key k ((id{' + 1' * count}))",
    "where": lambda count: f"create view w as select * from t where t.id = 1{' or t.id = 1' * count}",
    "group": lambda count: f"create view w as select id from t group by id{' + id' * count}",
    "union": lambda count: "create view w as " + " union all ".join(["(select id from t)"] * (count // 5)),
}
NESTED: dict[str, Callable[[int], str]] = {
    "not": lambda count: f"alter table t add column v int as ({'not ' * count}id)",
    "minus": lambda count: f"alter table t add column v int as ({'- ' * count}id)",
    "binary": lambda count: f"alter table t add column v int as ({'binary ' * count}id)",
    "null": lambda count: f"alter table t add column v int as (id{' is null' * count})",
    "both": lambda count: f"alter table t add column v int as (id{' = 1 is null' * count})",
    "collate": lambda count: f"alter table t add column v int as (b{' collate utf8mb4_bin' * count})",
    "interval": lambda count: f"alter table t add column v date as (d{' + interval 1 day' * count})",
    "between": lambda count: f"alter table t add column v int as (id{' between 1 and id' * count})",
    "case": lambda count: f"alter table t add column v int as ({'case when id then 1 else ' * count}1{' end' * count})",
    "calls": lambda count: f"alter table t add column v int as ({'abs(' * count}id{')' * count})",
    "subqueries": lambda count: f"create view w as select 1 where {'1 in (select 1 where ' * count}1{')' * count}",
    "tables": lambda count: f"create view w as select 1 from t{', t' * count}",
    "joins": lambda count: f"create view w as select 1 from t{' natural join t' * count}",
    "groups": lambda count: f"create view w as select 1 where {'(' * 50}id{(' is null' * 100 + ')') * 50}",
}


@pytest.mark.parametrize("count", sample([1_000, 5_000], 2))
@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_a_chain_of_operators_may_be_long(chain: Callable[[int], str], count: int) -> None:
    query = chain(count)
    catalog = applied(CHAINED, query)
    assert pickle.loads(pickle.dumps(catalog)).tables() == catalog.tables()
    (text,) = restored_statements(query, "", "utf8mb4")
    assert restored_statements(text, "", "utf8mb4") == [text]


@pytest.mark.parametrize("count", sample([1_000, 5_000], 2))
@pytest.mark.parametrize("chain", NESTED.values(), ids=NESTED)
def test_what_is_nested_too_deeply_is_refused(chain: Callable[[int], str], count: int) -> None:
    catalog = applied(CHAINED)
    with pytest.raises(DdlError, match="nested too deeply"):
        catalog.apply(chain(count))
    assert [table.name for table in catalog.tables()] == ["t"]
    catalog.apply("alter table t add column w int")


def test_pipes_that_join_text() -> None:
    query = f"alter table t add column v text as (b{' || b' * 1_000})"
    with pytest.raises(DdlError, match="nested too deeply"):
        applied(CHAINED).apply(query, sql_mode="PIPES_AS_CONCAT")
    applied(CHAINED, query)  # here they are OR
    applied(CHAINED).apply("alter table t add column v text as (b" + " || b" * 100 + ")", sql_mode="PIPES_AS_CONCAT")


# -- errors ----------------------------------------------------------------------------------------------------------


def test_an_error_shows_the_part_of_a_long_statement_that_it_is_about() -> None:
    wide = f"create table t ({joined('c{} int', 1_000)}, here inte, {joined('d{} int', 1_000)})"
    long = f"create table t (a int default '{'1' * 1_000_000}')"
    for query, part in ((wide, "c999 int, here inte, d0 int"), (long, "create table t (a int default '111")):
        with pytest.raises(DdlError) as caught:
            applied(query)
        assert part in str(caught.value)
        assert len(str(caught.value)) < 700
        assert caught.value.statement == query
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(DdlError) as caught:
        applied(f"create table t (a int {'x' * 1_000_000})")
    assert len(str(caught.value)) < 700
    with pytest.raises(DdlError) as caught:
        applied("create table t (a inte)")
    assert "statement='create table t (a inte)'" in str(caught.value)
