"""Random tables and options as Debezium messages, and what a consumer must get of them (``debezium_oracle``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from debezium_oracle import OracleColumn
from hypothesis import strategies as st
from random_tables import COMMIT_TS, Kind, RandomTable, random_tables

from ticdc_emit import Encoder
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import ColumnFlag

__all__ = ["BUILD_MS", "DebeziumCase", "debezium_cases"]

BUILD_MS = 1_700_000_000_123


@dataclass(frozen=True)
class DebeziumCase:
    """A table with its changes, and the options of a changefeed."""

    made: RandomTable
    has_schema: bool
    extension: bool
    old_value: bool
    cluster_id: str

    def messages(self) -> list[tuple[bytes, bytes]]:
        """Return key and value of each change."""
        uri = "memory://topic/?protocol=debezium"
        uri += f"&debezium-disable-schema={str(not self.has_schema).lower()}"
        uri += f"&enable-tidb-extension={str(self.extension).lower()}"
        toml = f"[sink.debezium]\noutput-old-value = {str(self.old_value).lower()}\n"
        options = {"time_zone": self.made.zone, "cluster_id": self.cluster_id, "build_ts": BUILD_MS}
        encoder = Encoder(uri, self.made.sql, changefeed=toml, force_replicate=True, **options)
        changes = [
            {
                "op": op,
                "commit_ts": COMMIT_TS + place,
                "before": None if op == "c" else self.made.given(row),
                "after": None if op == "d" else self.made.given(row),
            }
            for place, (op, row) in enumerate(self.made.rows)
        ]
        made = sorted(encoder.encode(changes).to_pylist(), key=lambda message: message["commit_ts"])
        return [(message["key"], message["value"]) for message in made]

    def columns(self) -> dict[str, OracleColumn]:
        """Return the columns; NOT NULL and the defaults as TiDB stores them are the catalog's."""
        (table,) = catalog_from_sql(self.made.sql, time_zone=self.made.zone).tables()
        by_name = {column.name: column for column in table.columns}
        return {name: _column(kind, by_name[name]) for name, kind in zip(self.made.names, self.made.kinds, strict=True)}

    def refused(self) -> bool:
        """Return whether a NULL stands in a binary column with a DEFAULT of three bytes or more: TiCDC panics."""
        binary = [one for one in self.columns().values() if one.kind in ("binary", "varbinary")]
        hidden = [one.name for one in binary if isinstance(one.default, str) and len(one.default.encode()) > 2]
        return any(row[name] is None for _, row in self.made.rows for name in hidden)

    def image(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row as the vectors have it."""
        return self.made.plain(row)


def _column(kind: Kind, column: Column) -> OracleColumn:
    found = re.match(r"(\w+)(?:\((\d+))?", kind.sql)
    assert found is not None
    default: str | int | None
    if isinstance(column.default, bytes) or (found[1] == "bit" and column.default is not None):
        raw = column.default if isinstance(column.default, bytes) else column.default.encode()
        default = int.from_bytes(raw, "big") if found[1] == "bit" else raw.decode()
    else:
        default = column.default
    return OracleColumn(
        name=column.name,
        kind=found[1],
        size=int(found[2] or 0),
        not_null=ColumnFlag.NOT_NULL in column.flags,
        unsigned="unsigned" in kind.sql,
        default=default,
        elements=column.elems,
    )


@st.composite
def debezium_cases(draw: st.DrawFn, has_schema: bool | None = None) -> DebeziumCase:
    flags = [draw(st.booleans()) for _ in range(3)]
    cluster = draw(st.sampled_from(["default", "test-cluster.1", "1c"]))
    return DebeziumCase(draw(random_tables()), flags[0] if has_schema is None else has_schema, *flags[1:], cluster)
