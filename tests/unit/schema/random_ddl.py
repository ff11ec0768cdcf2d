"""Random DDL for properties of the grammar and its printer: tables of all kinds, changes, views, expressions."""

from __future__ import annotations

import random
import re

from hypothesis import strategies as st
from test_ddl_properties import TEXTS, quoted

from ticdc_emit.sql.lexer import scan, sql_mode_of
from ticdc_emit.sql.words import CALL_WORDS, RESERVED_WORDS, UNRESERVED_WORDS
from ticdc_emit.strategies import tables

Text = st.SearchStrategy[str]

# -- expressions over the columns of FIXED -------------------------------------------------------------------------

FIXED = [
    ("a", "int", " not null"),
    ("b", "bigint unsigned", ""),
    ("s", "varchar(20)", ""),
    ("d", "datetime(2)", ""),
    ("day", "date", ""),
    ("j", "json", ""),
]
_NUMBERS = "0 7 -3 1.50 .5 1e3 1.5E-7 00012.10 99999999999999999999 18446744073709551615 true NULL 0x4D x'0a' b'1' 0b1"
_STRINGS = r"'' 'x' 'it''s' '_%' N'n' _utf8mb4'u' _latin1'l' 'é' '\n' DATE'2024-01-02' TIME'10:11:12'"
_CALLS = """
    {} + {}; {} - {}; {} * {}; {} / {}; {} div {}; {} % {}; {} mod {}; -{}; ~{}; !{}; not {}; {} and {}; {} && {};
    {} or {}; {} || {}; {} xor {}; {} = {}; {} <=> {}; {} <> {}; {} != {}; {} < {}; {} >= {}; {} & {}; {} | {};
    {} ^ {}; {} << {}; {} between {} and {}; {} not between {} and {}; {} in ({}, {}); {} not in ({}); {} like {};
    {} like {} escape '|'; {} not like {}; {} regexp {}; {} not rlike {}; {} is null; {} is not null; {} is true;
    {} is not false; {} is unknown; case {} when {} then {} else {} end; case when {} then {} when {} then {} end;
    if({}, {}, {}); ifnull({}, {}); coalesce({}, {}, {}); nullif({}, {}); concat({}, {}); concat_ws({}, {});
    lower({}); Upper({}); left({}, 2); substring({}, 2); substr({} from 2 for 3); mid({}, 1, 2); trim({});
    trim(leading {} from {}); trim({} from {}); trim(both from {}); replace({}, {}, {}); position({} in {});
    locate({}, {}); char({}); hex({}); abs({}); round({}, 2); floor({}); mod({}, {}); truncate({}, 1); year({});
    month({}); date({}); time({}); timestamp({}); extract(day from {}); extract(hour_minute from {});
    date_add({}, interval {} day); date_sub({}, interval '1:2' hour_minute); {} + interval 1 month;
    {} - interval {} second; interval 2 week + {}; adddate({}, 3); subdate({}, interval 1 year);
    timestampadd(month, 1, {}); timestampdiff(second, {}, {}); date_format({}, '%Y'); unix_timestamp({});
    cast({} as char); cast({} as char(5) charset latin1); cast({} as binary(3)); cast({} as signed);
    cast({} as unsigned integer); cast({} as decimal(9,2)); cast({} as datetime(3)); cast({} as json);
    cast({} as double); cast({} as year); convert({}, time); convert({} using utf8mb4); binary {};
    {} collate utf8mb4_bin; json_extract({}, '$.a'); `j`->'$.a'; `j`->>'$[0]'; json_length({}); {} member of ({});
    json_object('k', {}); interval({}, 1, {}); greatest({}, {}); least({}, {}); md5({})
"""


def _one_of(lines: str) -> Text:
    """One of the lines; ``-`` is an empty one."""
    return st.sampled_from([line.strip().removeprefix("-") for line in lines.strip().splitlines()])


def _nested(children: Text) -> Text:
    calls = st.sampled_from([re.sub(r"\s+", " ", call).strip() for call in _CALLS.split(";")])
    operands = children.map(lambda child: f"({child})")
    return calls.flatmap(lambda call: st.tuples(*[operands] * call.count("{}")).map(lambda parts: call.format(*parts)))


_OPERANDS = st.sampled_from([*(f"`{name}`" for name, _, _ in FIXED), *_NUMBERS.split(), *_STRINGS.split()])
EXPRESSIONS = st.recursive(_OPERANDS, _nested, max_leaves=6)

