"""The demo's table and its history: orders that are placed, paid, shipped, delivered, and deleted or returned.

Out: row changes in the typed form, as Arrow batches or a Spark DataFrame. Every value is a function of the change's
number and the seed. So the history is the same for any number of partitions, and batches are made independently.
Spark's workers import this module, so it imports nothing of the command.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.traffic.sample_schemas import sample_schema
from ticdc_emit.tso import LOGICAL_BITS, compose

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


DATABASE = "CREATE DATABASE shop"
TABLE = "shop.orders"
ORDERS = sample_schema("orders").split(";\n")[1].strip()
"""The table's DDL, as it is sent."""

_IMAGE_DDL = (
    "struct<id: bigint, customer: string, email: string, status: string, options: string, amount: decimal(12,2), "
    "quantity: int, weight: double, note: string, details: string, card_token: binary, deliver_on: date, "
    "created_at: timestamp_ntz, updated_at: timestamp>"
)
_START_MS = 1_767_225_600_000  # 2026-01-01 00:00:00 UTC
CREATED_TS = compose(_START_MS)
"""TSO of the CREATE TABLE; every row follows it."""

_BATCH_ROWS = 10_000  # as Spark hands them to a worker
_STEPS = 5
_LAST = _STEPS - 1
_ORDER_MS = 2_000
_LEAST_PACE_MS, _MOST_PACE_MS = 60_000, 600_000
_DAY_MS = 86_400_000
_STATUS = ("new", "paid", "shipped", "delivered", "returned")
_OPTIONS = ("", "gift", "express", "gift,express", "express,insured")
_GIVEN = ("Ana", "Björn", "Chloé", "Dmitri", "Elif", "Femi", "Grace", "Hiro", "Ines", "João", "Kofi", "李娜")
_FAMILY = ("Silva", "Okafor", "Müller", "Tanaka", "O'Brien", "Rossi", "Novak", "Haddad", "Larsen", "Kim", "Gupta")
_PRODUCTS = ("espresso-cup", "desk-lamp", "rain-jacket", "notebook-a5", "usb-c-hub", "tea-sampler", "bike-bell")
_NOTES = ("leave at the front door", 'ring "Müller & Söhne"', "call before delivery", "fragile <glass>", "2nd floor ☕")

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OrderHistory:
    """``rows`` changes (insert, updates, delete or return per order) as Arrow batches, made as they are read."""

    rows: int
    seed: int

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for first in range(0, self.rows, _BATCH_ROWS):
            yield history_batch(np.arange(first, min(first + _BATCH_ROWS, self.rows)), self.seed)


