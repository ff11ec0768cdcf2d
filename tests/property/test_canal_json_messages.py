"""Whole batches through ``encode_rows`` equal a Canal-JSON writer that prints row by row.

Random tables (every type, any nullability, odd names), random rows, every combination of options, inserts, updates and
deletes mixed, typed and generic form.
"""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples
from plain_reference import canal_message, fixed_float, json_document, moment_text, promoted, time_text

from ticdc_emit.config import load_changefeed
from ticdc_emit.pipeline.encode.messages import encode_rows
from ticdc_emit.pipeline.plan.table_plans import Plan, make_plan
from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.sql.types import ColumnFlag, MySQLType

_ZONE = "America/New_York"
_BUILD_MS = 1_700_000_000_123
_NONE, _UNSIGNED = ColumnFlag.NONE, ColumnFlag.UNSIGNED


@dataclass(frozen=True)
class _Kind:
    """One column type: its Arrow type, its values, and how a plain writer prints one."""

    column: Column
    arrow: pa.DataType
    values: st.SearchStrategy[Any]
    show: Callable[[Any], str | bytes]
    java: int
    name: str
    full: str
    family: str = ""  # of an unsigned integer, for the promotion of its Java type


def _of(kind: MySQLType, flen: int = -1, decimal: int = -1, charset: str = "binary", **more: Any) -> Column:
    return Column(0, "", kind, flen, decimal, charset, charset, **more)


_LABELS = ("a", "b'c", "<d>", "é")
_FULL_LABELS = "('a','b''c','<d>','é')"
_WORDS = st.text(st.sampled_from('ab"\\<>&\n\x00\x08\u2028é😀'), max_size=8)
_JSON_KEYS = st.text("ab1", max_size=2)
_CENTS = st.integers(-(10**10) + 1, 10**10 - 1)
_MICROS = st.integers(2 * 10**6, (1 << 31) * 10**6 - 1)


