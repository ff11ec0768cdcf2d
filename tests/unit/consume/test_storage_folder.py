"""A storage sink's folder, read: order, what is not there yet, damaged files."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.storage_folder import FolderReader, folder_findings
from ticdc_emit.consume.verify import verify
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.errors import DeliveryError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.protocols.events import BootstrapEvent, DdlEvent, DecodeError, RowEvent, WatermarkEvent
from ticdc_emit.storage.folder import Folder, MemoryFolder

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
    return FolderReader(config, FOLDER)


def shown(config: ChangefeedConfig, read: FolderReader, newest: int | None = None) -> list[int | str]:
    """The TSO of each row and checkpoint as seconds, and the beginning of each statement; what cannot be read."""
    made: list[int | str] = []
    events = reader_for(config)
    for message in read.read(newest=newest):
        try:
            event = events.read(message.key, message.value)
        except DecodeError as fault:
            made.append(fault.message)
            continue
        if isinstance(event, DdlEvent):
            made.append(event.query[:11])
        elif isinstance(event, BootstrapEvent):
            made.append(event.table)
        else:
            assert isinstance(event, RowEvent | WatermarkEvent)
            assert event.commit_ts is not None
            made.append((event.commit_ts - TS) // SECOND)
    return made


def test_a_statement_comes_before_the_rows_of_its_version(config: ChangefeedConfig) -> None:
    read = reader(config)
    assert shown(config, read) == ["orders", 0, 1, 2, "ALTER TABLE", 3, 4, 5, 5]
    assert shown(config, read) == []
    assert verify(list(reader(config).read()), config) == []


def test_what_is_newer_than_the_checkpoint_waits(config: ChangefeedConfig) -> None:
    metadata = FOLDER.contents["metadata"]
    FOLDER.contents["metadata"] = b'{"checkpoint-ts":%d}' % (TS + SECOND)
    read = reader(config)
    assert shown(config, read) == ["orders", 0, 1, 2, 1]
    assert read.waiting == 2
    FOLDER.contents["metadata"] = metadata
    assert shown(config, read) == ["ALTER TABLE", 3, 4, 5, 5]
    assert read.waiting == 0


def test_an_index_may_be_ahead_of_its_data(config: ChangefeedConfig) -> None:
    newest = max(path for path in FOLDER.contents if "CDC0" in path)
    content = FOLDER.contents.pop(newest)
    read = reader(config)
    assert shown(config, read) == ["orders", 0, 1, 2, "ALTER TABLE", 3, 5]
    FOLDER.contents[newest] = content
    FOLDER.contents[f"{newest}.tmp.1"] = b"half"
    assert shown(config, read) == [4, 5]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("number", [4, 10**6, 8 * 10**17, 10**20 - 1])
def test_a_missing_file_below_the_newest_one(config: ChangefeedConfig, number: int) -> None:
    """As after one changed digit in an index file."""
    index = max(path for path in FOLDER.contents if path.endswith(".index"))
    content, read = FOLDER.contents[index], reader(config)
    extension = content.decode().strip().rpartition(".")[2]
    FOLDER.contents[index] = f"CDC{number:020d}.{extension}\n".encode()
    with pytest.raises(DeliveryError, match=rf"names CDC{number:020d}.*, but CDC0*3\.{extension} is missing") as fault:
        list(read.read())
    assert fault.value.remedy is not None
    assert shown(config, FolderReader(config, FOLDER, skips_missing=True))[-4:] == [3, 4, 5, 5]
    FOLDER.contents[index] = content
    assert shown(config, read) == ["orders", 0, 1, 2, "ALTER TABLE", 3, 4, 5, 5]
    FOLDER.contents[index] = f"CDC{4:020d}.{extension}\n".encode()
    with pytest.raises(DeliveryError, match="is missing"):  # later, too
        list(read.read())


def test_an_index_may_be_newer_than_the_listing(config: ChangefeedConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changefeed that writes while a reader works leaves no gap."""
    whole, listed = dict(FOLDER.contents), FOLDER.files
    index = max(path for path in whole if path.endswith(".index"))
    for path in whole:
        if "CDC0" in path and path.startswith(index.rpartition("/meta/")[0]):
            del FOLDER.contents[path]

    def files(folder: str) -> list[str]:
        found = listed(folder)
        FOLDER.contents.update(whole)
        return found

    monkeypatch.setattr(FOLDER, "files", files)
    assert shown(config, reader(config)) == ["orders", 0, 1, 2, "ALTER TABLE", 3, 4, 5, 5]


@pytest.mark.parametrize("newest", [0, 1, 3, 4, 8, 99])
def test_only_the_newest_rows_and_statements_are_read(config: ChangefeedConfig, newest: int) -> None:
    read = reader(config)
    everything = ["orders", 0, 1, 2, "ALTER TABLE", 3, 4, 5]
    assert shown(config, read, newest) == [*everything[max(len(everything) - newest, 0) :], 5]
    assert shown(config, read) == []


def test_files_before_the_newest_rows_are_not_read(config: ChangefeedConfig) -> None:
    """A bucket may have terabytes before them."""
    for path in FOLDER.contents:
        if "CDC00000000000000000001." in path:
            FOLDER.contents[path] = b"damaged"
    assert shown(config, reader(config), 1) == [5, 5]


def test_csv_gets_the_names_of_its_columns_from_the_schema_file(config: ChangefeedConfig) -> None:
    events, key_names = reader_for(config), set()
    for message in reader(config).read():
        event = events.read(message.key, message.value)
        if isinstance(event, RowEvent):
            second = ((event.commit_ts or 0) - TS) // SECOND
            row = {"id": str(second), "n": str(second)} | ({"x": str(second)} if second > 2 else {})
            assert events.image(event, event.after, None) == row
            key_names.add(events.key_names(event))
    assert key_names == {("id",)}


