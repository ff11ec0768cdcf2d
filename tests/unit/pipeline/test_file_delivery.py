"""Changefeeds with a storage sink: what is in the folder, whatever cuts the rows, and after a batch that runs again."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit import Encoder
from ticdc_emit.config import ChangefeedConfig, ConfigWarning, load_changefeed
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.deliver.file_delivery import DiscardedRowsWarning
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.protocols.csv.decoder import CsvReader, CsvRow
from ticdc_emit.storage.paths import FileNames, SchemaFile

TS, SECOND = 450000000262144000, 1000 << 18
ORDERS = "create table shop.orders (id int primary key, n int)"


def config(folder: Path, more: str = "", release: str = "next", **changefeed: Any) -> ChangefeedConfig:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        csv = {"include-commit-ts": True, "output-old-value": True}
        given = {"sink": {"csv": csv, **changefeed.pop("sink", {})}, **changefeed}
        return load_changefeed(f"file://{folder}?protocol=csv{more}", given, release=release, strict=False)


def feed(config: ChangefeedConfig, schema: str = ORDERS, **options: Any) -> Changefeed:
    return Changefeed(config, sink_for(config), schema, **options)


def row(number: int, *, after_s: float = 0, **more: Any) -> dict[str, Any]:
    return {"op": "c", "commit_ts": TS + int(after_s * SECOND), "after": {"id": number, "n": number}, **more}


def batch(rows: Iterable[dict[str, Any]], table: str = "shop.orders", pieces: int = 1) -> ArrowBatch:
    import pyarrow as pa

    whole = pa.Table.from_pylist(list(rows)).combine_chunks().to_batches()[0]
    size = max(1, whole.num_rows // pieces)
    return ArrowBatch([whole.slice(start, size) for start in range(0, whole.num_rows, size)], table)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def read(folder: Path, config: ChangefeedConfig, table: str = "shop/orders") -> list[CsvRow]:
    rows: list[CsvRow] = []
    reader = CsvReader(config.codec, config.release.csv)
    names = FileNames(".csv", config.storage.file_index_digit)
    for index in sorted((folder / table).rglob("meta/CDC.index")):
        last = names.number(index.read_text().strip())
        for number in range(1, last + 1):
            rows += reader.rows((index.parents[1] / names.name(number)).read_bytes(), header=True)
    return rows


def numbers(rows: Iterable[CsvRow]) -> list[int]:
    return [int(each.values[0] or 0) for each in rows]


def test_the_flush_interval_of_commit_times_cuts_files(tmp_path: Path) -> None:
    made = config(tmp_path, "&flush-interval=2s")
    report = feed(made).run(batch(row(number, after_s=number / 2) for number in range(20)), 0, final=True)
    assert report.rows == 20
    assert numbers(read(tmp_path, made)) == list(range(20))
    data = [path for path in files(tmp_path) if path.endswith(".csv")]
    assert 5 <= len(data) <= 6  # 10 s, of which the first tick is not the first row
    assert json.loads(files(tmp_path)["metadata"]) == {"checkpoint-ts": TS + int(9.5 * SECOND)}


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_file_ends_after_a_transaction_wherever_chunks_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, partitioned: bool
) -> None:
    monkeypatch.setattr("ticdc_emit.pipeline.direct._HELD_BYTES", 0)
    monkeypatch.setattr("ticdc_emit.pipeline.encode.chunks._BODY_BYTES", 400)
    monkeypatch.setattr("ticdc_emit.pipeline.deliver.merge._JOINED_ROWS", 1)
    schema = ORDERS + " partition by hash (id) partitions 2" * partitioned
    rows = [row(number, after_s=number // 7 / 4) for number in range(300)]
    if partitioned:
        rows = [{**each, "physical_table_id": 100 + (number // 2) % 2} for number, each in enumerate(rows)]
    for pieces in (1, 3, 60):
        made = config(tmp_path / str(pieces), "&file-size=1024&flush-interval=10m")
        feed(made, schema).run(batch(rows, pieces=pieces), 0, final=True)
    assert files(tmp_path / "1") == files(tmp_path / "3") == files(tmp_path / "60")
    data = [(path, content) for path, content in files(tmp_path / "1").items() if path.endswith(".csv")]
    transactions = [{line.split(b",")[3] for line in content.splitlines()} for _, content in data]
    folders = [path.rpartition("/")[0] for path, _ in data]
    for folder, other, one, two in zip(folders, folders[1:], transactions, transactions[1:], strict=False):
        assert folder != other or not one & two
    assert len(data) > 12


def test_a_date_that_rolls_over_begins_at_one_again(tmp_path: Path) -> None:
    made = config(tmp_path, "&flush-interval=10m")
    feed(made).run(batch(row(number, after_s=number * 6 * 3600) for number in range(8)), 0, final=True)
    folders = {path.split("/")[3] for path in files(tmp_path) if path.endswith(".csv")}
    assert folders == {"2024-05-25", "2024-05-26"}
    first = [path for path in files(tmp_path) if path.endswith("CDC00000000000000000001.csv")]
    assert len(first) == 2
    assert numbers(read(tmp_path, made)) == list(range(8))


@pytest.mark.parametrize("release", ["classic", "next"])
def test_no_file_is_replaced_where_a_batch_goes_back_to_an_earlier_date(tmp_path: Path, release: str) -> None:
    """TiCDC's dates only rise, so classic begins a new date at one. Batches may overlap, by ``allowed_lateness``."""
    made = config(tmp_path, release=release)
    changes = feed(made, options=RunOptions(allowed_lateness=86400))
    for number in range(3):
        rows = [row(2 * number, after_s=number), row(2 * number + 1, after_s=number + 86400)]
        changes.run(batch(rows), number, final=False)
    assert numbers(read(tmp_path, made)) == [0, 2, 4, 1, 3, 5]


