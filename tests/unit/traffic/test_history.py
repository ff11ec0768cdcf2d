"""A history's tables, which are the truth for its consumers, and its messages."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis.vendor import pretty
from hypothesis_profiles import examples

from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery import memory
from ticdc_emit.errors import (
    ConfigError,
    HistoryError,
    InvalidValueError,
    MissingColumnError,
    MissingImageError,
    SchemaError,
    UnknownTableError,
)
from ticdc_emit.protocols.simple.decoder import SimpleReader
from ticdc_emit.strategies import histories
from ticdc_emit.traffic.history import History

SCHEMA = "create table test.t (id int primary key, v varchar(9));"
FIRST = 450_000_000_262_144_000


def tso(step: int) -> int:
    return FIRST + (step << 20)


def row(*values: str | None, names: str = "id v") -> dict[str, str | None]:
    return dict(zip(names.split(), values, strict=True))


def change(step: int, before: Any, after: Any, table: str = "t", **more: Any) -> dict[str, Any]:
    op = "insert" if before is None else "delete" if after is None else "update"
    return {
        "schema": "test", "table": table, "op": op, "commit_ts": tso(step), "before": before, "after": after, **more,
    }  # fmt: skip


def kept(history: History, table: str = "t") -> list[dict[str, str | None]]:
    return list(history.tables()["test", table].values())


class TestRows:
    def test_lives(self) -> None:
        rows = [
            change(3, row("2", "b"), None),
            change(0, None, row("1", "a")),
            change(2, row("1", "a"), row("1", None)),
            change(1, None, row("2", "b")),
        ]
        assert History(SCHEMA, rows).tables() == {("test", "t"): {("1",): row("1", None)}}

    def test_tables_without_rows_are_there(self) -> None:
        assert History(SCHEMA).tables() == {("test", "t"): {}}

    def test_keys_swapped_in_one_transaction(self) -> None:
        rows = [
            *(change(0, None, row(key, key)) for key in "12"),
            change(1, row("1", "1"), row("2", "1"), seq=0),
            change(1, row("2", "2"), row("1", "2"), seq=1),
        ]
        assert kept(History(SCHEMA, rows)) == [row("2", "1"), row("1", "2")]

    def test_a_key_that_is_free_in_the_same_transaction(self) -> None:
        rows = [
            change(0, None, row("1", "a")),
            change(1, None, row("2", "b")),
            change(2, row("2", "b"), row("1", "b")),
            change(2, row("1", "a"), row("3", "a")),
        ]
        assert kept(History(SCHEMA, rows)) == [row("1", "b"), row("3", "a")]

    def test_seq_orders_the_changes_of_a_transaction(self) -> None:
        rows = [
            change(0, row("1", "b"), row("1", "c"), seq=2),
            change(0, None, row("1", "a"), seq=0),
            change(0, row("1", "a"), row("1", "b"), seq=1),
        ]
        assert kept(History(SCHEMA, rows)) == [row("1", "c")]

    def test_equal_rows_without_a_key_are_counted(self) -> None:
        rows = [*(change(step, None, row("1", "a")) for step in range(3)), change(3, row("1", "a"), None)]
        history = History("create table test.t (id int, v varchar(9))", rows)
        assert history.tables()["test", "t"] == {("1", "a", 0): row("1", "a"), ("1", "a", 1): row("1", "a")}

    def test_a_row_from_before_the_beginning_goes_away(self) -> None:
        history = History(SCHEMA, [change(0, row("1", "a"), None)], begins_empty=False)
        assert kept(history) == []

    @pytest.mark.parametrize("begins_empty", [True, False])
    def test_a_row_that_comes_again(self, begins_empty: bool) -> None:
        rows = [change(0, None, row("1", "a")), change(1, None, row("1", "b"))]
        with pytest.raises(HistoryError, match=r"adds a row whose key exists.*Use another key") as caught:
            History(SCHEMA, rows, begins_empty=begins_empty).tables()
        assert (caught.value.table, caught.value.row, caught.value.commit_ts) == ("test.t", {"id": "1"}, tso(1))

    @pytest.mark.parametrize("after", [row("1", "b"), None])
    def test_a_change_of_a_row_that_never_was(self, after: Any) -> None:
        with pytest.raises(HistoryError, match=r"does not exist.*Insert the row first") as caught:
            History(SCHEMA, [change(0, row("1", "a"), after)]).tables()
        assert caught.value.row == {"id": "1"}
        assert "seq" not in str(caught.value)
        messages = History(SCHEMA, [change(0, row("1", "a"), after)]).messages("memory://any/?protocol=canal-json")
        assert len(messages) == 1  # which one wants for a test of its own

    def test_changes_of_one_transaction_that_nothing_orders(self) -> None:
        rows = [change(0, None, row("1", "a")), change(0, row("1", "a"), row("1", "b"))]
        with pytest.raises(HistoryError, match="build on each other, give them a seq"):
            History(SCHEMA, rows).tables()

    def test_a_row_without_a_key_that_never_was(self) -> None:
        rows = [change(0, None, row("1", "a")), change(1, row("1", "b"), None)]
        with pytest.raises(HistoryError, match="does not exist") as caught:
            History("create table test.t (id int, v varchar(9))", rows).tables()
        assert caught.value.row == row("1", "b")

    def test_the_handle_key_is_a_unique_key_without_nulls(self) -> None:
        schema = "create table test.t (a int, b int not null, c int not null, unique key (a), unique key (c, b))"
        rows = [change(0, None, row("1", "2", "3", names="a b c"))]
        assert list(History(schema, rows).tables()["test", "t"]) == [("2", "3")]

    def test_an_image_that_the_operation_needs(self) -> None:
        with pytest.raises(MissingImageError):
            History(SCHEMA, [change(0, None, None) | {"op": "u"}]).tables()

    def test_a_column_that_is_missing(self) -> None:
        with pytest.raises(MissingColumnError) as caught:
            History(SCHEMA, [change(0, None, {"id": "1"})]).tables()
        assert (caught.value.column, caught.value.commit_ts) == ("v", tso(0))

    def test_a_table_that_is_missing(self) -> None:
        with pytest.raises(UnknownTableError):
            History(SCHEMA, [change(0, None, row("1", "a"), table="other")]).tables()
        with pytest.raises(UnknownTableError):
            History(SCHEMA, [change(0, None, {"id": 1, "v": "a"}, table="other")]).tables()

    def test_whole_numbers_of_columns_that_are(self) -> None:
        schema = "create table test.t (id bigint unsigned primary key, y year, b bit(3), v varchar(9))"
        ddl = ((tso(1), "alter table test.t add column n tinyint"),)
        numbers = {"id": (1 << 64) - 1, "y": 2024, "b": True, "v": None}
        texts = {"id": str((1 << 64) - 1), "y": "2024", "b": "1", "v": None}
        null, last = numbers | {"n": None}, numbers | {"n": -5}
        after = [change(0, None, numbers), change(1, numbers, numbers), change(2, null, last)]
        history = History(schema, after, ddl)
        same = History(schema, [change(0, None, texts), change(1, texts, texts),
                                change(2, texts | {"n": None}, texts | {"n": "-5"})], ddl)  # fmt: skip
        assert history.tables() == same.tables()
        assert history.to_arrow() == same.to_arrow()
        uri = "memory://any/?protocol=canal-json"
        assert [each.value for each in history.messages(uri)] == [each.value for each in same.messages(uri)]

    @pytest.mark.parametrize(
        ("wrong", "error", "message"),
        [
            ({"schema": None}, MissingColumnError, "a row has no schema.*Give each row as"),
            ({"schema": None, "shcema": "test"}, MissingColumnError, "Did you mean shcema"),
            ({"table": 7}, InvalidValueError, "7 is not text"),
            ({"commit_ts": None}, MissingColumnError, "neither commit_ts"),
            ({"commit_ts": "4500"}, InvalidValueError, "'4500' is not a TSO"),
            ({"commit_ts": 1 << 63}, InvalidValueError, "the commit_ts of a row cannot be read"),
            ({"op": "insrt"}, InvalidValueError, "'insrt' is not an operation.*Did you mean insert.*Use insert"),
            ({"op": None}, MissingColumnError, "a row has no op"),
            ({"after": [1]}, InvalidValueError, "the after image is of type list"),
            ({"after": {"id": "1", "v": 5}}, InvalidValueError, "5 is of the Python type int, not text"),
            ({"after": {"id": 1.0, "v": "a"}}, InvalidValueError, "1.0 is of the Python type float"),
            ({"seq": "first"}, InvalidValueError, "'first' is not a whole number"),
            ({"seq": 1 << 63}, InvalidValueError, "the seq of a row cannot be read"),
        ],
    )
    def test_a_row_that_cannot_be_read(self, wrong: Any, error: Any, message: str) -> None:
        bad = change(1, None, row("2", "b")) | wrong
        history = History(SCHEMA, [change(0, None, row("1", "a")), bad])
        for use in (history.to_arrow, lambda: history.messages("memory://any/?protocol=canal-json")):
            with pytest.raises(error, match=message) as caught:
                use()
            assert caught.value.row == {"position": 1}
            assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
        if "cannot be read" not in message:
            with pytest.raises(error, match=message):
                history.tables()

    def test_a_row_that_is_not_a_mapping(self) -> None:
        with pytest.raises(InvalidValueError, match="a row is of type tuple"):
            History(SCHEMA, [("test", "t")]).tables()  # type: ignore[list-item]


def after_ddl(query: str, *values: str | None, columns: str = "id int primary key, v varchar(9)") -> dict[str, Any]:
    """Return what the one row of a table is behind the statement."""
    names = " ".join(clause.split()[0] for clause in columns.split(", "))
    rows = [change(0, None, row(*values, names=names))]
    return kept(History(f"create table test.t ({columns})", rows, ((tso(0), query),), time_zone="Asia/Shanghai"))[0]


class TestDdl:
    @pytest.mark.parametrize(
        ("definition", "value"),
        [
            ("int", None),
            ("decimal(65,30) default 2", "2." + "0" * 30),
            ("timestamp default current_timestamp", "2024-05-25 13:09:30"),
            ("datetime(3) not null default now(3)", "2024-05-25 13:09:30.531"),
            ("date default (current_date)", "2024-05-25"),
        ],
    )
    def test_a_new_column(self, definition: str, value: str | None) -> None:
        found = after_ddl(f"alter table test.t add column n {definition} first", "1", "a")
        assert list(found.items()) == [("n", value), ("id", "1"), ("v", "a")]

    @pytest.mark.parametrize(
        "definition", ["datetime default (current_date)", "json default (json_array())", "binary(2) default x'ff'"]
    )
    def test_a_value_that_only_tidb_knows(self, definition: str) -> None:
        with pytest.raises(SchemaError, match="only TiDB knows") as caught:
            after_ddl(f"alter table test.t add column n {definition}", "1", "a")
        assert caught.value.column == "n"

    def test_such_a_column_of_a_table_without_rows(self) -> None:
        ddl = ((tso(0), "alter table test.t add column n timestamp default current_timestamp"),)
        rows = [change(1, None, row("1", "a", "2024-01-01 00:00:00", names="id v n"))]
        assert kept(History(SCHEMA, rows, ddl)) == [row("1", "a", "2024-01-01 00:00:00", names="id v n")]

    def test_a_wider_type(self) -> None:
        columns, query = "id int primary key, v binary(2)", "alter table test.t modify column v binary(4)"
        assert after_ddl(query, "1", "eHg=", columns=columns)["v"] == "eHgAAA=="

    @pytest.mark.parametrize(
        ("old", "new", "value"),
        [("int", "varchar(9)", "1"), ("decimal(5,2)", "decimal(5,1)", "1.25"), ("varchar(5)", "varbinary(5)", "a")],
    )
    def test_a_type_of_another_kind(self, old: str, new: str, value: str) -> None:
        with pytest.raises(SchemaError, match="another kind") as caught:
            after_ddl(f"alter table test.t modify column v {new}", "1", value, columns=f"id int primary key, v {old}")
        assert caught.value.column == "v"

    def test_renamed_columns_keep_their_values(self) -> None:
        assert after_ddl("alter table test.t rename column v to w, change id i int", "1", "a") == {"i": "1", "w": "a"}

    def test_a_column_that_comes_again_is_a_new_one(self) -> None:
        ddl = ((tso(0), "alter table test.t drop column v"), (tso(0) + 1, "alter table test.t add column v varchar(9)"))
        assert kept(History(SCHEMA, [change(0, None, row("1", "a"))], ddl)) == [row("1", None)]

    def test_rows_of_the_statement_s_own_commit_come_before_it(self) -> None:
        rows = [change(1, None, row("1", "a")), change(2, None, {"id": "2"})]
        ddl = ((tso(1), "alter table test.t drop column v"),)
        assert kept(History(SCHEMA, rows, ddl)) == [{"id": "1"}, {"id": "2"}]

    def test_another_key(self) -> None:
        rows = [change(0, None, row("1", "a"))]
        schema = "create table test.t (id int primary key nonclustered, v varchar(9) not null)"
        ddl = (
            (tso(1), "alter table test.t drop primary key"),
            (tso(2), "alter table test.t add primary key (v) nonclustered"),
        )
        assert list(History(schema, rows, ddl).tables()["test", "t"]) == [("a",)]

    @pytest.mark.parametrize(
        ("query", "tables"),
        [
            ("rename table test.t to test.u", {("test", "u"): {("1",): row("1", "a")}}),
            ("truncate table test.t", {("test", "t"): {}}),
            ("drop table test.t", {}),
            ("drop database test", {}),
            ("create table v (id int)", {("test", "t"): {("1",): row("1", "a")}, ("test", "v"): {}}),
            ("create view v as select * from t", {("test", "t"): {("1",): row("1", "a")}}),
        ],
    )
    def test_tables_that_come_and_go(self, query: str, tables: dict[Any, Any]) -> None:
        history = History(SCHEMA, [change(0, None, row("1", "a"))], ((tso(1), query),))
        assert history.tables() == tables

    @pytest.mark.parametrize("filled", [True, False])
    def test_rows_of_a_partition(self, filled: bool) -> None:
        schema = "create table test.t (id int primary key) partition by range (id) (partition a values less than (5),"
        schema += " partition b values less than (9))"
        rows = [change(0, None, {"id": "1"}), change(0, None, {"id": "6"})] if filled else []
        history = History(schema, rows, ((tso(1), "alter table test.t drop partition a"),))
        if not filled:
            assert history.tables() == {("test", "t"): {}}
            return
        assert history.tables() == {("test", "t"): {("6",): {"id": "6"}}}


class TestMessages:
    HISTORY = History(
        SCHEMA,
        [change(0, None, row("1", "a")), change(2, None, {"id": "2", "v": "b", "n": None})],
        ((tso(1), "alter table test.t add column n int"),),
    )

    def test_rows_ddl_bootstrap_and_watermarks_in_their_places(self) -> None:
        reader = SimpleReader("json")
        sent = self.HISTORY.messages("memory://any/?protocol=simple&partition-num=1")
        kinds = [type(reader.read(message.key, message.value)).__name__ for message in sent]
        assert [kind for kind in kinds if kind != "WatermarkEvent"] == [
            "BootstrapEvent", "RowEvent", "DdlEvent", "RowEvent",
        ]  # fmt: skip
        assert kinds[-1] == "WatermarkEvent"

    def test_watermarks_of_an_interval(self) -> None:
        uri = "memory://any/?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
        few = self.HISTORY.messages(uri)
        many = self.HISTORY.messages(uri, watermark_interval=0.001)
        assert {(message.topic, message.partition) for message in few} == {("ticdc", 0), ("ticdc", 1)}
        assert len(many) > len(few)

    def test_a_loaded_configuration(self) -> None:
        config = load_changefeed("kafka://127.0.0.1:9092/orders?protocol=debezium")
        assert {message.topic for message in self.HISTORY.messages(config)} == {"orders"}

    @pytest.mark.parametrize(
        ("given", "named"),
        [({"changefeed": {"nonsense": 1}}, "changefeed"), ({"force_replicate": True}, "force_replicate")],
    )
    def test_options_beside_a_loaded_configuration(self, given: Any, named: str) -> None:
        config = load_changefeed("memory://any/?protocol=simple")
        with pytest.raises(ConfigError, match=f"has its options already: {named}"):
            self.HISTORY.messages(config, **given)

    def test_another_time_zone(self) -> None:
        config = load_changefeed("memory://any/?protocol=simple", time_zone="Asia/Shanghai")
        with pytest.raises(ConfigError, match="time zone"):
            self.HISTORY.messages(config)

    def test_nothing_stays_in_memory(self) -> None:
        stores = dict(memory._stores)
        self.HISTORY.messages("memory://any/?protocol=canal-json")
        assert memory._stores == stores

    def test_columns_that_are_told(self) -> None:
        plain = ["schema", "table", "op", "commit_ts", "before", "after"]
        assert sorted(self.HISTORY.to_arrow().column_names) == sorted(plain)
        ordered = History(SCHEMA, [change(0, None, row("1", "a"), seq=0)])
        assert sorted(ordered.to_arrow().column_names) == sorted([*plain, "seq"])


class TestFiles:
    HISTORY = TestMessages.HISTORY
    URI = "s3://bucket/lake?protocol=csv&flush-interval=2s"

    def test_rows_statements_and_the_checkpoint(self) -> None:
        files = self.HISTORY.files(self.URI)
        start, statement = f"test/t/{FIRST - 1}/2024-05-25", f"test/t/{tso(1)}/2024-05-25"
        paths = [path for path in files.contents if "schema_" not in path]
        assert paths == [
            f"{start}/meta/CDC.index",
            f"{start}/CDC00000000000000000001.csv",
            f"{statement}/meta/CDC.index",
            f"{statement}/CDC00000000000000000001.csv",
            "metadata",
        ]
        assert files.contents[f"{start}/CDC00000000000000000001.csv"] == b'"I","t","test",1,"a"\r\n'
        assert files.contents[f"{statement}/CDC00000000000000000001.csv"] == b'"I","t","test",2,"b",\\N\r\n'
        assert files.contents["metadata"] == b'{"checkpoint-ts":%d}' % tso(2)

    def test_writes_are_in_their_order(self) -> None:
        files = self.HISTORY.files(self.URI, release="next")
        assert dict(files.writes) == files.contents
        rows, index = (place for place, (path, _) in enumerate(files.writes) if f"t/{tso(1)}/" in path)
        schema = next(place for place, (path, _) in enumerate(files.writes) if f"schema_{tso(1)}" in path)
        assert files.writes[index].path.endswith("CDC.index")
        assert schema < rows < index < len(files.writes) - 1

    def test_the_changefeed_file(self) -> None:
        files = self.HISTORY.files(self.URI, changefeed={"sink": {"date-separator": "none", "terminator": "|"}})
        assert files.contents[f"test/t/{FIRST - 1}/CDC00000000000000000001.csv"] == b'"I","t","test",1,"a"|'

    def test_a_loaded_configuration(self) -> None:
        config = load_changefeed(self.URI)
        assert self.HISTORY.files(config).contents == self.HISTORY.files(self.URI).contents
        with pytest.raises(ConfigError, match="has its options already: release"):
            self.HISTORY.files(config, release="next")

    def test_another_time_zone(self) -> None:
        with pytest.raises(ConfigError, match="time zone"):
            self.HISTORY.files(load_changefeed(self.URI, time_zone="Asia/Shanghai"))

    def test_a_sink_of_messages(self) -> None:
        with pytest.raises(ConfigError, match="the sink of kafka:// has no files") as refused:
            self.HISTORY.files("kafka://127.0.0.1:9092/t?protocol=canal-json")
        assert "s3://" in (refused.value.remedy or "")

    def test_messages_of_files(self) -> None:
        places = [message.key for message in self.HISTORY.messages(self.URI)]
        assert places[-1] == b"metadata"

    def test_saved_in_a_directory(self, tmp_path: Path) -> None:
        files = self.HISTORY.files(self.URI)
        files.save(tmp_path / "lake")
        assert set(self.HISTORY.files(f"file://{tmp_path}/lake?protocol=csv&flush-interval=2s").contents) == {
            path.relative_to(tmp_path / "lake").as_posix() for path in tmp_path.rglob("*") if path.is_file()
        }


class TestTablesOfAProtocol:
    SCHEMA = (
        "create table test.t (e enum('a','b') primary key, s set('x','y','z'), b varbinary(9), l blob, c text, n int)"
    )
    ROW: ClassVar = {"e": "b", "s": "x,z", "b": "AO8K", "l": "AO8K", "c": "né", "n": "5"}

    @pytest.mark.parametrize(
        ("protocol", "shown"),
        [
            ("canal-json", {"e": "2", "s": "5", "b": "\x00\xef\n", "l": "\x00\xef\n"}),
            ("open-protocol", {"e": "2", "s": "5", "b": "\\x00\\xef\\n", "c": "bsOp"}),
            ("simple-json", {"e": "2", "s": "5"}),
            ("simple-avro", {"e": "2", "s": "5"}),
            ("debezium", {}),
            ("debezium-avro", {}),
            ("avro", {}),
            (None, {}),
        ],
    )
    def test_values(self, protocol: str | None, shown: Any) -> None:
        wanted = self.ROW | shown
        history = History(self.SCHEMA, [change(0, None, self.ROW)])
        assert history.tables(protocol=protocol) == {("test", "t"): {(wanted["e"],): wanted}}

    def test_a_protocol_that_is_not_known(self) -> None:
        with pytest.raises(ConfigError, match=r"unknown protocol 'canaljson'.*Did you mean canal-json"):
            History(self.SCHEMA).tables(protocol="canaljson")

    @settings(max_examples=examples(400), deadline=None)
    @given(histories(ddl_kinds=(), allow_virtual=False))
    def test_canal_json_as_json_reads_it(self, history: History) -> None:
        tables: dict[Any, dict[Any, Any]] = {name: {} for name in history.tables()}
        keys = {(info.schema, info.name): [each.name for each in info.whole_handle_key]
                for info in history.catalog().tables()}  # fmt: skip
        for each in history.messages("memory://any/?protocol=canal-json&partition-num=1"):
            event = json.loads(each.value or b"")
            assert event["isDdl"] is False
            table = event["database"], event["table"]
            for data, old in zip(event["data"], event["old"] or [{}], strict=True):
                before = data | old
                if event["type"] != "INSERT":
                    tables[table].pop(tuple(before[name] for name in keys[table]))
                if event["type"] != "DELETE":
                    tables[table][tuple(data[name] for name in keys[table])] = data
        assert tables == history.tables(protocol="canal-json")


class TestChecksums:
    def test_rows_may_bring_the_checksum_that_ticdc_read(self) -> None:
        given = {"corrupted": True, "current": 7, "previous": 0, "version": 1}
        history = History(SCHEMA, [change(0, None, row("1", "a"), checksum=given), change(1, None, row("2", "b"))])
        uri = "kafka://127.0.0.1:9092/orders?partition-num=1&protocol=simple"
        contents = [json.loads(message.value or b"") for message in history.messages(uri, integrity=True)]
        shown = [content["checksum"] for content in contents if content["type"] == "INSERT"]
        assert (shown[0]["corrupted"], shown[0]["current"], shown[0]["version"]) == (True, 7, 1)
        assert not shown[1]["corrupted"]


class TestRepr:
    OTHERS = "create database app; create table test.u (id int primary key);\n"

    def test_a_small_history_is_an_expression_in_sql_with_the_tables_that_it_uses(self) -> None:
        rows = [change(0, None, row("1", "a\x1b\n'\\")), change(0, None, row("2", '"""'))]
        ddl = ((tso(1), "alter table t add column w int"),)
        history = History(self.OTHERS + SCHEMA, rows, ddl, time_zone="Asia/Shanghai")
        shown = repr(history)
        assert shown.startswith('History.from_sql("""\nBEGIN;\nINSERT INTO test.t VALUES (1, ')
        assert shown.endswith(
            'create table test.t (id int primary key, v varchar(9))\n""", time_zone=\'Asia/Shanghai\')'
        )
        assert "test.u" not in shown
        assert shown.isascii()
        assert all(char.isprintable() or char == "\n" for char in shown)
        assert eval(shown).tables() == {("test", "t"): history.tables()["test", "t"]}

    def test_statements_without_a_database_keep_theirs(self) -> None:
        schema = "create table a.t (id int primary key); create table b.u (id int primary key)"
        history = History(schema, (), ((FIRST, "create table t (id int primary key)"),))
        assert ("test", "t") in history.tables()
        assert eval(repr(history)).tables() == history.tables()

    @pytest.mark.parametrize(
        ("history", "shown"),
        [
            (History(SCHEMA, [change(0, row("1", "a"), None)], begins_empty=False), ", begins_empty=False)"),
            (History("create table test.t (id int)", [change(0, row("1", names="id"), None)]), "\n])"),
            (History("no SQL", [{"op": None}]), "\n    {'op': None},\n])"),
        ],
    )
    def test_what_sql_does_not_tell_is_shown_as_rows(self, history: History, shown: str) -> None:
        assert repr(history).startswith('History("""\n')
        assert repr(history).endswith(shown)
        assert eval(repr(history)).rows == history.rows

    def test_a_large_one_has_a_summary_and_others_print_it_as_it_is(self) -> None:
        rows = [change(number, None, row(str(number), "a")) for number in range(101)]
        assert repr(History(SCHEMA, rows)) == "<History of test.t: 101 rows, 0 statements>"
        assert pretty.pretty(History(SCHEMA, rows[:1])) == repr(History(SCHEMA, rows[:1]))
