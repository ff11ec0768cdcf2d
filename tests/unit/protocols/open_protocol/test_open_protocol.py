"""Open Protocol: what the golden vectors do not show. Joined rows, frames, compression, and what the reader refuses."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pyarrow as pa
import pytest
from arrow_feeds import sent

from ticdc_emit import Encoder
from ticdc_emit.config import ConfigWarning, load_changefeed
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.tail import Tail
from ticdc_emit.consume.verify import verify
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import ConfigError, InvalidValueError, MessageTooLargeError, SchemaError
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.protocols.events import DecodeError, RowEvent, WatermarkEvent
from ticdc_emit.protocols.open_protocol.decoder import OpenProtocolReader, unquoted

TS = 450_000_000_262_144_000
SECOND = 1000 << 18
TABLE = "create table test.t (id int primary key, v varchar(999), b varbinary(20))"


def insert(number: int, size: int = 1, **other: Any) -> dict[str, Any]:
    row = {"id": number, "v": "x" * size, "b": b"\0\xff"}
    return {"op": "c", "commit_ts": TS + number * SECOND, "after": row | other}


def encoder(parameters: str = "", sql: str = TABLE, sink: Any = None, **options: Any) -> Encoder:
    uri = f"memory://open/?protocol=open-protocol{parameters}"
    return Encoder(uri, sql, changefeed={"sink": sink or {}}, **{"partitions": 1} | options)


def records(batch: pa.RecordBatch) -> list[tuple[bytes, bytes]]:
    return [(row["key"], row["value"]) for row in batch.to_pylist()]


# -- joined rows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("", [16, 16, 8]),
        ("&max-batch-size=1", [1] * 40),
        ("&max-batch-size=30&max-message-bytes=2000", [10, 10, 10, 10]),
    ],
)
def test_messages_hold_as_many_rows_as_they_may(parameters: str, expected: list[int]) -> None:
    batch = encoder(parameters).encode([insert(number) for number in range(10, 50)])
    assert [len(OpenProtocolReader().read_all(*record)) for record in records(batch)] == expected
    assert all(len(key) + len(value) + 36 <= 2000 for key, value in records(batch)) or "2000" not in parameters
    last = [TS + (9 + sum(expected[: place + 1])) * SECOND for place in range(len(expected))]
    assert batch.column("commit_ts").to_pylist() == last


@pytest.mark.parametrize("rows", [1, 16])
def test_a_row_may_have_all_that_a_message_may(rows: int) -> None:
    ((key, value),) = records(encoder().encode([insert(1, 300)]))
    limit = len(key) + len(value) + 36
    bounded = [encoder(f"&max-batch-size={rows}&max-message-bytes={limit - less}") for less in (0, 1)]
    assert records(bounded[0].encode([insert(1, 300)])) == [(key, value)]
    with pytest.raises(MessageTooLargeError, match=f"{limit} bytes"):
        bounded[1].encode([insert(1, 300)])


def test_rows_of_different_partitions_are_in_different_messages() -> None:
    sink = {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}
    batch = encoder(sink=sink, partitions=3).encode([insert(number) for number in range(60)])
    alone = encoder("&max-batch-size=1", sink=sink, partitions=3).encode([insert(number) for number in range(60)])

    def rows(given: pa.RecordBatch) -> set[tuple[int, int]]:
        reader = OpenProtocolReader()
        found = [
            (row["partition"], each) for row in given.to_pylist() for each in reader.read_all(row["key"], row["value"])
        ]
        return {(partition, each.after["id"]) for partition, each in found if isinstance(each, RowEvent) and each.after}

    assert rows(batch) == rows(alone)
    assert batch.num_rows < 10
    assert batch.column("commit_ts").to_pylist() == sorted(batch.column("commit_ts").to_pylist())


def delivered(size: int) -> list[Message]:
    """A minute of changes with watermarks and a statement among them, in batches of ``size`` rows."""
    config = load_changefeed("memory://t/?protocol=open-protocol&partition-num=2&max-batch-size=4")
    ddl = [(TS + 30 * SECOND, "create table test.u (id int primary key)")]
    rows, options = (
        pa.Table.from_pylist([insert(number) for number in range(1, 60)]),
        RunOptions(watermark_interval=10.0),
    )
    return sent(config, TABLE, rows.to_batches(size), "test.t", ddl=ddl, options=options)[0]


def test_the_batches_of_rows_change_no_message() -> None:
    expected = delivered(1000)
    assert delivered(1) == delivered(7) == expected


def test_no_message_has_rows_from_both_sides_of_a_control_message() -> None:
    reader = OpenProtocolReader()
    read = [reader.read_all(message.key, message.value) for message in delivered(1000)]
    kinds = [type(each[0]).__name__ for each in read]
    assert kinds.count("DdlEvent") == 2
    floor = 0
    held = [each for each in read if isinstance(each[0], (RowEvent, WatermarkEvent))]
    with_rows = {id(each): each for each in held if isinstance(each[0], RowEvent)}
    assert sorted({len(each) for each in with_rows.values()})[-1] == 4
    for each in (each for each in held if any(isinstance(one, RowEvent) for one in each)):
        stamps = [one.commit_ts for one in each]
        assert stamps == sorted(stamps)
        assert stamps[0] >= floor
        marks = [one[0].commit_ts for one in held if isinstance(one[0], WatermarkEvent)]
        assert not [mark for mark in marks if stamps[0] <= mark < stamps[-1]]


def test_tail_and_verify_see_every_row_of_a_message() -> None:
    config = load_changefeed("memory://t/?protocol=open-protocol&partition-num=2&max-batch-size=4")
    rows = pa.Table.from_pylist(
        [{"op": "c", "commit_ts": TS + n, "after": {"id": n, "v": "x", "b": b""}} for n in range(9)]
    )
    found, _ = sent(config, TABLE, rows, "test.t")
    lines = [line for message in found for line in Tail(config, ops=["insert"]).lines(message)]
    assert [line.key for line in lines] == [{"id": str(number)} for number in range(9)]
    assert len({line.offset for line in lines}) == 3
    assert verify(found, config) == []
    assert [each.invariant for each in verify([*found[:2], *found[3:], found[2]], config)]


# -- one message ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["none", "snappy", "lz4"])
@pytest.mark.parametrize("release", ["classic", "next"])
def test_large_rows_are_stored_and_read_back(tmp_path: Any, compression: str, release: str) -> None:
    handle = {
        "large-message-handle-option": "claim-check",
        "claim-check-storage-uri": tmp_path.as_uri(),
        "large-message-handle-compression": compression,
    }
    sink = {"kafka-config": {"large-message-handle": handle}}
    text = "".join(chr(0x4E00 + number) for number in range(900))  # which no compression makes small
    made = encoder("&max-message-bytes=1000", sink=sink, release=release)
    (record,) = records(made.encode([insert(1), insert(2, v=text), insert(3)]))
    config = made.config
    reader = reader_for(config, claims=lambda location: (tmp_path / location.rpartition("/")[2]).read_bytes())
    events = [reader.text(reader.read(*part)) for part in reader.parts(*record)]  # type: ignore[arg-type]
    assert [event.after["v"] for event in events] == ["x", text, "x"]  # type: ignore[union-attr, index]
    told = [reader_for(config).read(*part) for part in reader.parts(*record)]
    assert [event.handle_key_only for event in told] == [False, True, False]  # type: ignore[union-attr]
    key = reader.parts(*record)[1][0]
    assert (key or b"").count(b'"ohk"') == (2 if release == "next" else 0)


def test_control_messages_are_compressed_inside_their_frames() -> None:
    sink = {"kafka-config": {"large-message-handle": {"large-message-handle-compression": "snappy"}}}
    made = encoder(sink=sink)
    reader = reader_for(made.config)
    (ddl,) = records(made.ddl("alter table test.t add column c int", TS))
    assert reader.read(*ddl).query.startswith("ALTER TABLE")  # type: ignore[union-attr]
    assert b"ALTER" in ddl[1][8:]
    (watermark,) = records(made.watermark(TS))
    assert watermark[1] == bytes(8)
    assert reader.read(*watermark).commit_ts == TS


def test_rows_without_a_key_to_show_are_refused() -> None:
    sink = {
        "delete-only-output-handle-key-columns": True,
        "column-selectors": [{"matcher": ["*.*"], "columns": ["u", "v"]}],
    }
    sql = "create table test.t (id int primary key, u int not null unique, v int)"
    with pytest.raises(SchemaError, match="show no column"):
        encoder(sql=sql, sink=sink).encode([{"op": "d", "commit_ts": TS, "before": {"id": 1, "u": 1, "v": 1}}])


def test_the_id_of_a_row_is_that_of_a_given_row_key() -> None:
    made = encoder(sql="create table test.t (id int, unique key (id))", force_replicate=True)
    key = b"t" + bytes(8) + b"_r" + (7 | 1 << 63).to_bytes(8, "big")
    change = {"op": "c", "commit_ts": TS, "after": {"id": 1}}
    given, bare = (records(made.encode([each]))[0] for each in (change | {"row_key": key}, change))
    assert (b'"rid":7,' in given[0], b"rid" in bare[0]) == (True, False)
    with pytest.raises(InvalidValueError, match="row_key"):
        made.encode([change | {"row_key": b"t"}])


def test_next_loses_the_name_of_a_column_that_becomes_null() -> None:
    made = encoder("&only-output-updated-columns=true", release="next")
    before = {"id": 1, "v": "old", "b": b"\1"}
    after = {"id": 1, "v": None, "b": b"\2"}
    (record,) = records(made.encode([{"op": "u", "commit_ts": TS, "before": before, "after": after}]))
    assert record[1].endswith(b'"p":{"t":15,"f":64,"v":"old","b":{"t":15,"f":65,"v":"\\\\x01"}}}')
    event = reader_for(made.config).read(*record)
    assert event.before == {"b": "\\x01"}  # type: ignore[union-attr]


# -- the reader -------------------------------------------------------------------------------------------------------


def framed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


VERSION = (1).to_bytes(8, "big")
KEY = b'{"ts":1,"scm":"s","tbl":"t","t":1}'


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"{}", framed(b"{}")),
        ((2).to_bytes(8, "big") + framed(KEY), framed(b"{}")),
        (VERSION, b""),
        (VERSION + framed(KEY, KEY), framed(b"{}")),
        (VERSION + framed(KEY)[:-1], framed(b"{}")),
        (VERSION + framed(KEY), framed(b"{}")),
        (VERSION + framed(KEY), framed(b'{"u":{"a":1}}')),
        (VERSION + framed(KEY), framed(b'{"u":{"a":{"t":3,"f":0}}}')),
        (VERSION + framed(KEY), framed(b'{"u":{"a":{"t":3,"f":0,"v":[]}}}')),
        (VERSION + framed(KEY), framed(b'{"u":{"a":{"t":"3","f":0,"v":1}}}')),
        (VERSION + framed(b'{"ts":1,"t":9}'), framed(b"{}")),
        (VERSION + framed(b'{"ts":1,"t":3}'), framed(b"{}")),
    ],
)
def test_what_is_no_message_is_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(DecodeError):
        OpenProtocolReader().read_all(key, value)


def test_a_record_of_several_rows_is_read_row_by_row() -> None:
    row = b'{"u":{"a":{"t":3,"h":true,"f":11,"v":%d}}}'
    record = VERSION + framed(KEY, KEY), framed(row % 1, row % 2)
    reader = OpenProtocolReader()
    with pytest.raises(DecodeError, match="2 rows"):
        reader.read(*record)
    whole = reader.read_all(*record)
    assert [reader.read(*part) for part in reader.parts(*record)] == whole
    assert [each.after for each in whole if isinstance(each, RowEvent)] == [{"a": 1}, {"a": 2}]


def test_quoted_bytes_are_read() -> None:
    assert unquoted(r"a\x00\xff\u00a0\U000e0001\n\"\\é") == b'a\0\xff\xc2\xa0\xf3\xa0\x80\x81\n"\\\xc3\xa9'
    with pytest.raises(ValueError, match="backslash"):
        unquoted("\\q")


def test_spellings_of_the_name() -> None:
    for name in ("open-protocol", "default", "Default"):
        assert load_changefeed(f"memory://x/?protocol={name}").codec.form == "open-protocol"
    with pytest.raises(ConfigError, match="unknown 'open' message protocol"):
        load_changefeed("memory://x/?protocol=open")


# -- releases ---------------------------------------------------------------------------------------------------------


def images(row: dict[str, Any], sql: str, release: str, parameters: str = "", **options: Any) -> dict[str, Any]:
    """Return the images of one change, with type, flags and value of each column."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        batch = encoder(parameters, sql, release=release, strict=False, **options).encode(
            [{"op": "u", "commit_ts": TS} | row]
        )
    return json.loads(records(batch)[0][1][8:])