# -- tables --------------------------------------------------------------------------------------------------------

_DEFAULTS = _one_of(
    """
    i1 int default -7
    i2 tinyint unsigned default '12'
    i3 bit(8) default b'101'
    i4 bool default true
    i5 decimal(9,3) default 1e2
    i6 double default .25
    i7 varchar(9) default 'it''s'
    i8 year default 24
    i9 datetime(3) default current_timestamp(3) on update now(3)
    i10 timestamp default '2024-01-02 03:04:05'
    i11 date default (current_date)
    i12 varbinary(4) default 0x4D0a
    i13 set('a','b') default 'a,b'
    i14 longtext comment 'l'
    i15 varchar(40) default (uuid())
    i16 time(1) default '10:11:12.3'
    i17 int references other (x) on delete cascade
    i18 int check (i18 > 3)
    i19 int null default null
    i20 national char(3) default _utf8mb4'x' comment 'c' collate utf8mb4_general_ci
    """
)
_GENERATED = _one_of(
    """
    g1 int as (`a` + 1)
    g2 varchar(30) generated always as (concat(`s`, '!')) stored not null
    g3 int as (json_length(`j`)) virtual comment 'g'
    g4 date as (date(`d`)) stored
    g5 json as (`j`->'$.x')
    """
)
_KEYS = _one_of(
    """
    key k1 (`a`, `b` desc)
    index k2 (`s`(5)) comment 'k' invisible
    unique k3 (`b`)
    unique key (`a`, `d`)
    key k4 ((lower(`s`)))
    key k5 ((`a` + 1), `b`) using btree
    key k6 (`b`) where `a` > 3
    key (`d`)
    constraint c1 unique key k7 (`day`, `a`) visible
    constraint f foreign key f1 (`b`) references p (id)
    foreign key (`a`) references q.p (x) match full on update set null
    constraint ch check (`a` > 0) not enforced
    check (`b` between 1 and 9)
    fulltext key ft (`s`) with parser ngram
    key k8 (`a`) /*T![global_index] LOCAL */
    key k9 ((cast(`j`->'$.a' as unsigned array)))
    """
)
_OPTIONS = _one_of(
    """
    engine=InnoDB
    charset utf8mb4 collate utf8mb4_general_ci
    auto_increment 7
    row_format = dynamic
    comment 'it''s'
    shard_row_id_bits=2 pre_split_regions=1
    /*T![auto_id_cache] auto_id_cache 100 */
    ttl = `d` + interval 3 day
    ttl=`day` + interval '1 2:3:4' day_second ttl_enable 'ON' ttl_job_interval='2h'
    compression='zlib' key_block_size 8
    stats_persistent=default max_rows=100
    default character set = latin1
    """
)
_MONTHS = (
    "partition by range columns (`day`) interval (1 month) first partition less than ('2024-01-31') "
    "last partition less than ('2024-05-31') maxvalue partition"
)
_PARTITIONS = st.just(_MONTHS) | _one_of(
    """
    -
    -
    partition by hash (`a`) partitions 3
    partition by linear key (`a`) partitions 2
    partition by hash (`a`)
    partition by range (`a`) (partition p0 values less than (-3) comment 'x', partition p1 values less than maxvalue)
    partition by range columns (`day`) (partition `P 0` values less than ('2024-01-01'))
    partition by list (`a`) (partition p0 values in (1, null), partition p1 default)
    partition by list columns (`a`, `s`) (partition p0 values in ((1, 'x'), (2, 'y')))
    partition by range (`a`) interval (10) first partition less than (0) last partition less than (40)
    """
)