def order_history(spark: SparkSession, rows: int, seed: int) -> DataFrame:
    """Return the changes of :class:`OrderHistory` as a DataFrame, in no particular order."""

    def made(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield history_batch(batch.column("id").to_numpy(), seed)

    schema = f"op string, commit_ts bigint, before {_IMAGE_DDL}, after {_IMAGE_DDL}"
    return spark.range(rows).mapInArrow(made, schema)


def span_s(rows: int) -> float:
    """Return the commit time that this number of changes spans at most, in seconds."""
    return (1_000 + rows // _STEPS * _ORDER_MS + _LAST * (_MOST_PACE_MS + _LEAST_PACE_MS)) / 1_000


def history_batch(numbers: _Numbers, seed: int) -> pa.RecordBatch:
    """Return the changes of these numbers: change ``n`` is step ``n % 5`` of order ``n // 5``."""
    order, step = numbers // _STEPS, numbers % _STEPS
    draw = _Draw(order, seed)
    deleted = (step == _LAST) & (draw.below(4, "fate") != 0)
    commit_ts = (_moment(draw, step) << LOGICAL_BITS) + numbers % (1 << LOGICAL_BITS)
    return pa.record_batch(
        {
            "op": pc.if_else(pa.array(deleted), "d", pc.if_else(pa.array(step == 0), "c", "u")),
            "commit_ts": pa.array(commit_ts),
            "before": _image(draw, np.maximum(step - 1, 0), absent=step == 0),
            "after": _image(draw, step, absent=deleted),
        }
    )


class _Draw:
    """Random numbers that depend only on the seed, the order's number and a label."""

    def __init__(self, order: _Numbers, seed: int) -> None:
        self.order = order
        self._seed = seed

    def bits(self, label: str) -> npt.NDArray[np.uint64]:
        """Return 64 random bits each (SplitMix64)."""
        start = (self._seed << 32 | crc32(label.encode())) & (1 << 64) - 1
        mixed = (self.order.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(start)
        mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        scattered: npt.NDArray[np.uint64] = mixed ^ mixed >> np.uint64(31)
        return scattered

    def below(self, limit: int, label: str) -> _Numbers:
        """Return a number in 0 .. limit - 1."""
        drawn: _Numbers = (self.bits(label) % np.uint64(limit)).astype(np.int64)
        return drawn

    def one_of(self, texts: Sequence[str], label: str) -> pa.Array:
        """Return one of the texts."""
        return pa.array(texts).take(pa.array(self.below(len(texts), label)))


def _moment(draw: _Draw, step: _Numbers) -> _Numbers:
    """Return when a step of an order happens, in ms. Orders start every two seconds; their steps are minutes apart."""
    return _START_MS + 1_000 + draw.order * _ORDER_MS + step * (draw.below(_MOST_PACE_MS, "pace") + _LEAST_PACE_MS)


def _image(draw: _Draw, step: _Numbers, absent: npt.NDArray[np.bool_]) -> pa.StructArray:
    quantity = draw.below(9, "quantity") + 1
    product = draw.one_of(_PRODUCTS, "product")
    cents = quantity * (draw.below(20_000, "price") + 199)
    placed = _moment(draw, np.zeros_like(step))
    member = pa.array(draw.below(90_000, "member")).cast(pa.string())
    units = pa.array(quantity).cast(pa.string())
    version = pa.array(step).cast(pa.string())
    token = draw.bits("token").tobytes()
    columns = {
        "id": pa.array(draw.order + 10_001),
        "customer": _joined(draw.one_of(_GIVEN, "given"), " ", draw.one_of(_FAMILY, "family")),
        "email": _where(draw.below(10, "guest") > 0, _joined("customer", member, "@example.com")),
        "status": pa.array(_STATUS).take(pa.array(step)),
        "options": draw.one_of(_OPTIONS, "options"),
        "amount": pc.multiply(pa.array(cents).cast(pa.decimal128(19, 0)), _CENT).cast(pa.decimal128(12, 2)),
        "quantity": pa.array(quantity.astype(np.int32)),
        "weight": _where(draw.below(8, "weighed") > 0, pa.array(np.round(quantity * 0.35, 2))),
        "note": _where((step >= 2) & (draw.below(3, "noted") > 0), draw.one_of(_NOTES, "note")),
        "details": _joined('{"product": "', product, '", "tags": ["web", "v', version, '"], "units": ', units, "}"),
        "card_token": _where(step > 0, pa.array([token[at : at + 8] for at in range(0, len(token), 8)], pa.binary())),
        "deliver_on": _where(step >= 2, pa.array((placed // _DAY_MS + 3).astype(np.int32)).cast(pa.date32())),
        "created_at": pa.array(placed * 1_000).cast(pa.timestamp("us")),
        "updated_at": _where(step > 0, pa.array(_moment(draw, step) * 1_000).cast(pa.timestamp("us", tz="UTC"))),
    }
    return pa.StructArray.from_arrays(list(columns.values()), list(columns), mask=pa.array(absent))


_CENT = pa.scalar("0.01").cast(pa.decimal128(2, 2))


def _joined(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _where(shown: npt.NDArray[np.bool_], values: pa.Array) -> pa.Array:
    return pc.if_else(pa.array(shown), values, pa.scalar(None, values.type))
