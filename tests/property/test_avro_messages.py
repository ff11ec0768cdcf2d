"""Random tables, values and options: what the Avro encoder writes, fastavro reads back, and checksums hold.

Every key and value decodes against the schema text that was registered to what went in, by rules written down here once
more; written again by fastavro it gives the same bytes. With row checksums ``verify_checksum`` accepts every row, and
no row with a changed byte whose values differ.
"""

from __future__ import annotations

import io
import json
import re
import string
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from zlib import crc32

import fastavro
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plain_reference import fixed_float, json_document, moment_text, time_text

from ticdc_emit import Encoder
from ticdc_emit.decode import AvroReader, DecodeError
from ticdc_emit.registry import MemoryRegistry

_COMMIT_TS = 450000000262144000


@dataclass(frozen=True)
class _Options:
    extension: bool
    decimal_text: bool
    bigint_text: bool
    integrity: bool
    zone: str

    @property
    def uri(self) -> str:
        return (
            "memory://topic/?protocol=avro&schema-registry=http://127.0.0.1:1"
            f"&enable-tidb-extension={str(self.extension).lower()}"
            f"&avro-decimal-handling-mode={'string' if self.decimal_text else 'precise'}"
            f"&avro-bigint-unsigned-handling-mode={'string' if self.bigint_text else 'long'}"
        )


def _same(value: Any, options: _Options) -> Any:
    return value


@dataclass(frozen=True)
class _Kind:
    """One column type: its SQL, values as rows have them, and each as a reader sees it.

    ``checksum_bytes``: what it adds to the row's checksum, from the value that a reader sees and the zone.
    """

    sql: str
    values: st.SearchStrategy[Any]
    decoded: Callable[[Any, _Options], Any] = _same
    checksum_bytes: Callable[[Any, Any, _Options], bytes] = lambda value, shown, options: _long(shown)
    default: str = ""
    key: bool = True


def _word(number: int) -> bytes:
    return (number % (1 << 64)).to_bytes(8, "little")


def _long(data: str | bytes) -> bytes:
    raw = data.encode() if isinstance(data, str) else data
    return struct.pack("<I", len(raw)) + raw


def _integer(name: str, bits: int, default: str = "5") -> list[_Kind]:
    signed = st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) | st.sampled_from([-1, 0, 63, 64, -64, -65])
    unsigned = st.integers(0, (1 << bits) - 1) | st.sampled_from([(1 << bits) - 1, 1 << bits - 1])

    def number(value: Any, shown: Any, options: _Options) -> bytes:
        return _word(value)

    def wrapped(value: int, options: _Options) -> int | str:
        if bits < 64:
            return value
        return str(value) if options.bigint_text else value - (1 << 64) * (value >> 63)

    return [
        _Kind(name, signed, checksum_bytes=number, default=default),
        _Kind(f"{name} unsigned", unsigned, wrapped, number, default),
    ]


def _bits(width: int) -> _Kind:
    return _Kind(
        f"bit({width})",
        st.integers(0, (1 << width) - 1),
        lambda value, options: value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big"),
        lambda value, shown, options: _word(value),
        "b'1'",
    )


def _decimal(precision: int, scale: int, default: str) -> _Kind:
    largest = 10**precision - 1

    def text(unscaled: int) -> str:
        digits = str(abs(unscaled)).rjust(scale + 1, "0")
        body = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
        return f"-{body}" if unscaled < 0 else body

    return _Kind(
        f"decimal({precision},{scale})",
        (st.integers(-largest, largest) | st.sampled_from([0, -128, 127, 128, -129, largest, -largest])).map(
            lambda unscaled: text(max(-largest, min(largest, unscaled)))
        ),
        lambda value, options: value if options.decimal_text else Decimal(value),
        lambda value, shown, options: _long(value),
        default,
    )


def _labels(kind: str, elements: list[str]) -> _Kind:
    quoted = ",".join("'" + element.replace("\\", "\\\\").replace("'", "''") + "'" for element in elements)

    def number(value: str, shown: Any, options: _Options) -> bytes:
        if kind == "enum":
            return _word(1 + elements.index(value))
        return _word(sum(1 << elements.index(label) for label in value.split(",")) if value else 0)

    one = st.sampled_from(elements)
    if kind == "set":
        one = st.sets(one).map(lambda chosen: ",".join(element for element in elements if element in chosen))
    return _Kind(f"{kind}({quoted})", one, checksum_bytes=number, default=f"'{elements[0]}'")


_WORDS = st.text(st.sampled_from('ab"\\<>&\n\x00\x08\u2028é😀'), max_size=8)
_MICROS = st.integers(2 * 10**6, (1 << 31) * 10**6 - 1)
_SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
_DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


def _double(value: Any, shown: Any, options: _Options) -> bytes:
    return struct.pack("<d", value)


def _vector(value: Any, shown: Any, options: _Options) -> bytes:
    return struct.pack("<I3f", 3, *value)