def _integer(kind: MySQLType, name: str, bits: int, java: int, flen: int, unsigned: bool, arrow: pa.DataType) -> _Kind:
    low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
    edges = st.sampled_from([low, high, high // 2, high // 2 + 1])
    suffix = " unsigned" if unsigned else ""
    values = st.integers(low, high) | edges
    if pa.types.is_decimal(arrow):
        values = values.map(Decimal)
    column = _of(kind, flen, 0, flags=_UNSIGNED if unsigned else _NONE)
    family = name if unsigned else ""
    return _Kind(column, arrow, values, str, java, name + suffix, f"{name}({flen}){suffix}", family)


_KINDS = [
    _integer(MySQLType.TINY, "tinyint", 8, -6, 4, False, pa.int8()),
    _integer(MySQLType.SHORT, "smallint", 16, 5, 6, False, pa.int16()),
    _integer(MySQLType.INT24, "mediumint", 24, 4, 9, False, pa.int32()),
    _integer(MySQLType.LONG, "int", 32, 4, 11, False, pa.int32()),
    _integer(MySQLType.LONGLONG, "bigint", 64, -5, 20, False, pa.int64()),
    _integer(MySQLType.TINY, "tinyint", 8, -6, 3, True, pa.int16()),
    _integer(MySQLType.SHORT, "smallint", 16, 5, 5, True, pa.int32()),
    _integer(MySQLType.INT24, "mediumint", 24, 4, 8, True, pa.int32()),
    _integer(MySQLType.LONG, "int", 32, 4, 10, True, pa.int64()),
    _integer(MySQLType.LONGLONG, "bigint", 64, -5, 20, True, pa.decimal128(20, 0)),
    _Kind(_of(MySQLType.YEAR, 4, 0), pa.int32(), st.sampled_from([0, 1901, 2155]), str, 12, "year", "year(4)"),
    _Kind(_of(MySQLType.BIT, 64, 0), pa.uint64(), st.integers(0, (1 << 64) - 1), str, -7, "bit", "bit(64)"),
    _Kind(
        _of(MySQLType.FLOAT, 12), pa.float32(), st.floats(width=32, allow_nan=False, allow_infinity=False),
        lambda v: fixed_float(v, True), 7, "float", "float",
    ),
    _Kind(
        _of(MySQLType.DOUBLE, 22), pa.float64(), st.floats(allow_nan=False, allow_infinity=False),
        lambda v: fixed_float(v, False), 8, "double", "double",
    ),
    _Kind(
        _of(MySQLType.NEWDECIMAL, 10, 4), pa.decimal128(10, 4), _CENTS.map(lambda n: Decimal(n).scaleb(-4)),
        lambda v: format(v if v else Decimal("0.0000"), "f"), 3, "decimal", "decimal(10,4)",
    ),
    _Kind(_of(MySQLType.STRING, 16, charset="utf8mb4"), pa.string(), _WORDS, str, 1, "char", "char(16)"),
    _Kind(_of(MySQLType.VARCHAR, 16, charset="utf8mb4"), pa.string(), _WORDS, str, 12, "varchar", "varchar(16)"),
    _Kind(_of(MySQLType.BLOB, 65535, charset="utf8mb4"), pa.string(), _WORDS, str, 2005, "text", "text"),
    _Kind(
        _of(MySQLType.STRING, 4), pa.binary(), st.binary(max_size=4), lambda v: v.ljust(4, b"\0"),
        2004, "binary", "binary(4)",
    ),
    _Kind(_of(MySQLType.VARCHAR, 16), pa.binary(), st.binary(max_size=16), bytes, 2004, "varbinary", "varbinary(16)"),
    _Kind(_of(MySQLType.LONG_BLOB, 1 << 31), pa.binary(), st.binary(max_size=9), bytes, 2004, "longblob", "longblob"),
    _Kind(_of(MySQLType.DATE, 10, 0), pa.date32(), st.dates(), lambda v: v.isoformat(), 91, "date", "date"),
    _Kind(
        _of(MySQLType.DATETIME, 22, 3), pa.timestamp("us"),
        st.integers(-62 * 10**12, 253 * 10**12).map(lambda n: n * 1000),
        lambda v: moment_text(v, 3, None), 93, "datetime", "datetime(3)",
    ),
    _Kind(
        _of(MySQLType.TIMESTAMP, 26, 6), pa.timestamp("us", tz="UTC"), _MICROS, lambda v: moment_text(v, 6, _ZONE),
        93, "timestamp", "timestamp(6)",
    ),
    _Kind(
        _of(MySQLType.DURATION, 10, 0), pa.duration("s"), st.integers(-3020399, 3020399),
        lambda v: time_text(v * 10**6, 0), 92, "time", "time",
    ),
    _Kind(
        _of(MySQLType.ENUM, 3, charset="utf8mb4", elems=_LABELS), pa.string(), st.sampled_from(_LABELS),
        lambda v: str(_LABELS.index(v) + 1), 4, "enum", "enum" + _FULL_LABELS,
    ),
    _Kind(
        _of(MySQLType.SET, 9, charset="utf8mb4", elems=_LABELS), pa.int32(), st.integers(0, 15), str,
        -7, "set", "set" + _FULL_LABELS,
    ),
    _Kind(
        _of(MySQLType.JSON, 4294967295), pa.string(),
        st.dictionaries(_JSON_KEYS, st.integers(0, 9) | st.floats(0, 1) | _WORDS, max_size=3).map(json.dumps),
        lambda v: json_document(json.loads(v)), 12, "json", "json",
    ),
    _Kind(
        _of(MySQLType.VECTOR_FLOAT32, 2), pa.list_(pa.float32()),
        st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=2),
        lambda v: "[" + ",".join(fixed_float(item, True) for item in v) + "]", 12, "vector", "vector(2)",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class _Case:
    info: TableInfo
    kinds: list[_Kind]
    ops: list[str]
    stamps: list[int]
    before: list[dict[str, Any] | None]
    after: list[dict[str, Any] | None]
    extension: bool
    updated: bool
    compatible: bool
    handle_only: bool


_NAMES = st.text(st.sampled_from(string.ascii_letters + "_ -.\"'\\<>&é中😀`"), min_size=1, max_size=6)


@st.composite
def _cases(draw: st.DrawFn) -> _Case:
    kinds = draw(st.lists(st.sampled_from(_KINDS), min_size=1, max_size=7))
    names = draw(st.lists(_NAMES, min_size=len(kinds), max_size=len(kinds), unique=True))
    with_key = draw(st.booleans())
    columns = []
    for place, (kind, name) in enumerate(zip(kinds, names, strict=True)):
        flags = kind.column.flags
        if with_key and (place == 0 or draw(st.integers(0, 5)) == 0):
            flags |= ColumnFlag.PRIMARY_KEY | ColumnFlag.NOT_NULL
        elif draw(st.booleans()):
            flags |= ColumnFlag.NOT_NULL
        columns.append(replace(kind.column, id=place + 1, name=name, flags=flags))
    unique = [c.name for c in columns if not c.nullable][:2]
    indexes = (Index(1, "uk", tuple(unique), unique=True),) if unique and not with_key else ()
    info = TableInfo(draw(_NAMES), draw(_NAMES), 1, tuple(columns), indexes)

    def row() -> dict[str, Any]:
        return {
            c.name: None if c.nullable and draw(st.integers(0, 3)) == 0 else draw(kind.values)
            for c, kind in zip(columns, kinds, strict=True)
        }

    ops = draw(st.lists(st.sampled_from("cud"), min_size=1, max_size=12))
    before: list[dict[str, Any] | None] = []
    after: list[dict[str, Any] | None] = []
    for op in ops:
        new, old = row(), row()
        keep = [name for name in old if draw(st.booleans())]  # cells that an update leaves alone
        before.append(None if op == "c" else {**old, **{name: new[name] for name in keep}})
        after.append(None if op == "d" else new)
    gaps = draw(st.lists(st.integers(0, 1 << 20), min_size=len(ops), max_size=len(ops)))
    stamps = [450000000262144000 + sum(gaps[: place + 1]) for place in range(len(ops))]
    flags4 = draw(st.tuples(*[st.booleans()] * 4))
    return _Case(info, kinds, ops, stamps, before, after, *flags4)


def _plan(case: _Case) -> Plan:
    uri = f"kafka://127.0.0.1:9092/topic?protocol=canal-json&enable-tidb-extension={str(case.extension).lower()}"
    uri += f"&only-output-updated-columns={str(case.updated).lower()}"
    uri += f"&content-compatible={str(case.compatible).lower()}"
    toml = f"[sink]\ndelete-only-output-handle-key-columns = {str(case.handle_only).lower()}\n"
    changefeed = load_changefeed(uri, toml, time_zone=_ZONE)
    name = case.info.schema, case.info.name
    return make_plan(changefeed, {name: [(0, case.info)]}, {"topic": 1}, build_ts=_BUILD_MS)


def _typed(case: _Case) -> pa.RecordBatch:
    def image(rows: list[dict[str, Any] | None]) -> pa.Array:
        kind = pa.struct([pa.field(c.name, k.arrow) for c, k in zip(case.info.columns, case.kinds, strict=True)])
        return pa.array(rows, kind)

    return pa.record_batch(
        {
            "op": case.ops,
            "commit_ts": pa.array(case.stamps, pa.int64()),
            "before": image(case.before),
            "after": image(case.after),
        }
    )


def _generic(case: _Case) -> pa.RecordBatch:
    def text(kind: _Kind, value: Any) -> str | None:
        if value is None:
            return None
        if kind.column.type == MySQLType.SET:
            return ",".join(label for place, label in enumerate(_LABELS) if value >> place & 1)
        if kind.column.type in (MySQLType.ENUM, MySQLType.JSON):
            return str(value)
        shown = kind.show(value)
        return base64.b64encode(shown).decode() if isinstance(shown, bytes) else shown

    def image(rows: list[dict[str, Any] | None]) -> pa.Array:
        kinds = {c.name: k for c, k in zip(case.info.columns, case.kinds, strict=True)}
        maps = [None if row is None else [(n, text(kinds[n], v)) for n, v in reversed(row.items())] for row in rows]
        return pa.array(maps, pa.map_(pa.string(), pa.string()))

    typed = _typed(case)
    return pa.record_batch(
        {
            "op": typed["op"],
            "commit_ts": typed["commit_ts"],
            "before": image(case.before),
            "after": image(case.after),
        }
    )


def _by_hand(case: _Case) -> list[str]:
    kinds = {c.name: k for c, k in zip(case.info.columns, case.kinds, strict=True)}
    primary = [c.name for c in case.info.columns if c.is_primary_key]
    handle = primary or [name for index in case.info.indexes for name in index.columns]
    made = []
    for op, stamp, before, after in zip(case.ops, case.stamps, case.before, case.after, strict=True):
        current = after if after is not None else before
        assert current is not None
        names = [name for name in kinds if op != "d" or not case.handle_only or name in handle]

        def show(row: dict[str, Any], names: list[str]) -> list[tuple[str, str | bytes | None]]:
            return [(name, None if row[name] is None else kinds[name].show(row[name])) for name in names]

        types = {}
        for name in names:
            kind, value = kinds[name], current[name]
            java = promoted(kind.java, kind.family, value) if kind.family else kind.java
            types[name] = (java, kind.full if case.compatible else kind.name)
        old = None
        if op == "u":
            assert before is not None
            assert after is not None
            shown = names
            if case.updated or case.compatible:
                shown = [name for name in names if _changed(kinds[name], before[name], after[name])]
            old = show(before, shown)
        event = {"c": "INSERT", "u": "UPDATE", "d": "DELETE"}[op]
        data = show(current, names)
        made.append(
            canal_message(
                case.info.schema, case.info.name, primary, event, stamp, _BUILD_MS, types, old, data, case.extension
            )
        )  # fmt: skip
    return made


def _changed(kind: _Kind, before: Any, after: Any) -> bool:
    # Floats and the floats of a VECTOR compare as numbers (pkg/sink/codec/encoder.go IsColumnValueEqual): -0 is 0.
    if before is None or after is None or isinstance(before, float | list):
        return bool(before != after)
    return kind.show(before) != kind.show(after)


@settings(max_examples=examples(150))
@given(_cases())
def test_messages(case: _Case) -> None:
    plan = _plan(case)
    table = plan.table(case.info.schema, case.info.name)
    expected = _by_hand(case)
    batch = _typed(case)
    rows = encode_rows(batch, table, plan)
    assert len(rows.encoded) == len(case.ops)
    made = [value.decode() for value in rows.encoded.values.to_pylist()]
    assert made == expected
    generic = encode_rows(_generic(case), table, plan).encoded.values.to_pylist()
    assert [value.decode() for value in generic] == expected
    half = len(case.ops) // 2
    if half:
        for piece in (batch, _generic(case)):
            tail = encode_rows(piece.slice(half), table, plan).encoded.values.to_pylist()
            assert [value.decode() for value in tail] == expected[half:]


def _wide(count: int, ops: list[str]) -> _Case:
    """Many rows of a few types, some cells changed: beyond one chunk, and beyond the shares that switch paths."""
    chance = np.random.default_rng(7)
    kinds = [_KINDS[4], _KINDS[9], _KINDS[13], _KINDS[16], _KINDS[25], _KINDS[27]]
    columns = tuple(replace(k.column, id=i + 1, name=f"c{i}") for i, k in enumerate(kinds))
    words = ["plain", 'a"b', "<é>", None]

    def row(place: int) -> dict[str, Any]:
        return {
            "c0": place,
            "c1": Decimal(int(chance.integers(0, 1 << 62)) * 4),
            "c2": float(chance.normal()) if place % 7 else None,
            "c3": words[int(chance.integers(0, 4))],
            "c4": _LABELS[int(chance.integers(0, 4))],
            "c5": f'{{"a": {int(chance.integers(0, 1000))}, "b": "x"}}',
        }

    after = [row(place) for place in range(count)]
    before = [{**old, **row(place)} if place % 5 == 0 else {**old, "c3": "x"} for place, old in enumerate(after)]
    picked = [ops[place % len(ops)] for place in range(count)]
    return _Case(
        TableInfo("s", "t", 1, columns), kinds, picked, [450000000262144000 + place // 3 for place in range(count)],
        [None if op == "c" else old for op, old in zip(picked, before, strict=True)],
        [None if op == "d" else new for op, new in zip(picked, after, strict=True)],
        extension=True, updated=False, compatible=False, handle_only=False,
    )  # fmt: skip


@pytest.mark.parametrize("ops", [["c"], ["u"], ["d"], ["c", "u", "d", "u"]], ids="".join)
@pytest.mark.parametrize("updated", [False, True])
def test_many_rows(ops: list[str], updated: bool) -> None:
    case = replace(_wide(5_003 if len(ops) > 1 else 1_500, ops), updated=updated)
    plan = _plan(case)
    made = encode_rows(_typed(case), plan.table("s", "t"), plan).encoded.values.to_pylist()
    assert [value.decode() for value in made] == _by_hand(case)
