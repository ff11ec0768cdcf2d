"""A storage sink's files beyond what was recorded: clean-up, discarded rows, tables by id, what is refused."""

from __future__ import annotations

import json
import logging
import warnings
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ticdc_emit.config import ConfigWarning, load_changefeed
from ticdc_emit.errors import DeliveryError, SchemaError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.storage import FileRules, MemoryFolder, StorageFiles, TableRows

NOW = datetime(2024, 5, 6, 23, 30, tzinfo=timezone.utc)
TS = 450000000262144000
CREATE = "create table shop.orders (id int primary key)"


class Sink:
    """A sink with a table, and its folder."""

    def __init__(
        self, release: str = "next", folder: MemoryFolder | None = None, start_ts: int = 1, **sink: Any
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConfigWarning)
            config = load_changefeed("s3://b?protocol=csv", {"sink": sink}, release=release, time_zone="Asia/Tokyo")
        self.catalog = Catalog()
        self.catalog.apply("create database shop")
        self.folder = folder or MemoryFolder()
        self.files = StorageFiles(FileRules.of(config), self.folder, start_ts=start_ts, now=NOW)

    def ddl(self, query: str, commit_ts: int) -> DdlEvent:
        (event,) = self.catalog.apply(query, commit_ts=commit_ts)
        self.files.ddl(event)
        return event

    def rows(self, data: bytes = b"1\n", *, info: TableInfo | None = None, physical_id: int | None = None) -> None:
        table = info or self.catalog.table("shop", "orders")
        self.files.rows(TableRows(table, table.id if physical_id is None else physical_id, data, b"#\n"))

    @property
    def paths(self) -> list[str]:
        return [write.path for write in self.folder.writes]


def test_a_table_and_its_rows() -> None:
    sink = Sink()
    sink.ddl(CREATE, TS)
    sink.rows()
    sink.rows(b"2\n")
    assert len(sink.paths) == 1
    sink.files.flush()
    sink.files.flush()
    data = f"shop/orders/{TS}/2024-05-07"  # the zone of the changefeed
    assert sink.paths[1:] == [f"{data}/CDC00000000000000000001.csv", f"{data}/meta/CDC.index"]
    assert sink.folder.contents[sink.paths[1]] == b"#\n1\n2\n"
    assert sink.folder.contents[sink.paths[2]] == b"CDC00000000000000000001.csv\n"


@pytest.mark.parametrize("release", ["classic", "next"])
def test_rows_of_an_older_version_with_the_same_columns(release: str, caplog: pytest.LogCaptureFixture) -> None:
    sink = Sink(release)
    old = sink.ddl(CREATE, TS).table_info
    assert old is not None
    sink.ddl("truncate table shop.orders", TS + 10)
    assert len(sink.paths) == 2
    del sink.folder.contents[sink.paths[0]]
    again = Sink(release, sink.folder, start_ts=TS + 5)
    with caplog.at_level(logging.WARNING):
        again.rows(info=replace(old, version=TS))
        again.files.flush()
    if release == "classic":
        assert again.paths[2].startswith(f"shop/orders/{TS + 10}/")
    else:
        assert len(again.paths) == 2
        assert "rows of shop.orders are discarded" in caplog.text


def test_rows_without_a_ddl_write_their_schema() -> None:
    sink = Sink(start_ts=TS)
    sink.catalog.apply(CREATE)
    sink.rows()
    sink.files.flush()
    assert sink.paths[0].startswith(f"shop/orders/meta/schema_{TS}_")
    shown = json.loads(sink.folder.contents[sink.paths[0]])
    assert (shown["Query"], shown["Type"], shown["TableVersion"]) == ("", 0, TS)


def test_numbers_are_read_from_the_index_file() -> None:
    first = Sink()
    first.ddl(CREATE, TS)
    first.rows()
    first.files.flush()
    index = first.paths[-1]
    first.folder.contents[index] = b"CDC0000007.csv\n"
    second = Sink(folder=first.folder, start_ts=TS)
    second.catalog.apply(CREATE, commit_ts=TS)
    second.rows()
    second.files.flush()
    assert second.paths[-2].endswith("CDC00000000000000000008.csv")
    first.folder.contents[index] = b"nothing"
    third = Sink(folder=first.folder, start_ts=TS)
    third.catalog.apply(CREATE, commit_ts=TS)
    third.rows()
    with pytest.raises(DeliveryError, match="filename in storage sink is invalid"):
        third.files.flush()


def test_a_ddl_has_the_rows_before_it_written() -> None:
    for release, tables in (("next", {"orders"}), ("classic", {"orders", "stock"})):
        sink = Sink(release)
        sink.ddl(CREATE, TS)
        sink.ddl("create table shop.stock (id int primary key)", TS + 1)
        sink.rows()
        sink.rows(info=sink.catalog.table("shop", "stock"))
        known = len(sink.paths)
        sink.ddl("alter table shop.orders add column a int", TS + 2)
        data = [path for path in sink.paths[known:] if path.endswith(".csv")]
        assert {path.split("/")[1] for path in data} == tables
        assert "schema_" in sink.paths[-1]


def test_dropping_a_database_has_the_rows_of_its_tables_written() -> None:
    sink = Sink()
    sink.ddl(CREATE, TS)
    sink.rows()
    sink.ddl("drop database shop", TS + 1)
    assert [path.rpartition("/")[2] for path in sink.paths[1:3]] == ["CDC00000000000000000001.csv", "CDC.index"]
    assert sink.paths[-1].startswith(f"shop/meta/schema_{TS + 1}_")


def test_a_ddl_without_columns() -> None:
    event = DdlEvent("drop table x", "drop table", "shop", "x", commit_ts=TS)
    sink = Sink()
    sink.files.ddl(event)
    assert json.loads(sink.folder.contents[sink.paths[0]])["TableColumns"] is None
    with pytest.raises(SchemaError, match="a DDL of a table without columns"):
        Sink("classic").files.ddl(event)


def test_tables_by_their_ids() -> None:
    sink = Sink(**{"cloud-storage-config": {"use-table-id-as-path": True}})
    info = sink.ddl(CREATE, TS).table_info
    assert info is not None
    sink.rows()
    sink.ddl("create database other", TS + 1)
    sink.files.flush()
    assert [path.split("/")[0] for path in sink.paths] == [str(info.id)] * 3


def test_checkpoints_are_two_seconds_apart() -> None:
    sink = Sink()
    for seconds, ts in ((1, 5), (2, 6), (3, 7), (4, 4), (5, 8)):
        sink.files.now = NOW + timedelta(seconds=seconds)
        sink.files.checkpoint(ts)
    shown = [write.content for write in sink.folder.writes]
    assert shown == [b'{"checkpoint-ts":6}', b'{"checkpoint-ts":8}']