def _utc(value: Any, shown: Any, options: _Options) -> bytes:
    return _long(moment_text(value, 6, None))


_KINDS = [
    *_integer("tinyint", 8), *_integer("smallint", 16), *_integer("mediumint", 24), *_integer("int", 32),
    *_integer("bigint", 64, "6"),
    _Kind("year", st.sampled_from([0, 1901, 2024, 2155]), checksum_bytes=lambda v, s, o: _word(v), default="2024"),
    _bits(1), _bits(20), _bits(64),
    _Kind("float", _SINGLES, checksum_bytes=_double, default="1.5"),
    _Kind("double", _DOUBLES, checksum_bytes=_double, default="1.5"),
    _decimal(10, 4, "1.5"), _decimal(5, 0, "3"), _decimal(38, 10, "0"), _decimal(65, 30, "0.1"),
    _Kind("char(8)", _WORDS, default="'x'"), _Kind("varchar(16)", _WORDS, default="'x<'"),
    _Kind("text", _WORDS, key=False), _Kind("longtext", _WORDS.map(lambda word: word * 40), key=False),
    _Kind("binary(4)", st.binary(max_size=4), lambda value, options: value.ljust(4, b"\0"), default="'x'"),
    _Kind("varbinary(16)", st.binary(max_size=16), default="'x'"), _Kind("blob", st.binary(max_size=9), key=False),
    _Kind("date", st.dates().map(str) | st.sampled_from(["0000-00-00", "2024-00-00"]), default="'2020-01-01'"),
    _Kind(
        "datetime(3)", st.integers(-62 * 10**12, 253 * 10**12).map(lambda ms: moment_text(ms * 1000, 3, None)),
        default="'2020-01-01 00:00:00.5'",
    ),
    _Kind("timestamp(6)", _MICROS, lambda value, options: moment_text(value, 6, options.zone), _utc),
    _Kind("time(2)", st.integers(-302039900, 302039900).map(lambda n: time_text(n * 10**4, 2)), default="'01:02:03'"),
    _labels("enum", ["a", "b'c", "<d>", "é,f", "x''y", "g\\h", "z"]), _labels("set", ["a", "b'c", "<d>", "é", "x''z"]),
    _Kind(
        "json",
        st.dictionaries(st.text("ab1", max_size=2), st.integers(0, 9) | st.floats(0, 1) | _WORDS, max_size=3).map(
            json_document
        ),
        key=False,
    ),
    _Kind(
        "vector(3)", st.lists(_SINGLES, min_size=3, max_size=3),
        lambda value, options: "[" + ",".join(fixed_float(item, True) for item in value) + "]", _vector, key=False,
    ),
]  # fmt: skip


