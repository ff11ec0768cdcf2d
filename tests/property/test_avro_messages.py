"""Random tables, values and options: what the Avro encoder writes, fastavro reads back, and checksums hold.

Every key and value decodes against the schema text that was registered to what went in, by rules written down here once
more; written again by fastavro it gives the same bytes. With row checksums ``verify_checksum`` accepts every row, and
no row with a changed byte whose values differ.
"""

from __future__ import annotations

import io
import json
import re
import struct
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import fastavro
from avro_rows import AvroRow
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples
from random_tables import COMMIT_TS, Kind, RandomTable, bitwise, random_tables

from ticdc_emit import Encoder, load_changefeed
from ticdc_emit.protocols.avro.decoder import AvroReader
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.registry.base import MemoryRegistry


@dataclass(frozen=True)
class _Options:
    extension: bool
    decimal_text: bool
    bigint_text: bool
    integrity: bool

    @property
    def uri(self) -> str:
        return (
            "memory://topic/?protocol=avro&schema-registry=http://127.0.0.1:1"
            f"&enable-tidb-extension={str(self.extension).lower()}"
            f"&avro-decimal-handling-mode={'string' if self.decimal_text else 'precise'}"
            f"&avro-bigint-unsigned-handling-mode={'string' if self.bigint_text else 'long'}"
        )


