"""The consumer under test: keeps the rows of shop.orders, by id, as TiCDC's Canal-JSON messages describe them."""

from __future__ import annotations

import json

Row = dict[str, "str | None"]


class Orders:
    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._columns: set[str] = set()

    def apply(self, value: bytes) -> None:
        """Take the value of a message."""
        message = json.loads(value)
        kind = message["type"]
        if kind in ("INSERT", "UPDATE"):
            for row in message["data"]:
                self._rows[row["id"]] = row
                self._columns |= row.keys()
        elif kind == "DELETE":
            for row in message["data"]:
                self._rows.pop(row["id"], None)
        elif kind in ("TRUNCATE", "ERASE"):
            self._rows.clear()
        # else a watermark, or DDL that changes no row: rows bring their columns

    def rows(self) -> dict[str, Row]:
        """Return the rows by id; a row from before an ADD COLUMN has None there."""
        return {id_: dict.fromkeys(self._columns) | row for id_, row in self._rows.items()}
