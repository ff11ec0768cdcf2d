"""Row checksums: TiDB's own numbers, a reference that goes row by row, and the instants of Go's ``time.Date``."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest
from column_samples import COLUMNS, over_garbage
from conformance.history import CaseHistory
from conformance.vectors import read_case
from vector_files import vector_names, vector_path

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.checksum import row_crc
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.config.switches import ValueSwitches
from ticdc_emit.schema.model import Column, TableInfo


def _crcs(columns: list[tuple[Column, pa.Array]], zone: str = "UTC") -> list[int]:
    accepted = [(column, accept(column, values, Rendering(zone))) for column, values in columns]
    found = row_crc(accepted, zone)
    assert found.dtype == np.uint32
    return [int(number) for number in found]


def _one(name: str, values: pa.Array, zone: str = "UTC") -> list[int]:
    return _crcs([(COLUMNS[name], values)], zone)


# --- what TiDB computed -----------------------------------------------------------------------------------------------


def _recorded_rows(name: str) -> Iterator[tuple[TableInfo, str, dict[str, Any], int]]:
    """Yield the images of every row whose checksum follows from its values."""
    case = read_case(vector_path(name))
    rows = [(event, row) for event in case.events for row in event.get("rows") or [event]]
    checked = [(event, row) for event, row in rows if row.get("checksum") and not row["checksum"]["corrupted"]]
    history = CaseHistory(case) if checked else None
    for event, row in checked:
        info = history.version(event["schema"], event["table"], event["commit_ts"])  # type: ignore[union-attr]
        for image, number in (("after", "current"), ("before", "previous")):
            if row[image] is not None:
                yield info, case.time_zone, row[image], row["checksum"][number]


def _cell(value: Any) -> pa.Array:
    if isinstance(value, dict):
        return pa.array([base64.b64decode(value["base64"])], pa.binary())
    return pa.array([value], pa.uint64() if isinstance(value, int) and value >= 1 << 63 else None)


def test_every_recorded_checksum() -> None:
    rows = [row for name in vector_names() for row in _recorded_rows(name)]
    assert len(rows) >= 33
    for info, zone, values, expected in rows:
        image = Image(info, {column.name: _cell(values[column.name]) for column in info.data_columns}, Rendering(zone))
        assert image.row_crc.tolist() == [expected], values


# --- the bytes of each type -------------------------------------------------------------------------------------------


def _word(number: int) -> bytes:
    return (number & (1 << 64) - 1).to_bytes(8, "little")


def _long(data: str | bytes) -> bytes:
    raw = data.encode() if isinstance(data, str) else data
    return len(raw).to_bytes(4, "little") + raw


_CELLS: list[tuple[str, Any, bytes]] = [
    ("TINYINT", -128, b"\x80" + b"\xff" * 7),
    ("SMALLINT", -1, b"\xff" * 8),
    ("MEDIUMINT", 8388607, _word(8388607)),
    ("INT", -(1 << 31), b"\0\0\0\x80\xff\xff\xff\xff"),
    ("BIGINT", -(1 << 63), b"\0" * 7 + b"\x80"),
    ("TINYINT UNSIGNED", 255, _word(255)),
    ("INT UNSIGNED", 4294967295, b"\xff\xff\xff\xff\0\0\0\0"),
    ("BIGINT UNSIGNED", pa.scalar((1 << 64) - 1, pa.uint64()), b"\xff" * 8),
    ("YEAR", 2024, _word(2024)),
    ("YEAR", 0, _word(0)),
    ("BIT", 513, _word(513)),
    ("BIT", b"\x02\x01", _word(513)),
    ("ENUM", "ü", _word(3)),
    ("ENUM", 0, _word(0)),
    ("SET", "a,ü", _word(5)),
    ("SET", "", _word(0)),
    ("FLOAT", 3.14, bytes.fromhex("40091EB860000000")[::-1]),
    ("DOUBLE", 3.14, struct.pack("<d", 3.14)),
    ("DOUBLE", -0.0, struct.pack("<d", -0.0)),
    ("DECIMAL", "-0.5", _long("-0.50")),
    ("DECIMAL", "0", _long("0.00")),
    ("DATE", "2024-00-00", _long("2024-00-00")),
    ("DATETIME", "2024-05-05 01:02:03.5", _long("2024-05-05 01:02:03.500")),
    ("TIMESTAMP", "2024-05-05 01:02:03.5", _long("2024-05-05 01:02:03.500")),
    ("TIME", "-838:59:59", _long("-838:59:59.000")),
    ("CHAR", "中", _long("中")),
    ("VARCHAR", "", b"\0" * 4),
    ("TINYTEXT", "a", _long("a")),
    ("TEXT", "\n", _long("\n")),
    ("MEDIUMBLOB", b"\0", _long(b"\0")),
    ("LONGTEXT", "x" * 300, b"\x2c\x01\0\0" + b"x" * 300),
    ("BINARY", b"ab", _long(b"ab\0\0")),
    ("VARBINARY", b"\xff\0", _long(b"\xff\0")),
    ("LONGBLOB", b"", b"\0" * 4),
    ("JSON", '{"b":1,"a":[1.0,true]}', _long('{"a": [1.0, true], "b": 1}')),
    ("VECTOR", "[1,-0.1]", struct.pack("<Iff", 2, 1, -0.1)),
]


@pytest.mark.parametrize(("name", "value", "expected"), _CELLS)
def test_bytes_of_a_type(name: str, value: Any, expected: bytes) -> None:
    one = pa.array([value.as_py()], value.type) if isinstance(value, pa.Scalar) else pa.array([value])
    assert _one(name, one) == [crc32(expected)]
    rows = pa.concat_arrays([one, pa.nulls(1, one.type)] * 20)
    assert _one(name, rows) == [crc32(expected), 0] * 20  # NULL adds nothing
    assert _one(name, rows.slice(7, 9)) == [0, crc32(expected)] * 4 + [0]
    if not pa.types.is_null(one.type):
        hidden = over_garbage(pa.concat_arrays([one] * 3), [1])
        assert _one(name, hidden) == [crc32(expected), 0, crc32(expected)]
    assert _one(name, one.slice(1)) == []


def test_every_column_type_has_bytes() -> None:
    assert {COLUMNS[name].type for name, _, _ in _CELLS} == {column.type for column in COLUMNS.values()}


def test_vectors_of_any_size() -> None:
    column = Column(1, "v", COLUMNS["VECTOR"].type, -1, -1)
    texts = ["[]", "[1]", None, "[0.1,2,16777216]", "[]", "[-0.0000003]"]
    expected = [[], [1], None, [0.1, 2, 16777216], [], [-3e-7]]
    packed = [b"" if row is None else struct.pack(f"<I{len(row)}f", len(row), *row) for row in expected]
    assert _crcs([(column, pa.array(texts))]) == [crc32(data) for data in packed]


def test_columns_go_by_their_ids_or_as_in_the_table() -> None:
    columns = Column(9, "b", COLUMNS["INT"].type, 11, 0), Column(2, "a", COLUMNS["VARCHAR"].type, 10, 0, "utf8mb4")
    values = {"b": pa.array([1, None, 3]), "a": pa.array(["x", "y", None])}
    info = TableInfo("s", "t", 1, columns)
    by_id = [crc32(_long("x") + _word(1)), crc32(_long("y")), crc32(_word(3))]
    assert Image(info, values, Rendering()).row_crc.tolist() == by_id
    as_in_table = [crc32(_word(1) + _long("x")), *by_id[1:]]
    assert (
        Image(info, values, Rendering(switches=ValueSwitches(checksum_order="table"))).row_crc.tolist() == as_in_table
    )


def test_no_columns() -> None:
    assert len(row_crc([], "UTC")) == 0


def test_dictionaries_of_labels() -> None:
    labels = pa.array(["a", None, "b", "a"]).dictionary_encode()
    assert _one("ENUM", labels) == [crc32(_word(1)), 0, crc32(_word(2)), crc32(_word(1))]
    assert _one("SET", labels.slice(1)) == [0, crc32(_word(2)), crc32(_word(1))]


# --- TIMESTAMP through UTC --------------------------------------------------------------------------------------------

# Printed by Go: time.Date of the wall clock in the zone, in UTC.
_CLOCKS = [
    ("America/New_York", "2021-11-07 01:30:00", "2021-11-07 05:30:00"),  # shown twice: the earlier
    ("America/New_York", "2021-03-14 01:59:59", "2021-03-14 06:59:59"),
    ("America/New_York", "2021-03-14 03:00:00", "2021-03-14 07:00:00"),
    ("Europe/Berlin", "2024-10-27 02:30:00", "2024-10-27 01:30:00"),  # shown twice: the later
    ("Europe/London", "2024-10-27 01:30:00", "2024-10-27 01:30:00"),  # shown twice: the later
    ("Atlantic/Azores", "2024-10-27 00:30:00", "2024-10-27 00:30:00"),  # shown twice: the earlier
    ("Australia/Lord_Howe", "2024-04-07 01:45:00", "2024-04-06 15:15:00"),  # set back by half an hour
    ("Africa/Monrovia", "1972-01-07 00:44:31", "1972-01-07 00:44:31"),  # until then 44:30 behind
    ("Asia/Kathmandu", "1985-12-31 23:59:59", "1985-12-31 18:29:59"),
    ("Asia/Kathmandu", "1986-01-01 00:15:00", "1985-12-31 18:30:00"),
    ("Asia/Shanghai", "1991-09-15 01:30:00", "1991-09-14 17:30:00"),
    ("Pacific/Apia", "2011-12-31 00:00:00", "2011-12-30 10:00:00"),  # a day left out
    ("Pacific/Kiritimati", "2038-01-19 17:14:07", "2038-01-19 03:14:07"),
    ("Asia/Kolkata", "0000-00-00 00:00:00", "0000-00-00 00:00:00"),
    ("UTC", "2024-05-05 05:05:05", "2024-05-05 05:05:05"),
]


@pytest.mark.parametrize(("zone", "shown", "utc"), _CLOCKS)
def test_timestamps_in_utc(zone: str, shown: str, utc: str) -> None:
    whole = Column(1, "k", COLUMNS["TIMESTAMP"].type, 19, 0)
    assert _crcs([(whole, pa.array([shown, None]))], zone) == [crc32(_long(utc)), 0]
    assert _one("TIMESTAMP", pa.array([None, f"{shown}.070"]), zone) == [0, crc32(_long(f"{utc}.070"))]


def test_rows_of_many_instants() -> None:
    rows = [(zone, shown, utc) for zone, shown, utc in _CLOCKS if zone == "America/New_York"]
    rows.append(("America/New_York", "0000-00-00 00:00:00", "0000-00-00 00:00:00"))
    texts = pa.array([shown for _, shown, _ in rows] + [None])
    expected = [crc32(_long(f"{utc}.000")) for _, _, utc in rows]
    assert _one("TIMESTAMP", texts, "America/New_York") == [*expected, 0]


def test_only_timestamps_move() -> None:
    text = "2024-05-05 05:05:05.000"
    assert _one("DATETIME", pa.array([text]), "Asia/Shanghai") == [crc32(_long(text))]
    assert _one("TIMESTAMP", pa.array([text]), "Asia/Shanghai") == [crc32(_long("2024-05-04 21:05:05.000"))]


@pytest.mark.parametrize(
    ("zone", "shown", "reason"),
    [
        ("America/New_York", "2021-03-14 02:30:00", "clocks of America/New_York skip"),
        ("Africa/Monrovia", "1972-01-07 00:44:29", "clocks of Africa/Monrovia skip"),
        ("Pacific/Apia", "2011-12-30 12:00:00", "clocks of Pacific/Apia skip"),
        ("Asia/Shanghai", "2024-00-05 00:00:00", "has a month and a day"),
        ("Asia/Shanghai", "2024-05-00 00:00:00", "has a month and a day"),
    ],
)
def test_moments_that_never_were(zone: str, shown: str, reason: str) -> None:
    texts = pa.array(["2024-05-05 05:05:05", None, shown])
    with pytest.raises(ValueRefused, match=reason) as caught:
        _one("TIMESTAMP", texts, zone)
    assert caught.value.index == 2
    assert caught.value.args[0].startswith("c: ")
