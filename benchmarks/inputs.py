"""The rows of the benchmark: the two tables of ``reference.json`` with varied values, in Spark's Arrow types.

BIGINT UNSIGNED is ``decimal128(20, 0)``, TIME and JSON are canonical text. One in ten values of a nullable column is
null. An update changes three columns of ``orders`` (of ``sbtest`` one); with ``all_changed`` it changes every cell.

The golden rows prove that the benchmark measures the right bytes: one row of each table, in the same Arrow types, so
that the encoder takes the same code path, and in ``golden.json`` the messages of TiCDC's encoders for it.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.model import Op
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.store import AssignedIds
from ticdc_emit.tso import LOGICAL_BITS

__all__ = [
    "BUILD_TS",
    "TABLES",
    "BenchTable",
    "change_batch",
    "commit_stamps",
    "golden_catalog",
    "golden_row",
    "golden_value",
    "make_rows",
    "make_update",
    "relative_sql",
    "sibling_sql",
    "table_sql",
]

_NULLS = 0.1
_FIRST_TS = 450_000_000_262_144_000
_OP_LETTERS = {Op.INSERT: "c", Op.UPDATE: "u"}
_CHANGED = {"orders": ("qty", "note", "updated"), "sbtest": ("k",)}
_COLUMNS = {
    "sbtest": (
        "id int primary key",
        "k int not null default 0",
        "c char(120) not null default ''",
        "pad char(60) not null default ''",
    ),
    "orders": (
        "id bigint primary key",
        "user_id bigint unsigned not null",
        "status enum('new','paid','shipped')",
        "amount decimal(12,2) not null",
        "qty int",
        "price double",
        "note varchar(255)",
        "payload json",
        "created datetime(3)",
        "updated timestamp null",
        "flags bit(8)",
        "tags set('a','b','c')",
        "token varbinary(64)",
        "ratio float",
        "day date",
        "t time",
    ),
}
TABLES = tuple(_COLUMNS)


@dataclass(frozen=True)
class BenchTable:
    """A table of the benchmark and its rows: one array per column."""

    info: TableInfo
    columns: dict[str, pa.Array]


def make_rows(name: str, count: int, seed: int = 1) -> BenchTable:
    """Return ``count`` rows of the table. The same seed gives the same rows."""
    info = catalog_from_sql(table_sql(name)).table("test", name)
    rng = np.random.default_rng(seed)
    columns = _orders(rng, count) if name == "orders" else _sbtest(rng, count)
    nullable = {column.name for column in info.columns if column.nullable}
    return BenchTable(info, {n: _with_nulls(a, rng) if n in nullable else a for n, a in columns.items()})


def make_update(table: BenchTable, *, all_changed: bool = False, seed: int = 2) -> dict[str, pa.Array]:
    """Return before images for the rows of ``table``. Most columns are equal; the changed ones come from other rows."""
    other = make_rows(table.info.name, len(table.columns["id"]), seed)
    names = tuple(table.columns) if all_changed else _CHANGED[table.info.name]
    everything = pa.array(np.arange(len(table.columns["id"])))
    return {n: other.columns[n] if n in names else array.take(everything) for n, array in table.columns.items()}


def table_sql(name: str) -> str:
    """Return the CREATE TABLE of a bench table."""
    return _create(name, _COLUMNS[name])


def sibling_sql(name: str, number: int) -> str:
    """Return the CREATE TABLE of a table with the columns of a bench table and a number in its name."""
    return _create(f"{name}_{number:02}", _COLUMNS[name])


def relative_sql(name: str, number: int) -> str:
    """Return the CREATE TABLE of a table that takes the same rows, but has another column order and other text
    lengths.
    """
    columns = _COLUMNS[name]
    first = number % len(columns)
    turned = (*columns[first:], *columns[:first])
    return _create(
        f"{name}_{number:02}", [column.replace("varchar(255)", f"varchar({255 - number})") for column in turned]
    )


def _create(name: str, columns: Sequence[str]) -> str:
    return f"create table test.{name} ({', '.join(columns)})"


def commit_stamps(count: int) -> pa.Array:
    """Return TSOs for ``count`` rows: transactions of three rows, a millisecond apart."""
    return pa.array(np.arange(count, dtype=np.uint64) // 3 * (1 << LOGICAL_BITS) + _FIRST_TS)


def change_batch(
    op: Op, commit_ts: pa.Array, *, after: dict[str, pa.Array], before: dict[str, pa.Array] | None = None
) -> pa.RecordBatch:
    """Return images as a batch in change form (``pipeline.arrange.row_reader``)."""
    columns = {"op": pa.repeat(pa.scalar(_OP_LETTERS[op]), len(commit_ts)), "commit_ts": commit_ts}
    if before is not None:
        columns["before"] = _struct(before)
    columns["after"] = _struct(after)
    return pa.record_batch(columns)


def _struct(columns: dict[str, pa.Array]) -> pa.StructArray:
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))


def _with_nulls(array: pa.Array, rng: np.random.Generator) -> pa.Array:
    keep = rng.random(len(array)) >= _NULLS
    return array.take(pa.array(np.arange(len(array)), mask=~keep))


def _texts(rng: np.random.Generator, count: int, groups: int, digits: int) -> pa.Array:
    numbers = rng.integers(10 ** (digits - 1), 10**digits, (count, groups))
    return pa.array(["-".join(map(str, row)) for row in numbers.tolist()])


def _sbtest(rng: np.random.Generator, count: int) -> dict[str, pa.Array]:
    return {
        "id": pa.array(rng.permutation(count).astype(np.int32) + 1_000_000),
        "k": pa.array(rng.integers(1, 1_000_000, count).astype(np.int32)),
        "c": _texts(rng, count, 10, 11),
        "pad": _texts(rng, count, 5, 11),
    }


def _orders(rng: np.random.Generator, count: int) -> dict[str, pa.Array]:
    words = np.array(["note", "with", "some", "text", "& more", '"quotes"', "and", "plain", "words", "in it"])
    seconds = rng.integers(1_600_000_000, 1_750_000_000, count)
    clock = rng.integers(0, 86400, count).tolist()
    users = rng.integers(0, 1 << 62, count).tolist()
    return {
        "id": pa.array(rng.permutation(count).astype(np.int64) + 900_719_000_000),
        "user_id": pa.array([Decimal(user + (1 << 63) * (user % 2)) for user in users], pa.decimal128(20, 0)),
        "status": pa.array(rng.choice(["new", "paid", "shipped"], count).tolist()),
        "amount": pa.array(
            [Decimal(c).scaleb(-2) for c in rng.integers(0, 10**8, count).tolist()], pa.decimal128(12, 2)
        ),
        "qty": pa.array(rng.integers(1, 100, count).astype(np.int32)),
        "price": pa.array(np.round(rng.random(count) * 1000, 2)),
        "note": pa.array([" ".join(row) for row in rng.choice(words, (count, 6)).tolist()]),
        "payload": pa.array(
            [
                f'{{"qty": {q}, "sku": "X-{s}", "tags": [{a}, {b}]}}'
                for q, s, a, b in rng.integers(1, (100, 1000, 10, 10), (count, 4)).tolist()
            ]
        ),
        "created": pa.array(seconds * 1_000_000 + rng.integers(0, 1000, count) * 1000).cast(pa.timestamp("us")),
        "updated": pa.array((seconds + 60) * 1_000_000).cast(pa.timestamp("us", tz="UTC")),
        "flags": pa.array(rng.integers(0, 256, count)),
        "tags": pa.array(rng.choice(["a", "b", "a,c", "a,b,c", ""], count).tolist()),
        "token": pa.array([rng.bytes(16) for _ in range(count)], pa.binary()),
        "ratio": pa.array(rng.random(count).round(3).astype(np.float32)),
        "day": pa.array((seconds // 86400).astype(np.int32)).cast(pa.date32()),
        "t": pa.array([f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in clock]),
    }


BUILD_TS = 1_700_000_000_123
"""The wall clock of the golden messages, in ms."""

_COMMIT_TS = {Op.INSERT: 450_000_000_524_288_000, Op.UPDATE: 450_000_000_786_432_000}
_ROWS: dict[str, dict[str, Any]] = {
    "orders": {
        "id": 900719925474,
        "user_id": Decimal(18446744073709551000),
        "status": "paid",
        "amount": Decimal("12345.67"),
        "qty": 3,
        "price": 19.99,
        "note": 'a note with some text & "quotes" in it',
        "payload": '{"sku": "X-1", "qty": 3, "tags": [1, 2]}',
        "created": dt.datetime(2024, 5, 5, 12, 34, 56, 789000),
        "updated": dt.datetime(2024, 5, 5, 12, 34, 56, tzinfo=dt.timezone.utc),
        "flags": 0b10101010,
        "tags": "a,c",
        "token": bytes(range(16)),
        "ratio": 0.25,
        "day": dt.date(2024, 5, 5),
        "t": "12:34:56",
    },
    "sbtest": {
        "id": 1234567,
        "k": 499284,
        "c": "68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-28203206787-"
        "41238978918-19503783441",
        "pad": "22195207048-70116052123-74140395089-76317954521-98694025897",
    },
}
_UPDATED: dict[str, dict[str, Any]] = {"orders": {"qty": 4, "note": "changed"}, "sbtest": {"k": 499285}}


def golden_row(table: str, op: Op) -> pa.RecordBatch:
    """Return the recorded insert or update of a bench table as one change, in the benchmark's Arrow types."""
    row = _ROWS[table]
    kinds = {name: array.type for name, array in make_rows(table, 1).columns.items()}

    def image(values: dict[str, Any]) -> dict[str, pa.Array]:
        return {name: pa.array([values[name]], kind) for name, kind in kinds.items()}

    stamps = pa.array([_COMMIT_TS[op]], pa.uint64())
    if op is Op.UPDATE:
        return change_batch(op, stamps, after=image(row | _UPDATED[table]), before=image(row))
    return change_batch(op, stamps, after=image(row))


@cache
def _recorded() -> dict[str, Any]:
    text = Path(__file__).with_name("golden.json").read_text(encoding="utf-8")
    recorded: dict[str, Any] = json.loads(text)
    return recorded


def golden_catalog(table: str) -> Catalog:
    """Return a catalog with a bench table as TiCDC's encoders had it. Simple messages contain its id and version."""
    catalog = Catalog()
    catalog.ensure_database("test")
    catalog.apply(table_sql(table), ids=AssignedIds(**_recorded()["tables"][table]))
    return catalog


def golden_value(line: str) -> bytes:
    """Return the message value that TiCDC encoded for a line of ``reference.json`` (``variant/table/op``)."""
    value = _recorded()["values"][line]
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])