@dataclass(frozen=True)
class _Case:
    sql: str
    names: list[str]
    kinds: list[_Kind]
    key: list[str]
    rows: list[tuple[str, dict[str, Any]]]
    options: _Options

    def given(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the row as the encoder takes it: TIMESTAMP as text of the changefeed's zone."""
        kinds = dict(zip(self.names, self.kinds, strict=True))
        return {
            name: moment_text(value, 6, self.options.zone)
            if kinds[name].sql.startswith("timestamp") and value is not None
            else value
            for name, value in row.items()
        }

    def shown(self, row: dict[str, Any], names: list[str]) -> dict[str, Any]:
        """Return the row as a reader sees it."""
        kinds = dict(zip(self.names, self.kinds, strict=True))
        shown = {name: None if row[name] is None else kinds[name].decoded(row[name], self.options) for name in names}
        return {_sanitized(name): value for name, value in shown.items()}

    def crc(self, row: dict[str, Any]) -> int:
        found = 0
        shown = self.shown(row, self.names)
        for name, kind in zip(self.names, self.kinds, strict=True):
            if row[name] is not None:
                found = crc32(kind.checksum_bytes(row[name], shown[_sanitized(name)], self.options), found)
        return found


def _sanitized(name: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{safe}" if safe[0].isdigit() else safe


_NAMES = st.text(st.sampled_from(string.ascii_letters + string.digits + "_ -.\"'\\<>&é中`"), min_size=1, max_size=6)
_ZONES = st.sampled_from(["UTC", "America/New_York", "Asia/Shanghai", "Europe/Berlin", "Australia/Lord_Howe"])


def _name(text: str) -> str:
    return "`" + text.replace("`", "``") + "`"


@st.composite
def _cases(draw: st.DrawFn, integrity: bool | None = None) -> _Case:
    kinds = draw(st.lists(st.sampled_from(_KINDS), min_size=1, max_size=7))
    names = [f"{draw(_NAMES)}{place}" for place in range(len(kinds))]
    key, clauses, nullable = [], [], []
    keyed = draw(st.booleans())
    for name, kind in zip(names, kinds, strict=True):
        in_key = keyed and kind.key and (not key or draw(st.integers(0, 5)) == 0)
        if in_key:
            key.append(name)
        nullable.append(not in_key and draw(st.booleans()))
        default = f" default {kind.default}" if kind.default and draw(st.booleans()) else ""
        clauses.append(f"{_name(name)} {kind.sql} {'null' if nullable[-1] else 'not null'}{default}")
    if key:
        clauses.append(f"primary key ({','.join(map(_name, key))})")
    checked = draw(st.booleans()) if integrity is None else integrity
    extension, decimal_text, bigint_text = (checked or draw(st.booleans()) for _ in range(3))
    options = _Options(extension, decimal_text, bigint_text, checked, draw(_ZONES))

    def row() -> dict[str, Any]:
        return {
            name: None if may and draw(st.integers(0, 3)) == 0 else draw(kind.values)
            for name, kind, may in zip(names, kinds, nullable, strict=True)
        }

    ops = draw(st.lists(st.sampled_from("cud"), min_size=1, max_size=8))
    sql = f"create table {_name(draw(_NAMES).strip() + 's')}.{_name(draw(_NAMES).strip() + 't')} ({','.join(clauses)})"
    return _Case(sql, names, kinds, key, [(op, row()) for op in ops], options)


def _messages(case: _Case) -> tuple[dict[int, str], list[tuple[bytes, bytes | None]]]:
    registry = MemoryRegistry()
    encoder = Encoder(
        case.options.uri, case.sql, registry=registry, integrity=case.options.integrity, time_zone=case.options.zone
    )
    changes = [
        {
            "op": op,
            "commit_ts": _COMMIT_TS + place,
            "before": None if op == "c" else case.given(row),
            "after": None if op == "d" else case.given(row),
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


def _bitwise(row: dict[str, Any]) -> dict[str, Any]:
    return {name: struct.pack("<d", value) if isinstance(value, float) else value for name, value in row.items()}


@settings(max_examples=200)
@given(_cases())
def test_what_went_in_comes_out(case: _Case) -> None:
    schemas, messages = _messages(case)
    # fastavro writes decimals such as -128 and -32768 with one byte more than two's complement needs; goavro does not.
    rewrite = case.options.decimal_text or not any(kind.sql.startswith("decimal") for kind in case.kinds)
    assert len(messages) == len(case.rows)
    for place, ((op, row), (key, value)) in enumerate(zip(case.rows, messages, strict=True)):
        assert bool(key) == bool(case.key)
        if case.key:
            in_order = [name for name in case.names if name in case.key]
            assert _bitwise(_read(key, schemas, rewrite)) == _bitwise(case.shown(row, in_order))
        assert (value is None) == (op == "d")
        if value is None:
            continue
        expected = case.shown(row, case.names)
        stamp = _COMMIT_TS + place
        if case.options.extension:
            expected |= {"_tidb_op": op, "_tidb_commit_ts": stamp, "_tidb_commit_physical_time": stamp >> 18}
        if case.options.integrity:
            crc = case.crc(row)
            there = crc != 0  # 0 is TiCDC's "no checksum"
            expected |= {"_tidb_row_level_checksum": str(crc) if there else ""}
            expected |= {"_tidb_corrupted": False, "_tidb_checksum_version": 2 if there else 0}
        decoded = _read(value, schemas, rewrite)
        assert list(decoded) == list(expected)
        assert _bitwise(decoded) == _bitwise(expected)


@settings(max_examples=120)
@given(_cases(integrity=True))
def test_the_consumer_accepts_every_row(case: _Case) -> None:
    schemas, messages = _messages(case)
    reader = AvroReader(schemas)
    for (op, row), (key, value) in zip(case.rows, messages, strict=True):
        if not (key or value):  # a delete in a table without key
            continue
        read = reader.read(key, value)
        assert read.op == op
        assert read.verify(case.options.zone) == (None if op == "d" else case.crc(row) or None)


@settings(max_examples=300)
@given(_cases(integrity=True), st.data())
def test_a_changed_byte_is_refused(case: _Case, data: st.DataObject) -> None:
    schemas, messages = _messages(case)
    values = [value for _, value in messages if value is not None]
    assume(values)
    reader, zone = AvroReader(schemas), case.options.zone
    value = data.draw(st.sampled_from(values))
    sent = reader.read(None, value)
    assume(sent.checksum is not None and sent.value)
    # Behind the checksum, and between it and the columns, stand fields that no checksum covers.
    end = value.rindex(str(sent.checksum).encode()) + len(str(sent.checksum))
    begin = end - len(str(sent.checksum)) - 1
    stamps = len(_zigzag(sent.commit_ts or 0)) + len(_zigzag(sent.commit_physical_ms or 0))
    covered = [*range(5, begin - stamps - 2), *range(begin, end)]
    place = data.draw(st.sampled_from(covered))
    flipped = bytearray(value)
    flipped[place] ^= data.draw(st.integers(1, 255))
    try:
        found = reader.read(None, bytes(flipped))
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
