"""Makes the Parquet files of this folder: python make_parquet.py [FOLDER]."""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DAY = dt.datetime(2026, 1, 5, tzinfo=dt.timezone.utc)


def at(clock: str) -> dt.datetime:
    return DAY + dt.timedelta(hours=int(clock[:2]), minutes=int(clock[3:]))


def changes() -> pa.Table:
    """Row changes of shop.orders: an insert, two updates and a delete, with the images as structs."""
    placed = {
        "id": 1,
        "customer": "Ada Lovelace",
        "state": "placed",
        "total": Decimal("12.50"),
        "note": None,
        "placed_at": dt.datetime(2026, 1, 5, 8),
    }
    paid = {**placed, "state": "paid"}
    shipped = {**paid, "state": "shipped", "note": "by bicycle"}
    row = pa.struct(
        [
            ("id", pa.int64()),
            ("customer", pa.string()),
            ("state", pa.string()),
            ("total", pa.decimal128(10, 2)),
            ("note", pa.string()),
            ("placed_at", pa.timestamp("ms")),
        ]
    )
    return pa.table(
        {
            "op": ["c", "u", "u", "d"],
            "commit_time": pa.array([at("08:00"), at("08:05"), at("11:00"), at("17:30")], pa.timestamp("us", "UTC")),
            "before": pa.array([None, placed, paid, shipped], row),
            "after": pa.array([placed, paid, shipped, None], row),
        }
    )


def rides() -> pa.Table:
    """A change table with an op column: when, in which order, and the row after the change."""
    return pa.table(
        {
            "op": ["I", "I", "U", "U", "D"],
            "at": pa.array(
                [at("08:00"), at("08:10"), at("08:20"), at("13:00"), at("17:00")], pa.timestamp("us", "UTC")
            ),
            "lsn": [1, 2, 4, 6, 9],
            "id": [1, 2, 1, 2, 1],
            "driver": ["Mei", "Omar", "Mei", "Omar", "Mei"],
            "state": ["asked", "asked", "done", "done", "done"],
        }
    )


def fares() -> pa.Table:
    """The same for the fares, whose column ``tip`` comes at noon (later.sql)."""
    fare, tip = pa.decimal128(8, 2), pa.decimal128(8, 2)
    return pa.table(
        {
            "op": ["I", "I", "U"],
            "at": pa.array([at("08:20"), at("13:00"), at("13:05")], pa.timestamp("us", "UTC")),
            "lsn": [5, 7, 8],
            "ride": [1, 2, 2],
            "fare": pa.array([Decimal("11.00"), Decimal("23.40"), Decimal("23.40")], fare),
            "tip": pa.array([None, None, Decimal("2.00")], tip),
        }
    )


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    for make in (changes, rides, fares):
        pq.write_table(make(), folder / f"{make.__name__}.parquet")
