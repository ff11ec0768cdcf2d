"""The reference consumer: what it makes of rows, DDL, BOOTSTRAP and watermarks, one rule at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from simple_recorded import simple_messages

from ticdc_emit.decode import (
    DecodeError,
    SimpleBootstrap,
    SimpleColumn,
    SimpleDdl,
    SimpleFold,
    SimpleIndex,
    SimpleMessage,
    SimpleReader,
    SimpleRow,
    SimpleTableSchema,
    SimpleTimestamp,
    SimpleWatermark,
    WatermarkError,
)
from ticdc_emit.decode.fold import key_columns
from ticdc_emit.decode.simple_columns import converted
from ticdc_emit.decode.simple_ddl import changes_partition_rows, dropped_database, renamed_columns

_PRIMARY = SimpleIndex("primary", unique=True, primary=True, nullable=False, columns=("id",))
_T = ("d", "t")


def _column(name: str, kind: str = "int", nullable: bool = True, default: Any = None, **more: Any) -> SimpleColumn:
    return SimpleColumn(name, kind, "binary", "binary", nullable, default, **more)


def _schema(
    *columns: SimpleColumn, version: int = 1, table: str = "t", keyed: bool = True, table_id: int = 7
) -> SimpleTableSchema:
    return SimpleTableSchema("d", table, table_id, version, columns, (_PRIMARY,) if keyed else ())


_V1 = _schema(_column("id"), _column("a"))
_CREATE = SimpleDdl("CREATE", "create table d.t (id int primary key, a int)", 1, 0, _V1)


def _change(op: str, ts: int, new: Any = None, old: Any = None, version: int = 1, table: str = "t") -> SimpleRow:
    return SimpleRow("d", table, 7, op, ts, 0, version, data=new, old=old)


def _insert(ts: int, version: int = 1, table: str = "t", **row: Any) -> SimpleRow:
    return _change("INSERT", ts, row, version=version, table=table)


def _folded(*messages: SimpleMessage) -> SimpleFold:
    fold = SimpleFold()
    for message in messages:
        fold.apply(message)
    fold.finish()
    return fold


# --- rows -------------------------------------------------------------------------------------------------------------


def test_rows_by_key() -> None:
    fold = _folded(
        _CREATE,
        _insert(2, id="1", a="1"),
        _insert(3, id="2", a=None),
        _change("UPDATE", 4, {"id": "1", "a": "5"}, {"id": "1", "a": "1"}),
        _change("DELETE", 5, old={"id": "2", "a": None}),
        _change("DELETE", 5, old={"id": "9", "a": "9"}),  # from before the beginning
    )
    assert fold.tables == {_T: {(1,): {"id": 1, "a": 5}}}
    assert fold.schemas == {("d", "t", 1): _V1}


def test_an_update_that_moves_its_key() -> None:
    fold = _folded(_CREATE, _insert(2, id="1", a="1"), _change("UPDATE", 3, {"id": "2", "a": "1"}, {"id": "1"}))
    assert fold.tables == {_T: {(2,): {"id": 2, "a": 1}}}


def test_a_table_without_key_is_a_multiset() -> None:
    keyless = _schema(_column("b"), _column("a"), keyed=False)
    same = {"a": "1", "b": "2"}
    fold = _folded(
        replace(_CREATE, table_schema=keyless),
        _insert(2, **same), _insert(3, **same), _insert(4, **same), _insert(5, a="1", b=None),
        _change("DELETE", 6, old=same),
        _change("UPDATE", 7, {"a": "9", "b": "9"}, same),
    )  # fmt: skip
    assert set(fold.tables[_T]) == {(1, 2, 0), (1, None, 0), (9, 9, 0)}


def test_the_key_is_the_primary_key_or_the_shortest_unique_one() -> None:
    def index(name: str, *columns: str, unique: bool = True, nullable: bool = False) -> SimpleIndex:
        return SimpleIndex(name, unique, False, nullable, columns)

    long, short = index("l", "a", "b"), index("s", "c")
    plain = [index("k", "a", unique=False), index("n", "a", nullable=True)]
    schema = _schema(*map(_column, "abc"), keyed=False)
    shown = ["a", "b", "c"]
    assert key_columns(replace(schema, indexes=(*plain, long, short)), shown) == ("c",)
    assert key_columns(replace(schema, indexes=(long, short)), ["a", "b"]) == ("a", "b")  # c is virtual
    assert key_columns(replace(schema, indexes=tuple(plain)), shown) is None
    primary = SimpleIndex("PRIMARY", True, True, False, ("b", "a"))
    assert key_columns(replace(schema, indexes=(short, primary)), shown) == ("b", "a")


def test_only_a_handle_key_is_not_enough() -> None:
    partial = replace(_insert(2, id="1"), handle_key_only=True, claim_check="file:///claims/1.json")
    with pytest.raises(DecodeError, match="only the handle key") as caught:
        _folded(_CREATE, partial)
    assert caught.value.context == {"table": "d.t", "claim_check": "file:///claims/1.json"}


# --- order ------------------------------------------------------------------------------------------------------------


def test_nothing_is_folded_before_every_watermark_has_passed_it() -> None:
    fold = SimpleFold(partitions=2)
    for partition in (0, 1):
        fold.apply(_CREATE, partition)
    fold.apply(_insert(5, id="1", a="1"), 0)
    fold.apply(SimpleWatermark(9, 0), 0)
    assert fold.tables == {}
    fold.apply(SimpleWatermark(4, 0), 1)
    assert fold.tables == {_T: {}}
    fold.apply(SimpleWatermark(5, 0), 1)
    assert list(fold.tables[_T]) == [(1,)]
    assert fold.watermarks == {0: 9, 1: 5}


def test_partitions_are_put_in_order_of_commit_ts() -> None:
    fold = SimpleFold(partitions=2)
    renamed = replace(_V1, table="u")
    rename = SimpleDdl("RENAME", "rename table d.t to d.u", 3, 0, renamed, _V1)
    fold.apply(rename, 1)  # under its new name, the table has another partition
    fold.apply(_change("UPDATE", 4, {"id": "1", "a": "2"}, {"id": "1", "a": "1"}, table="u"), 1)
    for message in (_CREATE, _insert(2, id="1", a="1"), rename):
        fold.apply(message, 0)
    fold.finish()
    assert fold.tables == {("d", "u"): {(1,): {"id": 1, "a": 2}}}


def test_inside_a_transaction_deletes_come_first() -> None:
    fold = SimpleFold(partitions=2)
    fold.apply(_CREATE, 0)
    fold.apply(_insert(2, id="1", a="1"), 0)
    fold.apply(_insert(3, id="1", a="2"), 0)
    fold.apply(_change("DELETE", 3, old={"id": "1", "a": "1"}), 1)
    fold.finish()
    assert fold.tables == {_T: {(1,): {"id": 1, "a": 2}}}


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (_insert(5, id="1", a="1"), "a row"),
        (_insert(4, id="1", a="1"), "a row"),
        (replace(_CREATE, commit_ts=5), "a DDL"),
        (SimpleWatermark(4, 0), "a watermark"),
    ],
)
def test_nothing_may_come_behind_its_watermark(message: SimpleMessage, what: str) -> None:
    fold = SimpleFold(partitions=2)
    fold.apply(SimpleWatermark(5, 0), 1)
    fold.apply(SimpleWatermark(5, 0), 1)
    fold.apply(SimpleBootstrap(0, _V1), 1)
    fold.apply(message, 0)  # partitions have watermarks of their own
    with pytest.raises(WatermarkError, match=f"{what} came behind a watermark") as caught:
        fold.apply(message, 1)
    assert (caught.value.context["partition"], caught.value.context["watermark"]) == (1, 5)


def test_partitions_that_there_are_not() -> None:
    with pytest.raises(DecodeError, match="1 partitions"):
        SimpleFold().apply(_CREATE, 1)


def test_it_may_begin_anywhere() -> None:
    row = _insert(2, id="1", a="1")
    assert (_folded(row).tables, _folded(row).skipped) == ({}, 1)
    known = _folded(row, SimpleBootstrap(9, _V1))  # the document: rows wait for their schema
    assert (known.tables, known.skipped) == ({_T: {(1,): {"id": 1, "a": 1}}}, 0)
    other = _folded(SimpleBootstrap(9, _V1), _insert(3, version=2, id="1", a="1"))
    assert (other.tables, other.skipped) == ({}, 1)


# --- DDL --------------------------------------------------------------------------------------------------------------


def _altered(sql: str, columns: Iterable[SimpleColumn], kind: str = "ALTER") -> dict[str, Any]:
    """Return the row (1, 5) of the table after a DDL."""
    ddl = SimpleDdl(kind, sql, 3, 0, _schema(*columns, version=2), _V1)
    fold = _folded(_CREATE, _insert(2, id="1", a="5"), ddl)
    (row,) = fold.tables[_T].values()
    return row


_ID, _A = _column("id"), _column("a")


@pytest.mark.parametrize(
    ("sql", "columns", "row"),
    [
        ("alter table d.t drop column a", [_ID], {"id": 1}),
        ("alter table d.t rename column a to b", [_ID, _column("b")], {"id": 1, "b": 5}),
        ("alter table d.t rename column `A` to A", [_ID, _column("A")], {"id": 1, "A": 5}),
        ("alter table d.t change a b bigint", [_ID, _column("b", "bigint")], {"id": 1, "b": 5}),
        ("alter table d.t drop column a, add b int", [_ID, _column("b")], {"id": 1, "b": None}),
        ("alter table d.t rename column a to b, add a int", [_ID, _column("b"), _A], {"id": 1, "b": 5, "a": None}),
        ("alter table d.t modify a varchar(9)", [_ID, _column("a", "varchar")], {"id": 1}),
        ("alter table d.t comment 'rename column a to b'", [_ID, _A], {"id": 1, "a": 5}),
    ],
)
def test_altered_columns(sql: str, columns: list[SimpleColumn], row: dict[str, Any]) -> None:
    assert _altered(sql, columns) == row


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (_column("c"), None),
        (_column("c", "varchar", default="x"), "x"),
        (_column("c", "bigint", default="-5"), -5),
        (_column("c", "bit", default=5), 5),
        (_column("c", "double", default="1.5"), 1.5),
        (_column("c", "decimal", default="1.5", decimal=2), Decimal("1.50")),
        (_column("c", "decimal", default="9" * 65), Decimal("9" * 65)),
        (_column("c", "varbinary", default="x"), b"x"),
        (_column("c", "enum", default="b", elements=("a", "b")), "b"),
        (_column("c", "date", default="2020-01-01"), "2020-01-01"),
        (_column("c", "time", default="-01:00:00"), "-01:00:00"),
        (_column("c", "timestamp", default="2020-01-01 00:00:00"), SimpleTimestamp("UTC", "2020-01-01 00:00:00")),
        (_column("c", nullable=False), 0),
        (_column("c", "float", nullable=False), 0.0),
        (_column("c", "text", nullable=False), ""),
        (_column("c", "binary", nullable=False, length=2), b"\0\0"),
        (_column("c", "blob", nullable=False, length=65535), b""),
        (_column("c", "decimal", nullable=False, decimal=2), Decimal("0.00")),
        (_column("c", "enum", nullable=False, elements=("a", "b")), "a"),
        (_column("c", "set", nullable=False, elements=("a", "b")), ""),
    ],
)
def test_added_columns(column: SimpleColumn, value: Any) -> None:
    row = _altered("alter table d.t add column c", [_ID, _A, column])
    assert row == {"id": 1, "a": 5, "c": value}
    assert repr(row["c"]) == repr(value)


@pytest.mark.parametrize(
    "column",
    [
        _column("c", "datetime", default="CURRENT_TIMESTAMP"),
        _column("c", "binary", default="\ufffd"),
        _column("c", "datetime", nullable=False),
    ],
)
def test_values_that_only_tidb_knows(column: SimpleColumn) -> None:
    assert _altered("alter table d.t add column c", [_ID, _A, column]) == {"id": 1, "a": 5}


def test_a_new_key_is_the_new_place_of_the_rows() -> None:
    keyless = replace(_V1, indexes=())
    fold = _folded(
        replace(_CREATE, table_schema=keyless),
        _insert(2, id="1", a="5"),
        SimpleDdl("CINDEX", "alter table d.t add primary key (id)", 3, 0, replace(_V1, version=2), keyless),
    )
    assert fold.tables == {_T: {(1,): {"id": 1, "a": 5}}}


def test_tables_that_begin_and_end() -> None:
    rows = _CREATE, _insert(2, id="1", a="5")
    truncated = replace(_V1, table_id=8)
    fold = _folded(*rows, SimpleDdl("TRUNCATE", "truncate table d.t", 3, 0, truncated, _V1))
    assert fold.tables == {_T: {}}
    assert _folded(*rows, SimpleDdl("ERASE", "drop table d.t", 3, 0, _V1, _V1)).tables == {}
    assert _folded(*rows, SimpleDdl("QUERY", "drop database if exists `d`", 3, 0)).tables == {}
    assert list(_folded(*rows, SimpleDdl("QUERY", "create database d2", 3, 0)).tables) == [_T]
    view = SimpleDdl("QUERY", "create view d.v as select 1", 3, 0, _schema(_A, table="v", table_id=9))
    assert list(_folded(*rows, view).tables) == [_T]


def test_tables_that_swap_names() -> None:
    """RENAME TABLE t TO x, u TO t, x TO u: one event each, of which the third may name the table as it began."""
    other = _schema(_ID, _A, table="u", table_id=8, version=5)
    at = {"t": _V1, "u": other}

    def rename(old: str, new: str, before: SimpleTableSchema) -> SimpleDdl:
        return SimpleDdl("RENAME", f"rename table {old} to {new}", 9, 0, replace(before, table=new), before)

    fold = _folded(
        _CREATE,
        SimpleDdl("CREATE", "create table d.u (id int primary key, a int)", 1, 0, other),
        _insert(2, id="1", a="1"),
        _insert(2, version=5, table="u", id="2", a="2"),
        rename("t", "x", at["t"]),
        rename("u", "t", at["u"]),
        rename("x", "u", at["t"]),
    )
    assert fold.tables == {("d", "u"): {(1,): {"id": 1, "a": 1}}, _T: {(2,): {"id": 2, "a": 2}}}


def test_a_table_is_renamed_whose_creation_was_not_seen() -> None:
    rename = SimpleDdl("RENAME", "rename table d.t to d.u", 3, 0, replace(_V1, table="u"), _V1)
    fold = _folded(SimpleBootstrap(0, _V1), _insert(2, id="1", a="1"), rename)
    assert fold.tables == {("d", "u"): {(1,): {"id": 1, "a": 1}}}


@pytest.mark.parametrize("action", ["drop", "truncate", "exchange"])
def test_partitions_that_go_away(action: str) -> None:
    ddl = SimpleDdl("ALTER", f"alter table d.t {action} partition p0", 3, 0, replace(_V1, version=2), _V1)
    assert _folded(_CREATE, ddl).tables == {_T: {}}
    with pytest.raises(DecodeError, match="which rows are in a partition"):
        _folded(_CREATE, _insert(2, id="1", a="5"), ddl)


def test_without_the_schema_before_it_a_ddl_leaves_rows_alone() -> None:
    ddl = SimpleDdl("ALTER", "alter table d.t add column b int", 3, 0, _schema(_ID, _A, _column("b")))
    assert list(converted([{"id": 1, "a": 5}], ddl)) == [{"id": 1, "a": 5}]


# --- the text of a DDL ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "renamed"),
    [
        ("ALTER TABLE `t` RENAME COLUMN `A b` TO `c``d`", {"a b": "c`d"}),
        ("alter table t rename column a to b, rename column b to a", {"a": "b", "b": "a"}),
        ("alter table t change column if exists a b int, change c d int", {"a": "b", "c": "d"}),
        ("alter table t change a A int", {}),
        ("alter table t rename index a to b, rename to u", {}),
        ("alter table t add c int comment 'x \\' rename column a to b'", {}),
        ("alter table t /* change a b int */ add c int -- change a b\n# change a b\n", {}),
        ("alter table t /*T![x] change a b int */", {"a": "b"}),
        ("alter table t rename column", {}),
        ("alter table t change", {}),
        ("alter table `change` add `rename column a to b` int", {}),
    ],
)
def test_renamed_columns(sql: str, renamed: dict[str, str]) -> None:
    assert renamed_columns(sql) == renamed


def test_other_texts() -> None:
    assert changes_partition_rows("ALTER TABLE t TRUNCATE PARTITION p0, p1")
    assert not changes_partition_rows("alter table t add partition (partition p1 values less than (20))")
    assert not changes_partition_rows("create table t (a int comment 'drop partition')")
    assert dropped_database("DROP SCHEMA IF EXISTS `d-1`") == "d-1"
    assert dropped_database("drop database d") == "d"
    assert dropped_database("drop table d.t") is None
    assert dropped_database("drop database") is None


# --- what TiCDC sent --------------------------------------------------------------------------------------------------


def _recorded(case: str, encoding: str) -> tuple[SimpleFold, Counter[tuple[str, str]]]:
    """Return the fold of what was sent, and how many rows the recorded events leave in each table."""
    fold, reader = SimpleFold(), SimpleReader("json" if encoding == "json" else "avro")
    left: Counter[tuple[str, str]] = Counter()
    for message in simple_messages():
        if (message.case, message.variant) == (case, f"simple-{encoding}"):
            read = reader.read(message.key, message.value)
            if not isinstance(read, SimpleWatermark):  # the recorded ones are of another time
                fold.apply(read)
            if message.event["kind"] == "row":
                change = (message.event["after"] is not None) - (message.event["before"] is not None)
                left[message.event["schema"], message.event["table"]] += change
    fold.finish()
    return fold, left


# their DDL move rows, or take them away
_MOVING = {
    *("ddl_lifecycle", "ddl_partitions", "ddl_more"),
    *("adv_names", "adv_names_case", "adv_partitions", "adv_rename_chain"),
}
_CASES = sorted({message.case for message in simple_messages()} - _MOVING)


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_recorded_histories(encoding: str) -> None:
    rows = 0
    for case in _CASES:
        fold, left = _recorded(case, encoding)
        assert {name: len(held) for name, held in fold.tables.items() if held} == dict(+left), case
        assert fold.skipped == 0
        rows += sum(left.values())
    assert rows > 100


def test_recorded_ddl() -> None:
    assert _recorded("adv_names_case", "json")[0].tables == {}  # renamed, truncated, dropped: in three spellings
    assert _recorded("ddl_lifecycle", "json")[0].tables == {}
    assert _recorded("rename_tables", "avro")[0].tables == {
        ("d2", "n1"): {(1,): {"id": 1}},
        ("d2", "m2"): {(1,): {"id": 1, "a": 1}},
    }
    with pytest.raises(DecodeError, match="which rows are in a partition"):
        _recorded("ddl_partitions", "json")