def test_a_schema_file_must_have_the_checksum_and_the_version_of_its_name(config: ChangefeedConfig) -> None:
    (schema,) = (path for path, content in FOLDER.contents.items() if b"ALTER" in content)
    content = json.loads(FOLDER.contents[schema])
    content["TableVersion"] += 1
    FOLDER.contents[schema] = json.dumps(content).encode()
    fault = f"the version in the name of a schema file is not its own, {content['TableVersion']}"
    assert shown(config, reader(config))[4] == fault
    content["TableColumns"][0]["ColumnType"] = "BIGINT"
    FOLDER.contents[schema] = json.dumps(content).encode()
    fault = "the checksum in the name of a schema file is not that of its columns"
    assert shown(config, reader(config)) == ["orders", 0, 1, 2, fault, 3, 4, 5, 5]


def test_of_a_half_file_the_whole_rows_are_read(config: ChangefeedConfig) -> None:
    data = max(path for path in FOLDER.contents if "CDC0" in path)
    FOLDER.contents[data] = FOLDER.contents[data][:-1]
    read = reader(config)
    *rows, fault, checkpoint = shown(config, read)
    assert isinstance(fault, str)
    assert "end" in fault or "terminator" in fault
    assert (rows, checkpoint) == (["orders", 0, 1, 2, "ALTER TABLE", 3, 4], 5)
    assert shown(config, read) == []
    (finding,) = verify(list(reader(config).read()), config)
    assert (finding.invariant, finding.place) == ("readable", data)


def test_an_index_file_that_names_no_file(config: ChangefeedConfig) -> None:
    index = max(path for path in FOLDER.contents if path.endswith(".index"))
    FOLDER.contents[index] = b"CDC1.parquet\n"
    read = reader(config)
    fault = f"the index names 'CDC1.parquet', which is not a file with rows of {config.codec.protocol}"
    assert shown(config, read) == ["orders", 0, 1, 2, "ALTER TABLE", fault, 5]
    assert shown(config, read) == []


@pytest.mark.parametrize("separator", ["none", "year", "day"])
@pytest.mark.parametrize(("table", "partitions"), [("orders", ()), ("12345678901", ()), ("7", (99, 100))])
@pytest.mark.parametrize("ids", [False, True])
def test_versions_of_few_digits_are_read(separator: str, table: str, partitions: tuple[int, ...], ids: bool) -> None:
    """A TSO of a test may be a small number; the names of tables and partitions may be large ones."""
    FOLDER.contents.clear()
    uri = f"s3://b?protocol=csv&use-table-id-as-path={'true' if ids else 'false'}"
    sink = {"csv": {"include-commit-ts": True}, "date-separator": separator}
    config = load_changefeed(uri, {"sink": sink}, release="next")
    made = sink_for(config)
    schema = f"create table `55`.`{table}` (id int primary key, n int)"
    if partitions:
        schema += " partition by range(id) (partition p0 values less than (2), partition p1 values less than (9))"
    rows = [
        {"op": "c", "commit_ts": 1000 + number, "after": {"id": number, "n": number}}
        | ({"physical_table_id": partitions[number // 2]} if partitions else {})
        for number in range(4)
    ]
    feed = Changefeed(config, InMemory(made.uri, made.rules), schema)
    feed.run(ArrowBatch(pa.Table.from_pylist(rows), f"55.{table}"), 0, final=True)
    events = reader_for(config)
    read = [events.read(message.key, message.value) for message in reader(config).read()]
    found = {event.commit_ts: event for event in read if isinstance(event, RowEvent)}
    assert {ts: event.schema_version for ts, event in found.items()} == {1000 + number: 999 for number in range(4)}
    assert events.image(found[1000], found[1000].after, None) == {"id": "0", "n": "0"}
    assert list(folder_findings(config, FOLDER)) == []


@pytest.mark.parametrize("separator", ["none", "year", "day"])
def test_partitions_and_table_ids_are_sorted_as_numbers(separator: str) -> None:
    """As TiCDC's consumer: by version, partition, date, table; the schema files of a version come first."""
    FOLDER.contents.clear()
    date = {"none": (), "year": ("2024",), "day": ("2024-05-25",)}[separator]

    def rows(*names: str) -> str:
        folder = "/".join((*names, *date))
        FOLDER.contents[f"{folder}/meta/CDC.index"] = b"CDC000001.csv"
        FOLDER.contents[f"{folder}/CDC000001.csv"] = b'"I","t","s",1\n'
        return f"{folder}/CDC000001.csv@0"

    after, before = f"{TS + 1}", f"{TS}"
    expected = [f"shop/{table}/meta/schema_{before}_0000000001.json" for table in ("orders", "z")]
    FOLDER.contents |= dict.fromkeys(expected, b"{}")
    expected += [
        rows("shop", "plain", before),
        rows("shop", "plain-too", before),
        rows("9", before),
        rows("10", before),
        rows("shop", "orders", before, "99"),
        rows("shop", "z", before, "99"),
        rows("shop", "orders", before, "100"),
        rows("shop", "orders", before, "1000"),
        rows("shop", "orders", after, "99"),
    ]
    sink = {"date-separator": separator, "terminator": "\n"}
    config = load_changefeed("s3://b?protocol=csv", {"sink": sink})
    assert [(message.key or b"").decode() for message in reader(config).read()] == expected