RAW_COLUMNS = {
    "n int not null": (1, 2, 4097),
    "d int not null default 1": (1, 2, 1),
    "u int unsigned null unique": (1, 2, 36),
    "m int zerofill not null, key (m)": (1, 2, 4096 + 96 + 9),
    "v varbinary(5) not null default 'x'": (b"a", b"b", 129),
    "y year not null": (2020, 2021, 4096 + 97),
    "t datetime on update current_timestamp": ("2024-01-01 00:00:00", "2024-01-02 00:00:00", 8192 + 128),
}


@pytest.mark.parametrize("column", RAW_COLUMNS)
def test_old_releases_show_mysqls_flags_before_an_update(column: str) -> None:
    name = column.split()[0]
    before, after, flags = RAW_COLUMNS[column]
    row = {"before": {"id": 1, name: before}, "after": {"id": 1, name: after}}
    sql = f"create table test.t (id int primary key, {column})"
    sink = {"only-output-updated-columns": True, "kafka-config": {"output-raw-change-event": True}}
    raw, plain = (images(row, sql, release, sink=sink) for release in ("next-8.5.5", "next-8.5.6"))
    assert raw["p"][name]["f"] == flags
    assert plain["p"][name]["f"] == plain["u"][name]["f"] == raw["u"][name]["f"]