@pytest.mark.parametrize("release", ["classic", "next"])
def test_ddl_comes_among_the_rows(tmp_path: Path, release: str) -> None:
    made = config(tmp_path, release=release)
    ddl = [
        (TS + 2 * SECOND, "alter table shop.orders add column x int"),
        (TS + 4 * SECOND, "rename table shop.orders to shop.sales"),
    ]
    rows = [row(1), row(2, after_s=1), row(3, after_s=3)]
    rows = [{**each, "after": {**each["after"], "x": 7}} for each in rows]
    changes = feed(made, ddl=ddl)
    changes.run(batch(rows), 0, final=False)
    changes.run(batch([{**row(4, after_s=5), "after": {"id": 4, "n": 4, "x": 7}}], "shop.sales"), 1, final=True)
    assert [len(each.values) for each in read(tmp_path, made)] == [2, 2, 3]
    assert numbers(read(tmp_path, made, "shop/sales")) == [4]
    schemas = {}
    for path, content in files(tmp_path).items():
        if SchemaFile.parse(path):
            shown = json.loads(content)
            schemas[shown["TableVersion"]] = shown["Table"], shown["Type"], shown["TableColumnsTotal"]
    assert schemas == {TS - 1: ("orders", 0, 2), TS + 2 * SECOND: ("orders", 5, 3), TS + 4 * SECOND: ("sales", 14, 3)}
    versions = {path.split("/")[2] for path in files(tmp_path) if path.endswith(".csv")}
    assert versions == {str(TS - 1), str(TS + 2 * SECOND), str(TS + 4 * SECOND)}


def test_a_batch_that_runs_again_writes_its_rows_again(tmp_path: Path) -> None:
    made, rows = config(tmp_path), [row(number, after_s=number) for number in range(3)]
    feed(made).run(batch(rows), 0, final=False)
    before = files(tmp_path)
    feed(made).run(batch(rows), 0, final=False)
    assert before.items() <= {path: files(tmp_path)[path] for path in before}.items() | {
        (path, content) for path, content in before.items() if path.endswith("CDC.index")
    }
    assert numbers(read(tmp_path, made)) == [0, 1, 2, 0, 1, 2]
    assert not [path for path in files(tmp_path) if ".tmp" in path]


@pytest.mark.parametrize("release", ["classic", "next"])
@pytest.mark.parametrize("statement", ["alter table shop.orders add index (n)", "truncate table shop.orders"])
def test_rows_before_a_ddl_stay_before_it_where_a_batch_runs_again(
    tmp_path: Path, release: str, statement: str
) -> None:
    """The DDL keeps the columns, so its schema file, which is there at the second run, has the same checksum."""
    made, ddl = config(tmp_path, release=release), [(TS + 5 * SECOND, statement)]
    feed(made, ddl=ddl).run(batch([row(1)]), 0, final=False)
    later = [row(2, after_s=4), row(3, after_s=6)]
    for _ in range(2):
        feed(made, ddl=ddl).run(batch(later), 1, final=False)
    found = {path: content for path, content in files(tmp_path).items() if path.endswith(".csv")}
    first, second = str(TS - 1), str(TS + 5 * SECOND)
    assert {path.split("/")[2] for path in found} == {first, second}
    rows = read(tmp_path, made)
    assert numbers(rows) == [1, 2, 2, 3, 3]


def test_exchanged_partitions(tmp_path: Path) -> None:
    schema = """create table shop.orders (id int primary key, n int) partition by range (id)
        (partition p0 values less than (10)); create table shop.plain (id int primary key, n int)"""
    statement = "alter table shop.orders exchange partition p0 with table shop.plain"
    made = config(tmp_path)
    changes = feed(made, schema, ddl=[(TS + SECOND, statement)])
    changes.run(batch([row(1)]), 0, final=True)
    shown = {
        (each["Table"], each["Query"][:5], each["Type"])
        for path, content in files(tmp_path).items()
        if SchemaFile.parse(path) and (each := json.loads(content))["TableVersion"] == TS + SECOND
    }
    assert shown == {("orders", "ALTER", 42), ("plain", "", 0)}


