"""The "TiCDC Row Data Checksum Verification Based on Avro" document as tests.

The document is one consumer program. Its steps stand below (``_document_checksum``), as they are in it. Where it
refuses or crashes on what TiCDC really sends, the row says what ``ticdc_emit.consume.verify_checksum`` does instead:

====================================================== ============================================== ==================
the document                                           the bytes                                      seen in
====================================================== ============================================== ==================
TIMESTAMP: the text of the message                     the checksum is over the text in UTC: accepted checksum_all_types
                                                       only where the changefeed's zone is UTC
a clock set back makes two instants one text: not said TiCDC marks the row with the other instant     times_dst
                                                       as corrupted
``strings.Split(allowed, ",")``                        a comma inside an element is ``\\,``            enums_sets
labels of ``allowed`` are those of the value           ``''`` in an element is ``'`` in ``allowed``   enums_sets
no case for VECTOR (the program ends)                  ``TiDBVECTORFloat32``: dimensions, float32s    vectors
"0" is a checksum like any other                       it stands where there is none: both halves of  txn_checksum
                                                       a split UPDATE
goes on with an empty value after saying "skip"        a delete has a null value                      checksum_utc
a corrupted row ends the program                       TiCDC says so itself: ``_tidb_corrupted``      checksum_corrupted
"column IDs are used to sort the fields"               only with integrity checks; without, fields    checksum_column_
                                                       have table order and there is no checksum      order
====================================================== ============================================== ==================
"""

from __future__ import annotations

import math
import struct
from typing import Any
from zlib import crc32

import pytest
from avro_rows import AvroRow
from vector_files import content_of, load_vector

from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import ConfigError
from ticdc_emit.protocols.avro.decoder import AvroReader
from ticdc_emit.protocols.events import ChecksumMismatchError

_URI = "kafka://127.0.0.1:9092/avro-checksum-test?protocol=avro"
_STRINGS = "&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
_CORRECTNESS = "[integrity]\nintegrity-check-level = 'correctness'\n"
_REGISTRY = "http://127.0.0.1:8081"


# --- the document's program -------------------------------------------------------------------------------------------


def _append_length_value(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def _document_bytes(value: Any, tidb_type: str, allowed: list[str]) -> bytes:
    """``getColumnValue`` and ``buildChecksumBytes``."""
    if value is None:
        return b""
    if tidb_type in ("INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "YEAR"):
        return struct.pack("<Q", int(value) % (1 << 64))
    if tidb_type in ("FLOAT", "DOUBLE"):
        return struct.pack("<d", 0.0 if math.isinf(value) or math.isnan(value) else value)
    if tidb_type == "ENUM":
        return struct.pack("<Q", allowed.index(value) + 1)
    if tidb_type == "SET":
        return struct.pack("<Q", sum(1 << allowed.index(label) for label in value.split(",")) if value else 0)
    if tidb_type == "BIT":
        return struct.pack("<Q", int.from_bytes(value.lstrip(b"\0"), "big"))
    if tidb_type == "BLOB":
        return _append_length_value(value)
    if tidb_type in ("TEXT", "DECIMAL", "JSON", "DATE", "DATETIME", "TIMESTAMP", "TIME"):
        return _append_length_value(value.encode())
    raise LookupError(f"this should not happen, unknown TiDB type {tidb_type}")


def _document_checksum(value: dict[str, Any], schema: dict[str, Any]) -> int:
    """``CalculateAndVerifyChecksum`` up to the comparison."""
    actual = 0
    for field in schema["fields"]:
        if field["name"] == "_tidb_op":
            break
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        holder = next(kind for kind in kinds if isinstance(kind, dict))["connect.parameters"]
        allowed = holder.get("allowed", "").split(",")
        actual = crc32(_document_bytes(value[field["name"]], holder["tidb_type"], allowed), actual)
    return actual


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        _STRINGS,  # the extension is off
        "&enable-tidb-extension=true&avro-decimal-handling-mode=string",
        "&enable-tidb-extension=true&avro-bigint-unsigned-handling-mode=string",
        "&enable-tidb-extension=true" + _STRINGS.replace("=string", "=precise", 1),
    ],
)
def test_what_the_feature_must_have(options: str) -> None:
    with pytest.raises(ConfigError):
        load_changefeed(_URI + options, _CORRECTNESS, schema_registry=_REGISTRY)


# --- the recorded bytes -----------------------------------------------------------------------------------------------


def _recorded(case: str) -> list[tuple[str, AvroRow]]:
    """Return the rows of a vector, with the changefeed's time zone."""
    vector = load_vector(case)
    variant = next(each for each in vector["variants"] if each["id"] == "avro-string")
    reader = AvroReader({post["id"]: post["schema"] for post in variant["registrations"]})
    found = []
    for message in variant["messages"]:
        if message.get("key"):
            parts = [message[part] and content_of(message[part]) for part in ("key", "value")]
            found.append((vector["timezone"], AvroRow(reader, *parts)))
    return found


@pytest.mark.parametrize("case", ["checksum_all_types", "checksum_column_order", "checksum_utc"])
def test_recorded_rows(case: str) -> None:
    rows = _recorded(case)
    assert any(row.event.op == "delete" for _, row in rows)
    for zone, row in rows:
        assert row.verify(zone) == (int(row.checksum) if row.checksum else None)
        if zone == "UTC" and row.fields is not None and row.schema is not None:
            assert _document_checksum(dict(row.fields), dict(row.schema)) == int(row.checksum or 0)


@pytest.mark.parametrize(("case", "corrupted"), [("checksum_corrupted", 2), ("times_dst", 2)])
def test_recorded_corrupted_rows(case: str, corrupted: int) -> None:
    marked = [(zone, row) for zone, row in _recorded(case) if row.corrupted]
    assert len(marked) == corrupted
    for zone, row in marked:
        with pytest.raises(ChecksumMismatchError) as caught:
            row.verify(zone)
        assert caught.value.corrupted is True


def test_recorded_halves_of_a_split_update() -> None:
    zeros = [row for _, row in _recorded("txn_checksum") if row.checksum == "0"]
    assert zeros
    for row in zeros:
        assert row.fields is not None
        assert row.schema is not None
        assert row.verify() is None
        assert _document_checksum(dict(row.fields), dict(row.schema)) != 0