@pytest.mark.parametrize("value", ["00:00:00.400", "-00:00:00.999"])
def test_a_fraction_that_is_not_shown_is_a_change(value: str) -> None:
    row = {"before": {"id": 1, "t": value}, "after": {"id": 1, "t": "-12:00:00.25"}}
    sql = "create table test.t (id int primary key, t time(3))"
    shown = images(row, sql, "next-8.5.5", "&only-output-updated-columns=true")
    assert (shown["u"]["t"]["v"], shown["p"]["t"]["v"]) == ("-12:00:00", None)
    row["after"]["t"] = value.replace("00.", "01.")
    row["before"]["t"] = value.replace("00.", "01.")[:-1] + "1"
    shown = images(row, sql, "next-8.5.5", "&only-output-updated-columns=true")
    assert shown["p"]["t"]["v"] == shown["u"]["t"]["v"] == value.replace("00.", "01.")[:-4]


def test_old_releases_ignore_output_old_value() -> None:
    row = {"before": {"id": 1, "v": "a", "b": b""}, "after": {"id": 1, "v": "b", "b": b""}}
    sink = {"open": {"output-old-value": False}}
    assert ["p" in images(row, TABLE, release, sink=sink) for release in ("next-8.5.5", "next-8.5.6")] == [True, False]


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("unique key (v), primary key (id) nonclustered", ["id", "v"]),
        ("primary key (id) nonclustered, unique key (v)", ["id"]),
        ("unique key (v), primary key (id) clustered", ["id"]),
        ("unique key (n), primary key (id) nonclustered", ["id"]),
    ],
)
def test_a_unique_key_before_the_primary_key_joins_the_handle_key(keys: str, shown: list[str]) -> None:
    sql = f"create table test.t (id int not null, v int not null, n int, {keys})"
    row = {"op": "d", "before": {"id": 1, "v": 2, "n": 3}}
    sink = {"delete-only-output-handle-key-columns": True}
    assert list(images(row, sql, "next-8.5.4", sink=sink)["d"]) == shown
    assert list(images(row, sql, "next-8.5.5", sink=sink)["d"]) == ["id"]
