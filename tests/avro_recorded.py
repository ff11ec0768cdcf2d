"""What TiCDC sent: the recorded Avro messages with the rows that went in and the schemas that were registered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from conformance.vectors import content_of
from vector_files import load_vector, readable_names


@dataclass(frozen=True)
class Recorded:
    """One record of a topic; ``row``: the row event it came from, ``None`` for a DDL or watermark.

    ``selects``: a column selector takes columns away.
    """

    case: str
    variant: str
    selects: bool
    time_zone: str
    schemas: dict[int, str]
    key: bytes | None
    value: bytes | None
    kind: str
    schema: str
    table: str
    table_info: dict[str, Any]
    row: dict[str, Any] | None

    def __repr__(self) -> str:
        return f"{self.case} {self.variant} {self.row}"


def _read(name: str) -> Iterator[Recorded]:
    case = load_vector(name)
    for variant in case.get("variants") or ():
        if "protocol=avro" not in variant["sink_uri"] or not variant.get("messages"):
            continue
        schemas = {post["id"]: post["schema"] for post in variant.get("registrations") or () if post.get("id")}
        taken: dict[int, int] = {}
        for message in variant["messages"]:
            if "key" not in message:
                continue
            at = message["event"]
            event = case["events"][at]
            place = taken[at] = taken.get(at, -1) + 1
            row = event if event["kind"] == "row" else None
            if event["kind"] == "txn":
                row = {"commit_ts": event["commit_ts"], **event["emitted"][place]}
            yield Recorded(
                case=name,
                variant=variant["id"],
                selects="column-selectors" in (variant.get("changefeed") or ""),
                time_zone=case["timezone"],
                schemas=schemas,
                key=content_of(message["key"]),
                value=content_of(message["value"]),
                kind=event["kind"],
                schema=event.get("schema", ""),
                table=event.get("table", ""),
                table_info=_table_info(case["events"][: at + 1], event),
                row=row,
            )


def _table_info(events: list[dict[str, Any]], event: dict[str, Any]) -> dict[str, Any]:
    """Return the newest schema that a DDL before the event gave its table."""
    for other in reversed(events):
        info: dict[str, Any] | None = other.get("table_info")
        if info and (other["schema"], other["table"]) == (event.get("schema"), event.get("table")):
            return info
    return {}


@cache
def recorded() -> tuple[Recorded, ...]:
    return tuple(message for name in readable_names() for message in _read(name))


def row_messages() -> list[Recorded]:
    return [message for message in recorded() if message.row is not None]