def _shown(kind: Kind, plain: Any, options: _Options) -> Any:
    """Return a value as a reader sees it."""
    if plain is None:
        return None
    if kind.sql.startswith("decimal"):
        return plain if options.decimal_text else Decimal(plain)
    if kind.sql.startswith("bit"):
        return plain.to_bytes(max(1, (plain.bit_length() + 7) // 8), "big")
    if kind.sql == "bigint unsigned":
        return str(plain) if options.bigint_text else plain - (1 << 64) * (plain >> 63)
    return plain


@dataclass(frozen=True)
class _Case:
    made: RandomTable
    options: _Options

    @property
    def rows(self) -> list[tuple[str, dict[str, Any]]]:
        return self.made.rows

    def shown(self, row: dict[str, Any], names: list[str]) -> dict[str, Any]:
        """Return the row as a reader sees it."""
        plain = self.made.plain(row)
        return {_sanitized(name): _shown(self.made.kind(name), plain[name], self.options) for name in names}


def _sanitized(name: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{safe}" if safe[0].isdigit() else safe


@st.composite
def _cases(draw: st.DrawFn, integrity: bool | None = None) -> _Case:
    checked = draw(st.booleans()) if integrity is None else integrity
    extension, decimal_text, bigint_text = (checked or draw(st.booleans()) for _ in range(3))
    return _Case(draw(random_tables()), _Options(extension, decimal_text, bigint_text, checked))


def _messages(case: _Case) -> tuple[dict[int, str], list[tuple[bytes, bytes | None]]]:
    registry = MemoryRegistry()
    config = load_changefeed(case.options.uri, integrity=case.options.integrity, time_zone=case.made.zone)
    # tables without a key, which no changefeed of Avro has, are encoded like all others
    encoder = Encoder(replace(config, force_replicate=True), case.made.sql, registry=registry)
    changes = [
        {
            "op": op,
            "commit_ts": COMMIT_TS + place,
            "before": None if op == "c" else case.made.given(row),
            "after": None if op == "d" else case.made.given(row),
        }
        for place, (op, row) in enumerate(case.rows)
    ]
    made = encoder.encode(changes).to_pylist()
    in_order = sorted(made, key=lambda message: message["commit_ts"])
    schemas = {post.id: post.schema for post in registry.posts if post.id is not None}
    return schemas, [(message["key"], message["value"]) for message in in_order]


def _read(data: bytes, schemas: dict[int, str], rewrite: bool) -> dict[str, Any]:
    """Decode with the registered schema as it is; ``rewrite``: and see fastavro write the same bytes."""
    assert data[0] == 0
    parsed = fastavro.parse_schema(json.loads(schemas[int.from_bytes(data[1:5], "big")]))
    body = io.BytesIO(data[5:])
    found = fastavro.schemaless_reader(body, parsed, None)
    assert body.read() == b""
    if rewrite:
        again = io.BytesIO()
        fastavro.schemaless_writer(again, parsed, found)
        assert again.getvalue() == data[5:]
    assert isinstance(found, dict)
    return found


@settings(max_examples=examples(200))
@given(_cases())
def test_what_went_in_comes_out(case: _Case) -> None:
    schemas, messages = _messages(case)
    # fastavro writes decimals such as -128 and -32768 with one byte more than two's complement needs; goavro does not.
    rewrite = case.options.decimal_text or not any(kind.sql.startswith("decimal") for kind in case.made.kinds)
    assert len(messages) == len(case.rows)
    for place, ((op, row), (key, value)) in enumerate(zip(case.rows, messages, strict=True)):
        assert bool(key) == bool(case.made.key)
        if case.made.key:
            in_order = [name for name in case.made.names if name in case.made.key]
            assert bitwise(_read(key, schemas, rewrite)) == bitwise(case.shown(row, in_order))
        assert (value is None) == (op == "d")
        if value is None:
            continue
        expected = case.shown(row, case.made.names)
        stamp = COMMIT_TS + place
        if case.options.extension:
            expected |= {"_tidb_op": op, "_tidb_commit_ts": stamp, "_tidb_commit_physical_time": stamp >> 18}
        if case.options.integrity:
            crc = case.made.crc(row)
            there = crc != 0  # 0 is TiCDC's "no checksum"
            expected |= {"_tidb_row_level_checksum": str(crc) if there else ""}
            expected |= {"_tidb_corrupted": False, "_tidb_checksum_version": 2 if there else 0}
        decoded = _read(value, schemas, rewrite)
        assert list(decoded) == list(expected)
        assert bitwise(decoded) == bitwise(expected)


@settings(max_examples=examples(120))
@given(_cases(integrity=True))
def test_the_consumer_accepts_every_row(case: _Case) -> None:
    schemas, messages = _messages(case)
    reader = AvroReader(schemas)
    for (op, row), (key, value) in zip(case.rows, messages, strict=True):
        if not (key or value):  # a delete in a table without key
            continue
        read = AvroRow(reader, key, value)
        assert read.event.op == {"c": "insert", "u": "update", "d": "delete"}[op]
        assert read.verify(case.made.zone) == (None if op == "d" else case.made.crc(row) or None)


@settings(max_examples=examples(300))
@given(_cases(integrity=True), st.data())
def test_a_changed_byte_is_refused(case: _Case, data: st.DataObject) -> None:
    schemas, messages = _messages(case)
    values = [value for _, value in messages if value is not None]
    assume(values)
    reader, zone = AvroReader(schemas), case.made.zone
    value = data.draw(st.sampled_from(values))
    sent = AvroRow(reader, None, value)
    assume(sent.checksum is not None and sent.value)
    # Behind the checksum, and between it and the columns, stand fields that no checksum covers.
    end = value.rindex(str(sent.checksum).encode()) + len(str(sent.checksum))
    begin = end - len(str(sent.checksum)) - 1
    stamps = len(_zigzag(sent.event.commit_ts or 0)) + len(_zigzag(sent.event.commit_ms or 0))
    covered = [*range(5, begin - stamps - 2), *range(begin, end)]
    place = data.draw(st.sampled_from(covered))
    flipped = bytearray(value)
    flipped[place] ^= data.draw(st.integers(1, 255))
    try:
        found = AvroRow(reader, None, bytes(flipped))
        found.verify(zone)
    except DecodeError:
        return
    assert found.checksum == sent.checksum
    assert _floats(found.value or {}) == _floats(sent.value or {})


def _zigzag(number: int) -> bytes:
    number, out = number << 1, bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _floats(row: Any) -> dict[str, Any]:
    """Let a VECTOR be its float32 values: texts that differ in digits beyond those are the same row."""
    return {
        name: struct.pack("<3f", *map(float, value[1:-1].split(",")))
        if isinstance(value, str) and re.fullmatch(r"\[[-0-9.]+,[-0-9.]+,[-0-9.]+\]", value)
        else value
        for name, value in row.items()
    }
