"""What TiCDC sent: the recorded Debezium messages with the events and tables that went in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from debezium_oracle import OracleColumn, recorded_column
from vector_files import content_of, load_vector, readable_names

__all__ = ["RecordedDebezium", "debezium_messages"]


@dataclass(frozen=True)
class RecordedDebezium:
    """One record of a topic. ``event``: where it came from; one row of a split transaction with its table's names.

    ``table``: that of a row. ``selects``: a column selector takes columns away.
    """

    case: str
    variant: str
    time_zone: str
    cluster_id: str
    ts_ms: int
    has_schema: bool
    extension: bool
    old_value: bool
    selects: bool
    key: bytes
    value: bytes
    at: int
    event: dict[str, Any]
    table: dict[str, Any] | None

    def __repr__(self) -> str:
        return f"{self.case} {self.variant} {self.at} {self.event['kind']}"

    def columns(self) -> dict[str, OracleColumn]:
        """Return the columns of a row's table by their names."""
        assert self.table is not None
        return {column["name"]: recorded_column(column) for column in self.table["columns"]}


def _tables(events: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
    """Return the table of each row event: the last one of its name."""
    last: dict[tuple[str, str], dict[str, Any]] = {}
    found = []
    for event in events:
        for info in (event.get("pre_table_info"), event.get("table_info")):
            if info is not None:
                last[info["schema"], info["table"]] = info
        found.append(last.get((event["schema"], event["table"])) if event["kind"] in ("row", "txn") else None)
    return found


def _read(name: str) -> Iterator[RecordedDebezium]:
    case = load_vector(name)
    tables = _tables(case["events"])
    for variant in case.get("variants") or ():
        settings = variant["sink_uri"] + (variant.get("changefeed") or "")
        if not re.search(r"protocol\W+debezium\b", settings) or "lz4" in settings:
            continue
        taken: dict[int, int] = {}
        for message in variant.get("messages") or ():
            if "value" not in message:
                continue
            at = message["event"]
            event = case["events"][at]
            place = taken[at] = taken.get(at, -1) + 1
            if event["kind"] == "txn":
                changes = event["emitted"] if "output-raw-change-event = true" not in settings else event["rows"]
                event = {**event["rows"][0], **changes[place], "kind": "row"}
            yield RecordedDebezium(
                case=name,
                variant=variant["id"],
                time_zone=case["timezone"],
                cluster_id=case.get("cluster_id") or "default",
                ts_ms=case["now_ms"],
                has_schema=not re.search(r"debezium-disable-schema ?= ?true", settings),
                extension=bool(re.search(r"enable-tidb-extension ?= ?true", settings)),
                old_value="output-old-value = false" not in settings,
                selects="column-selectors" in settings,
                key=content_of(message["key"]),
                value=content_of(message["value"]),
                at=at,
                event=event,
                table=tables[at],
            )


@cache
def debezium_messages() -> tuple[RecordedDebezium, ...]:
    """Return every recorded message that is not compressed."""
    return tuple(message for name in readable_names() for message in _read(name))
