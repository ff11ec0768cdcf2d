"""Check that the benchmark measures the right bytes: one row of each table is compared with TiCDC's message for it.

In: ``golden.json``, the messages of TiCDC's encoders for the rows of ``reference.json``. The rows have the same Arrow
types as the benchmark's rows, so the encoder takes the same code path.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

import pyarrow as pa

from ticdc_emit.bench.inputs import change_batch, make_rows, table_sql
from ticdc_emit.changes.model import Op
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.store import AssignedIds

__all__ = ["BUILD_TS", "golden_catalog", "golden_row", "golden_value"]

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
    text = (files("ticdc_emit.bench") / "golden.json").read_text(encoding="utf-8")
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
