"""A storage sink's folder, read: order, what is not there yet, damaged files."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.storage_folder import FolderReader
from ticdc_emit.consume.verify import verify
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.pipeline.batch import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.protocols.events import DdlEvent, DecodeError, RowEvent
from ticdc_emit.storage import Folder, MemoryFolder

TS, SECOND = 450000000262144000, 1000 << 18


class InMemory(StorageSink):
    def folder(self) -> Folder:
        return FOLDER


FOLDER = MemoryFolder()


@pytest.fixture(params=["csv", "canal-json"])
def config(request: pytest.FixtureRequest) -> ChangefeedConfig:
    """A changefeed whose files are in ``FOLDER``: three rows, a column, three rows."""
    FOLDER.contents.clear()
    more = "&enable-tidb-extension=true&flush-interval=2s"
    sink = {"csv": {"include-commit-ts": True}} if request.param == "csv" else {}
    uri = f"s3://b?protocol={request.param}{more if request.param != 'csv' else '&flush-interval=2s'}"
    config = load_changefeed(uri, {"sink": sink})
    made = sink_for(config)
    assert isinstance(made, StorageSink)
    rows = [
        {"op": "c", "commit_ts": TS + number * SECOND, "after": {"id": number, "n": number, "x": number}}
        for number in range(6)
    ]
    ddl = [(TS + 2 * SECOND, "alter table shop.orders add column x int")]
    schema = "create table shop.orders (id int primary key, n int)"
    feed = Changefeed(config, InMemory(made.uri, made.rules), schema, ddl=ddl)
    feed.run(ArrowBatch(pa.Table.from_pylist(rows), "shop.orders"), 0, final=True)
    return config


def reader(config: ChangefeedConfig) -> FolderReader:
    return FolderReader(config, FOLDER, reader_for(config))


def shown(config: ChangefeedConfig, read: FolderReader) -> list[int | str]:
    """The TSO of each row as seconds, and the beginning of each statement."""
    made: list[int | str] = []
    for message in read.read():
        event = reader_for(config).read(message.key, message.value)
        if isinstance(event, DdlEvent):
            made.append(event.query[:11])
        else:
            assert isinstance(event, RowEvent)
            assert event.commit_ts is not None
            made.append((event.commit_ts - TS) // SECOND)
    return made


def test_a_statement_comes_before_the_rows_of_its_version(config: ChangefeedConfig) -> None:
    read = reader(config)
    assert shown(config, read) == [0, 1, 2, "ALTER TABLE", 3, 4, 5]
    assert shown(config, read) == []
    assert verify(list(reader(config).read()), config) == []


def test_what_is_newer_than_the_checkpoint_waits(config: ChangefeedConfig) -> None:
    metadata = FOLDER.contents["metadata"]
    FOLDER.contents["metadata"] = b'{"checkpoint-ts":%d}' % (TS + SECOND)
    read = reader(config)
    assert shown(config, read) == [0, 1, 2]
    FOLDER.contents["metadata"] = metadata
    assert shown(config, read) == ["ALTER TABLE", 3, 4, 5]


def test_an_index_may_be_ahead_of_its_data(config: ChangefeedConfig) -> None:
    newest = max(path for path in FOLDER.contents if "CDC0" in path)
    content = FOLDER.contents.pop(newest)
    read = reader(config)
    first = shown(config, read)
    assert first[-1] != 5
    FOLDER.contents[newest] = content
    FOLDER.contents[f"{newest}.tmp.1"] = b"half"
    assert [*first, *shown(config, read)] == [0, 1, 2, "ALTER TABLE", 3, 4, 5]


def test_damaged_files(config: ChangefeedConfig) -> None:
    (schema,) = (path for path, content in FOLDER.contents.items() if b"ALTER" in content)
    content = json.loads(FOLDER.contents[schema])
    content["TableColumns"][0]["ColumnType"] = "BIGINT"
    FOLDER.contents[schema] = json.dumps(content).encode()
    with pytest.raises(DecodeError, match="the checksum in the name"):
        shown(config, reader(config))
    del FOLDER.contents[schema]
    data = max(path for path in FOLDER.contents if "CDC0" in path)
    FOLDER.contents[data] = FOLDER.contents[data][:-1]
    with pytest.raises(DecodeError):
        shown(config, reader(config))
