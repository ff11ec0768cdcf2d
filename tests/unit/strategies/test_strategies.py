"""The public strategies: what they draw is valid and has extremes, arguments are checked, examples shrink to little."""

from __future__ import annotations

import copy
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from hypothesis_profiles import examples

from ticdc_emit import Encoder
from ticdc_emit.config import RELEASES
from ticdc_emit.database.tables import Database
from ticdc_emit.errors import DdlError, StrategyError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.strategies import (
    DDL_KINDS,
    PROTOCOLS,
    TYPES,
    changefeeds,
    changes,
    ddl,
    deliveries,
    histories,
    names,
    rows,
    tables,
    values,
)
from ticdc_emit.traffic.history import History

FINDING = settings(max_examples=2000, phases=[Phase.generate], derandomize=True, database=None)
SHRINKING = settings(FINDING, phases=[Phase.generate, Phase.shrink])
SCHEMA = "create table test.t (id int primary key, v varchar(9), n int unique)"


def parsed(sql: str) -> TableInfo:
    (info,) = catalog_from_sql(sql).tables()
    return info


def found(strategy: st.SearchStrategy[Any], condition: Callable[[Any], Any], how: settings = FINDING) -> Any:
    return find(strategy, condition, settings=how)


def never(strategy: st.SearchStrategy[Any], condition: Callable[[Any], Any]) -> None:
    with pytest.raises(NoSuchExample):
        find(strategy, condition, settings=settings(FINDING, max_examples=100))


def of_type(sql: str, **options: Any) -> st.SearchStrategy[str | None]:
    return values(parsed(f"create table test.t (c {sql})").column("c"), **options)


class TestValues:
    @pytest.mark.parametrize(
        ("kind", "texts"),
        [
            ("tinyint", ["-128", "127", None]),
            ("mediumint unsigned", ["0", "16777215"]),
            ("bigint unsigned", ["18446744073709551615"]),
            ("bigint", ["-9223372036854775808"]),
            ("bit(3)", ["7"]),
            ("year", ["0", "1901", "2155"]),
            ("decimal(65,30)", [f"-{'9' * 35}.{'9' * 30}", "0." + "0" * 30]),
            ("decimal(3,0) unsigned", ["999"]),
            ("decimal(2,2)", ["0.00", "-0.99"]),
            ("varchar(9)", ["", "null", "NULL", "\\N", "😀", "\0"]),
            ("varchar(9) character set utf8", ["中"]),
            ("binary(2)", ["AAA="]),
            ("varbinary(2)", ["", "AA==", "AAA="]),
            ("date", ["0000-00-00", "2024-00-00"]),
            ("datetime(2)", ["0000-00-00 00:00:00.00"]),
            ("timestamp(3)", ["1970-01-01 00:00:01.000", "2038-01-19 03:14:07.000", "0000-00-00 00:00:00.000"]),
            ("time(1)", ["-838:59:59.0", "838:59:59.0"]),
            ("enum('a','b''c')", ["a", "b'c"]),
            ("set('a','b')", ["", "b", "a,b"]),
            ("json", ["null", "{}", "true"]),
            ("vector(2)", ["[0,0]"]),
            ("float", ["0", "-0"]),
        ],
    )
    def test_extremes(self, kind: str, texts: list[str | None]) -> None:
        for text in texts:
            assert found(of_type(kind), lambda drawn, wanted=text: drawn == wanted) == text

    @pytest.mark.parametrize(
        ("kind", "condition"),
        [
            ("float", lambda text: "." in text and len(text) > 20),
            ("double", lambda text: len(text) > 300),
            ("varchar(9) character set gbk", lambda text: len(text.encode("gbk")) > 9),
            ("datetime(6)", lambda text: text > "9000" and not text.endswith("000")),
            ("json", lambda text: '": ' in text and ", " in text),
            ("longtext", lambda text: len(text) == 40),
        ],
    )
    def test_unusual_ones(self, kind: str, condition: Callable[[str], bool]) -> None:
        assert found(of_type(kind), lambda text: text is not None and condition(text))

    @pytest.mark.parametrize(
        ("kind", "condition"),
        [
            ("int not null", lambda text: text is None),
            ("char(3)", lambda text: text is not None and text.endswith(" ")),
            ("varchar(3)", lambda text: text is not None and len(text) > 3),
            ("varchar(9) character set utf8", lambda text: text is not None and any(c > "\uffff" for c in text)),
            ("varchar(9) character set ascii", lambda text: text is not None and not text.isascii()),
            ("double unsigned", lambda text: text is not None and text.startswith("-") and text != "-0"),
            ("float(5,2)", lambda text: text is not None and abs(float(text)) >= 1000),
        ],
    )
    def test_what_no_column_has(self, kind: str, condition: Callable[[str | None], bool]) -> None:
        never(of_type(kind), condition)

    @pytest.mark.parametrize("kind", ["date", "datetime(3)", "timestamp"])
    def test_without_zero_dates(self, kind: str) -> None:
        never(of_type(kind, allow_zero_dates=False), lambda text: text is not None and "-00" in text)

    def test_timestamps_are_of_the_time_zone(self) -> None:
        texts = of_type("timestamp not null", time_zone="Asia/Shanghai", allow_zero_dates=False)
        assert found(texts, lambda text: text == "2038-01-19 11:14:07")
        never(texts, lambda text: text < "1970-01-01 08:00:01")

    def test_an_unknown_time_zone(self) -> None:
        with pytest.raises(StrategyError, match="Nowhere"):
            of_type("timestamp", time_zone="Nowhere")