def _several(choices: Text, most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(choices, max_size=most, unique=True)


@st.composite
def _tables(draw: st.DrawFn) -> str:
    """A CREATE TABLE that the catalog takes: the columns of FIXED, others, keys, options and partitions."""
    fixed = [f"`{name}` {kind}{options}" for name, kind, options in FIXED]
    body = [*fixed, *draw(_several(_DEFAULTS, 3)), *draw(_several(_GENERATED, 2)), *draw(_several(_KEYS, 3))]
    head = draw(st.sampled_from(["create table t", "CREATE TABLE IF NOT EXISTS `test`.`t`"]))
    options = draw(st.sampled_from([" ", ", "])).join(draw(_several(_OPTIONS, 2)))
    return f"{head} ({', '.join(body)}) {options} {draw(_PARTITIONS)}"


def table_scripts() -> Text:
    """CREATE TABLE statements: of any names and types, or with everything that a table may have."""
    return st.one_of(tables(), _tables())


# -- other statements ----------------------------------------------------------------------------------------------

_SPECS = _one_of(
    """
    add column x1 int first
    add column if not exists x2 text after `a`
    drop column if exists `b`
    drop key k1
    modify `a` bigint default 0x4d
    change column `a` `a 2` decimal(10,2) unsigned zerofill
    rename index k1 to k2
    alter column `a` set default -7
    alter `a` set default (1)
    alter `a` drop default
    rename column `a` to `b`
    add (x3 int, x4 varchar(3))
    add primary key (`a`) nonclustered
    add unique index u1 (`s`(3))
    drop primary key
    add constraint f foreign key (`a`) references p (x)
    drop foreign key f
    add check (`a` > 1)
    drop check ch
    alter index k1 invisible
    alter check ch not enforced
    comment 'c'
    convert to character set utf8mb4
    auto_increment 9
    algorithm = instant
    lock none
    disable keys
    engine innodb
    rename to `t 2`
    """
)
_LAST = _one_of(
    """
    remove partitioning
    truncate partition p0, p1
    drop partition if exists p0
    remove ttl
    coalesce partition 2
    order by `a` desc, `b`
    add partition (partition p9 values less than (90))
    exchange partition p0 with table x without validation
    reorganize partition p0, p1 into (partition a values less than (10), partition b values less than maxvalue)
    partition by key (`a`) partitions 4
    last partition less than (50)
    split index k1 between (1) and (9) regions 4
    """
)
_OTHERS = _one_of(
    """
    drop table if exists a, `b c`.d cascade
    drop view v, w
    rename table a to b, c.d to `e f`
    truncate t
    create database if not exists x charset latin1
    alter database x collate utf8mb4_bin
    drop schema x
    drop index i on t
    create unique index if not exists i on t (`a`, `b` desc) comment 'x' algorithm inplace
    create table a like b.c
    create global temporary table g (a int) on commit delete rows
    create table x (a int) as select 1 as a
    create index e on t ((`a` + 1)) where `b` is not null
    create view v (x) as table t
    create vector index vi on t ((vec_cosine_distance(v)))
    """
)
_QUERIES = _one_of(
    """
    select {} as x from t where {}
    select distinct {} x, count(*) from t as u group by {} having {} order by 1 desc limit 3, 4
    select {} from t join u on {} left join w using (`a`) where exists (select 1 from v where {})
    (select {} from t) union all (select {} from u) order by 1 limit 2 offset 1
    with c as (select {} as y from t) select y, row_number() over (partition by y order by {}) from c
    select `t`.* from t where `a` in (select {} from u) and `b` > any (select {} from w)
    """
)


def _filled(template: str) -> Text:
    return st.tuples(*[EXPRESSIONS] * template.count("{}")).map(lambda parts: template.format(*parts))


def _changes() -> Text:
    specs = st.lists(_SPECS, min_size=1, max_size=3).map(", ".join)
    checks = EXPRESSIONS.map(lambda text: f"add constraint c check ({text})")
    keys = EXPRESSIONS.map(lambda text: f"add key (({text}\n))")
    return st.one_of(specs, _LAST, checks, keys).map(lambda spec: f"alter table `t 1` {spec}")


def statements() -> Text:
    """DDL of all kinds that the grammar reads; what it names need not exist."""
    views = _QUERIES.flatmap(_filled).map(lambda query: f"create or replace view v as {query}")
    comments = TEXTS.map(lambda text: f"alter table t comment {quoted(text)}")
    return st.one_of(table_scripts(), _changes(), views, _OTHERS, comments)


# -- noise ---------------------------------------------------------------------------------------------------------

_KEYWORDS = RESERVED_WORDS | UNRESERVED_WORDS | CALL_WORDS
_BLANKS = (" ", "  ", "\n", "\t", " /* x */ ", "/**/", " -- y\n", " #z\n", "\r\n")


def noisy(query: str, dice: random.Random) -> str:
    """Return the same statement with other blanks, comments and letters of keywords."""
    text, end = "", 0
    for token in scan(query, sql_mode_of("")):
        between = query[end : token.start]
        text += dice.choice(_BLANKS) if between and not between.strip() else between
        raw = query[token.start : token.end]
        text += dice.choice((raw, raw.upper(), raw.lower())) if token.text in _KEYWORDS else raw
        end = token.end
    return text + dice.choice(("", ";", " ; ", "\n-- end"))