def test_the_sink_travels_and_tells_no_secret() -> None:
    uri = "s3://bucket/a?protocol=csv&flush-interval=3s&access-key=AK&secret-access-key=hu+sh&region=eu"
    made = load_changefeed(uri)
    sink = pickle.loads(pickle.dumps(sink_for(made)))
    assert sink.uri.reveal() == "s3://bucket/a?access-key=AK&secret-access-key=hu+sh&region=eu"
    assert "hu+sh" not in f"{sink!r}{made!r}"
    with pytest.raises(ConfigError, match="role-arn of a s3 storage is not supported"):
        sink_for(load_changefeed("s3://bucket/a?protocol=csv&role-arn=x"))
    with pytest.raises(ConfigError, match="names no bucket"):
        sink_for(load_changefeed("s3:///a?protocol=csv"))


def test_nothing_is_written_to_noop() -> None:
    made = load_changefeed("noop://?protocol=csv")
    assert feed(made).run(batch([row(1)]), 0, final=True).rows == 1


def test_an_encoder_gives_the_files_of_control_events() -> None:
    encoder = Encoder("s3://b?protocol=csv", ORDERS)
    (statement,) = encoder.ddl("alter table shop.orders add column x int", TS).to_pylist()
    assert SchemaFile.parse(statement["key"].decode()) is not None
    assert json.loads(statement["value"])["TableColumnsTotal"] == 3
    (mark,) = encoder.watermark(TS).to_pylist()
    assert (mark["key"], mark["value"]) == (b"metadata", b'{"checkpoint-ts":%d}' % TS)


@pytest.mark.parametrize("release", ["classic", "next"])
@pytest.mark.parametrize("options", [{}, {"sink": {"cloud-storage-config": {"use-table-id-as-path": True}}}])
def test_late_rows_are_in_the_folder_of_the_table_as_it_was_at_its_start(
    tmp_path: Path, release: str, options: dict[str, Any]
) -> None:
    made = config(tmp_path, release=release, **options)
    changes = feed(made, options=RunOptions(late="emit"))
    reported = [changes.run(batch([row(number, after_s=-number)]), number, final=False) for number in range(3)]
    assert [(report.rows, report.messages_by_kind["rows"], dict(report.discarded)) for report in reported] == [
        (1, 1, {})
    ] * 3
    found = files(tmp_path)
    data = [path for path in found if path.endswith(".csv")]
    assert len(data) == sum(found[path].count(b"\r\n") for path in data) == 3
    assert len({path.rpartition("/")[0] for path in data}) == 1
    assert [SchemaFile.parse(path).version for path in found if "schema_" in path] == [TS - 1]  # type: ignore[union-attr]


@pytest.mark.parametrize("release", ["classic", "next"])
@pytest.mark.parametrize("later_s", [-60, 3, 60])
def test_another_run_goes_on_in_the_versions_of_the_first(tmp_path: Path, release: str, later_s: int) -> None:
    """A statement after 5 seconds that keeps the columns, of which the other run knows nothing."""
    made = config(tmp_path, release=release)
    first = feed(made, ddl=[(TS + 5 * SECOND, "truncate table shop.orders")])
    first.run(batch([row(1), row(2, after_s=6)]), 0, final=True)
    report = feed(made).run(batch([row(3, after_s=later_s)]), 0, final=True)
    assert report.rows == 1
    versions = [
        path.split("/")[2] for path, content in files(tmp_path).items() if path.endswith(".csv") and b",3" in content
    ]
    assert versions == [str(TS + 5 * SECOND if later_s == 60 else TS - 1)]


@pytest.mark.parametrize(("release", "lost"), [("classic", 0), ("next", 1)])
def test_rows_that_ticdc_discards_are_not_told_as_delivered(tmp_path: Path, release: str, lost: int) -> None:
    """The statement that made the table writes no file, and the folder has a newer version with the same columns."""
    feed(config(tmp_path, release=release)).run(batch([row(1)]), 0, final=True)
    ignored = {"event-filters": [{"matcher": ["shop.*"], "ignore-event": ["create table"]}]}
    made = config(tmp_path, release=release, filter=ignored)
    changes = feed(made, "create database shop", ddl=[(TS - 60 * SECOND, ORDERS)])
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        report = changes.run(batch([row(2, after_s=-30), row(3, after_s=-29)]), 0, final=False)
        changes.run(batch([row(4, after_s=-20)]), 1, final=False)
    told = [str(each.message) for each in warned if each.category is DiscardedRowsWarning]
    assert len(told) == lost
    assert all("shop.orders (2 rows)" in each for each in told)
    assert (report.rows, report.messages_by_kind["rows"], report.discarded_rows) == (
        2 - 2 * lost,
        2 - 2 * lost,
        2 * lost,
    )
    assert str(report).endswith(", 2 rows discarded") is bool(lost)
    assert changes.total.discarded == ({"shop.orders": 3} if lost else {})
    found = files(tmp_path)
    assert sum(found[path].count(b"\r\n") for path in found if path.endswith(".csv")) == 4 - 3 * lost
    assert report.bytes < 100 if lost else report.bytes > 100  # those of the checkpoint, and those of two rows