@settings(max_examples=examples(200))
@given(st.data(), st.sampled_from(["UTC", "Asia/Shanghai", "Australia/Lord_Howe"]))
def test_what_is_drawn_is_canonical(data: st.DataObject, zone: str) -> None:
    """Canal-JSON's data are a row's texts, but for labels, which are numbers there, and for binary data."""
    other = {"enum", "set", "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
    sql = data.draw(tables(types=[name for name in TYPES if name not in other]))
    row = data.draw(rows(sql, time_zone=zone))
    encoder = Encoder("memory://t/?protocol=canal-json", sql, time_zone=zone)
    (message,) = encoder.encode([{"op": "c", "commit_ts": 1 << 60, "after": row}]).to_pylist()
    assert json.loads(message["value"])["data"] == [row]


class TestTables:
    @pytest.mark.parametrize("kind", TYPES)
    def test_every_type(self, kind: str) -> None:
        keyed = [kind] if kind == "int" else [kind, "int"]
        sql = found(tables(types=keyed), lambda text: re.search(rf"` {kind}\b", text))
        assert parsed(sql).whole_handle_key

    @settings(max_examples=examples(200))
    @given(tables(allow_keyless=True, names=names(allow_odd=True), schema="it's"))
    def test_statements_apply(self, sql: str) -> None:
        assert parsed(sql).schema == "it's"

    @pytest.mark.parametrize(
        "condition",
        [
            lambda info: len(info.whole_handle_key) > 1,
            lambda info: info.whole_primary_key and not (info.pk_is_handle or info.common_handle),
            lambda info: info.whole_handle_key and not info.whole_primary_key,
            lambda info: any(column.is_virtual for column in info),
            lambda info: sum(index.unique for index in info.indexes) > 1,
            lambda info: any(column.default is not None for column in info),
            lambda info: any(column.unsigned and column.nullable for column in info),
        ],
    )
    def test_kinds_of_tables(self, condition: Callable[[TableInfo], Any]) -> None:
        assert found(tables(), lambda sql: condition(parsed(sql)))

    def test_keyless_ones_only_where_allowed(self) -> None:
        assert found(tables(allow_keyless=True), lambda sql: not parsed(sql).whole_handle_key)
        never(tables(), lambda sql: not parsed(sql).whole_handle_key)

    def test_it_shrinks(self) -> None:
        sql = found(tables(), lambda sql: True, SHRINKING)
        assert re.fullmatch(r"create table `test`.`\w{1,2}` \((`\w{1,2}`) tinyint not null, primary key \(\1\)\)", sql)


class TestChanges:
    def test_kinds(self) -> None:
        for op, images in {"insert": (False, True), "update": (True, True), "delete": (True, False)}.items():
            change = found(changes(SCHEMA), lambda drawn, wanted=op: drawn["op"] == wanted)
            assert (change["before"] is not None, change["after"] is not None) == images

    def test_key_updates(self) -> None:
        def moved(change: dict[str, Any]) -> bool:
            return bool(change["before"] and change["after"] and change["before"]["id"] != change["after"]["id"])

        assert found(changes(SCHEMA), moved)
        never(changes(SCHEMA, allow_key_updates=False), moved)

    def test_encodable(self) -> None:
        change = found(changes(parsed(SCHEMA), ops=["update"]), lambda drawn: True)
        assert Encoder("memory://t/?protocol=canal-json", SCHEMA).encode([change]).num_rows == 1


class TestDdl:
    CATALOG = catalog_from_sql(
        "create table test.t (id int primary key, a decimal(5,2), b int, c text, e enum('x'), key (a), key two (b, a));"
        "create table test.u (f float not null, t time(2), g bigint as (f) virtual, unique key (f));"
    )

    @pytest.mark.parametrize("kind", DDL_KINDS)
    def test_every_kind_applies(self, kind: str) -> None:
        query = found(ddl(self.CATALOG, kinds=[kind]), lambda text: True)
        catalog = copy.deepcopy(self.CATALOG)
        (event,) = catalog.apply(query)
        assert event.action.endswith(kind) or (kind, event.action) == ("rename column", "modify column")

    @settings(max_examples=examples(60))
    @given(st.data())
    def test_handle_keys_stay(self, data: st.DataObject) -> None:
        catalog = copy.deepcopy(self.CATALOG)
        for _ in range(4):
            catalog.apply(data.draw(ddl(catalog, names=names(allow_odd=True))))
        assert all(info.whole_handle_key for info in catalog.tables())

    def test_the_last_table_stays(self) -> None:
        catalog = catalog_from_sql("create table test.t (id int)")
        with pytest.raises(StrategyError, match="applies"):
            ddl(catalog, kinds=["drop table", "drop index"])

    def test_what_tidb_refuses_is_not_drawn(self) -> None:
        columns = "id int primary key, a int, b int, foreign key (a) references t (id)"
        catalog = catalog_from_sql(f"create table test.t ({columns})")
        never(ddl(catalog, kinds=["drop column"]), lambda query: "`a`" in query)

    def test_key_columns_whose_values_would_be_stored_anew_stay(self) -> None:
        columns = "a float, b time(2), c decimal(5,2), d int, e varchar(5), primary key (a, b, c, d, e)"
        catalog = catalog_from_sql(f"create table test.t ({columns})")
        never(ddl(catalog, kinds=["modify column"]), lambda query: any(f"column `{name}`" in query for name in "abc"))


def commits(history: History) -> dict[tuple[Any, ...], list[Any]]:
    """Return the rows by commit_ts, schema and table."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for row in history.rows:
        found.setdefault((row["commit_ts"], row["schema"], row["table"]), []).append(row)
    return found


class TestHistories:
    @settings(max_examples=examples(200))
    @given(histories(allow_keyless=True, max_commits=10))
    def test_tidb_can_have_had_them(self, history: History) -> None:
        """Every before image is the row as it was, no key is there twice, a transaction changes a row once."""
        fold = Database(history.catalog(), history.time_zone)
        queries, changed = dict(history.ddl), commits(history)
        assert len(queries) == len(history.ddl)
        assert not queries.keys() & {ts for ts, *_ in changed}
        for place in sorted([*((ts,) for ts in queries), *changed]):
            if place not in changed:
                fold.apply(place[0], queries[place[0]])
                continue
            own = changed[place]
            left = [dict(row) for row in fold.tables[place[1:]].values()]
            for change in own:
                if change["before"] is not None:
                    left.remove(change["before"])
            left += [change["after"] for change in own if change["after"] is not None]
            fold.commit(own)
            assert sorted(map(repr, left)) == sorted(repr(row) for row in fold.tables[place[1:]].values())
        assert fold.tables == history.tables()

    def test_without_deletes(self) -> None:
        """No row of a key is sent as a delete: unique keys keep their values."""
        keys = "create table test.t (id int primary key, u int not null, v int, unique key (u))"

        def deletes(history: History) -> bool:
            changed = [row for row in history.rows if row["op"] == "update"]
            moves = any(row["before"][name] != row["after"][name] for row in changed for name in ("id", "u"))
            return moves or any(row["op"] == "delete" for row in history.rows)

        assert found(histories(keys), deletes)
        never(histories(keys, ddl_kinds=(), allow_deletes=False), deletes)
        assert found(
            histories(keys, allow_deletes=False), lambda history: {row["op"] for row in history.rows} > {"insert"}
        )

    def test_labels_with_backslashes_are_drawn_where_they_are_asked_for(self) -> None:
        def has_them(history: History) -> bool:
            return any("\\" in query for query in (history.schema, *(query for _, query in history.ddl)))

        quick = settings(max_examples=examples(200), phases=[Phase.generate])
        kinds = {"types": ["int", "enum"], "ddl_kinds": ["add column", "modify column"]}
        find(histories(**kinds, allow_backslashes=True), has_them, settings=quick)
        with pytest.raises(NoSuchExample):
            find(histories(**kinds), has_them, settings=quick)

    @pytest.mark.parametrize(
        "condition",
        [
            lambda history: any("seq" in row for row in history.rows),
            lambda history: len({row["table"] for row in history.rows}) > 1,
            lambda history: {row["op"] for row in history.rows} == {"insert", "update", "delete"},
            lambda history: any(
                row["op"] == "update" and row["before"]["id"] != row["after"]["id"] for row in history.rows
            ),
            lambda history: history.ddl and history.rows[-1:] and history.rows[-1]["commit_ts"] > history.ddl[0][0],
        ],
    )
    def test_what_happens(self, condition: Callable[[History], Any]) -> None:
        schema = f"{SCHEMA}; create table test.u (id varchar(9) primary key)"
        kinds = ["add column", "comment"]
        assert found(histories(schema, ddl_kinds=kinds), condition)

    def test_it_shrinks(self) -> None:
        small = histories("create table test.t (id int primary key)", max_commits=4, ddl_kinds=["comment"])
        history = found(small, lambda drawn: any(row["op"] == "delete" for row in drawn.rows), SHRINKING)
        row = {"id": "0"}
        assert [(each["before"], each["after"]) for each in history.rows] == [(None, row), (row, None)]
        assert history.ddl == ()

    def test_without_ddl_and_seq(self) -> None:
        never(
            histories(SCHEMA, ddl_kinds=(), allow_seq=False, max_commits=4),
            lambda history: history.ddl or any("seq" in row for row in history.rows),
        )

    def test_a_mistyped_kind(self) -> None:
        with pytest.raises(StrategyError, match=r"^ddl_kinds=\['add colum'\]: not all.*Did you mean add column\? Give"):
            histories(ddl_kinds=["add colum"])

    def test_wrong_sql(self) -> None:
        with pytest.raises(DdlError):
            histories("create tabel t (id int)")


class TestChangefeeds:
    @settings(max_examples=examples(300))
    @given(
        changefeeds(partitions=["table", "index-value", "ts", "default"], releases=[*RELEASES], compression=True)
        | changefeeds(releases=[*RELEASES], stored=True)
    )
    def test_they_load_without_a_warning(self, feed: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            config = feed.load()
        assert config.storage is None or config.sink_uri.scheme == "noop"
        assert config.storage is not None or 1 <= config.kafka.partition_num <= 4

    def test_a_release_and_the_protocols_that_it_has(self) -> None:
        drawn: set[tuple[str, str]] = set()

        @settings(max_examples=60)
        @given(changefeeds(releases=["7.5", "8.1"]))
        def draw(feed: Any) -> None:
            config = feed.load()
            drawn.add((config.release.name, config.codec.protocol.value))

        draw()
        known = {"canal-json", "simple", "avro", "open-protocol"}
        releases = {release: {name for each, name in drawn if each == release} for release, _ in drawn}
        assert releases == {"classic-7.5.7": known, "classic-8.1.2": known | {"debezium"}}

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_one_protocol(self, protocol: str) -> None:
        assert found(changefeeds(protocols=[protocol]), lambda feed: True).load().codec.protocol == protocol

    @pytest.mark.parametrize(
        ("release", "drawn"),
        [
            ("next", lambda config: config.storage.use_table_id_as_path and config.storage.file_size == 1024),
            ("next", lambda config: config.storage.enable_table_across_nodes and config.codec.csv.quote == ""),
            ("next", lambda config: config.codec.csv.output_field_header),
            ("next", lambda config: not config.storage.enable_partition_separator),
            ("classic", lambda config: config.storage.date_separator == "month" and config.codec.terminator == "\n"),
            ("classic", lambda config: config.storage.output_column_id and config.storage.file_index_digit == 6),
        ],
    )
    def test_options_of_files_by_release(self, release: str, drawn: Callable[[Any], Any]) -> None:
        assert found(changefeeds(protocols="csv", releases=release, stored=True), lambda feed: drawn(feed.load()))

    def test_options_that_a_release_lacks_are_not_drawn(self) -> None:
        old = changefeeds(releases="classic-8.5.7", stored=True)
        never(old, lambda feed: "use-table-id-as-path" in feed.changefeed["sink"]["cloud-storage-config"])
        never(old, lambda feed: "output-field-header" in feed.changefeed["sink"].get("csv", {}))
        never(old, lambda feed: feed.load().storage.file_size < 1 << 20)

    def test_a_storage_sink_has_two_protocols(self) -> None:
        with pytest.raises(StrategyError, match=r"simple.*Give some of canal-json, csv"):
            changefeeds(protocols="simple", stored=True)

    def test_compression_only_if_it_is_asked_for(self) -> None:
        def compresses(feed: Any) -> bool:
            return feed.load().codec.large_message_handle.compression != "none"

        never(changefeeds(), compresses)
        assert found(changefeeds(compression=True), compresses)

    @settings(max_examples=50)
    @given(changefeeds(force_replicate=True, max_partitions=1))
    def test_tables_without_key(self, feed: Any) -> None:
        config = feed.load()
        assert config.force_replicate
        assert config.kafka.partition_num == 1


WRONG: list[tuple[Callable[..., Any], str, list[dict[str, Any]]]] = [
    (tables, "types", [{"types": value} for value in (["integer"], "", [], ["json", "text"])]),
    (tables, "max_columns", [{"max_columns": 0}]),
    (changes, "ops", [{"table": SCHEMA, "ops": value} for value in ("upsert", [], ["upsert"])]),
    (rows, "table", [{"table": "create table a (id int); create table b (id int)"}]),
    (ddl, "kinds", [{"catalog": TestDdl.CATALOG, "kinds": value} for value in ("add columns", [], ["add columns"])]),
    (histories, "max_commits", [{"max_commits": 0}]),
    (histories, "max_tables", [{"max_tables": 0}]),
    (histories, "schema", [{"schema": ""}]),
    (histories, "types", [{"types": ["integer"]}]),
    (histories, "ddl_kinds", [{"ddl_kinds": ["add colum"]}, {"ddl_kinds": ""}]),
    (changefeeds, "protocols", [{"protocols": value} for value in (["canal"], "canaljson", [7])]),
    (changefeeds, "force_replicate", [{"protocols": ["avro"], "force_replicate": True}]),
    (changefeeds, "partitions", [{"partitions": ["rowid"]}, {"partitions": []}]),
    (changefeeds, "max_partitions", [{"max_partitions": 0}]),
    (changefeeds, "releases", [{"releases": "9.9"}, {"releases": ["8.1"], "protocols": "debezium-avro"}]),
    (deliveries, "max_restarts", [{"max_restarts": -1}]),
]


@pytest.mark.parametrize(
    ("strategy", "argument", "given"),
    [(strategy, argument, given) for strategy, argument, several in WRONG for given in several],
)
def test_a_wrong_argument_is_named(strategy: Callable[..., Any], argument: str, given: dict[str, Any]) -> None:
    with pytest.raises(StrategyError) as caught:
        strategy(**given)
    assert caught.value.argument == argument


def test_the_documented_tests_have_no_deadline() -> None:
    root = Path(__file__).parents[3]
    pages = [(root / "README.md"), *(root / "docs").glob("*.md")]
    decorated = [page.read_text(encoding="utf-8").split("\n@given(")[:-1] for page in pages]
    settings_of = [part.rpartition("\n")[2] for parts in decorated for part in parts]
    assert len(settings_of) >= 3
    assert [line for line in settings_of if "deadline=None" not in line] == []
