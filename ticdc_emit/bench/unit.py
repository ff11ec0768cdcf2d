"""The speed unit of this machine: how many copies of one fixed row ``json.dumps`` prints per CPU-second.

TiCDC's Go encoders were measured in the same unit (``reference.json``), so
``ratio_to_go = (our rows per CPU-second / our unit) / x_unit of the Go encoder``.
"""

from __future__ import annotations

import json
import time

__all__ = ["measure_unit"]

_ROW = {
    "id": 900719925474, "user_id": 18446744073709551000, "status": "paid", "amount": "12345.67", "qty": 3, "price":
    19.99, "note": 'a note with some text & "quotes" in it', "payload": '{"sku": "X-1", "qty": 3, "tags": [1, 2]}',
    "created": "2024-05-05 12:34:56.789", "updated": "2024-05-05 12:34:56", "flags": 170, "tags": "a,c", "token":
    "AAECAwQFBgcICQoLDA0ODw==", "ratio": 0.25, "day": "2024-05-05", "t": "12:34:56", }  # fmt: skip


def measure_unit(rounds: int = 1, rows: int = 30_000) -> float:
    """Return the best rate over ``rounds``, in rows per CPU-second."""
    best = 0.0
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(rows):
            json.dumps(_ROW)
        best = max(best, rows / (time.process_time() - start))
    return best
