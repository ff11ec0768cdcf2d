"""What TiCDC sent: the recorded Simple messages with the events that went in."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from conformance.vectors import content_of
from vector_files import load_vector, readable_names


@dataclass(frozen=True)
class RecordedSimple:
    """One record of a topic. ``event``: where it came from; one row of a split transaction with its table's names.

    ``claim``: the value that was stored for a claim check. ``selects``: a column selector takes columns away.
    """

    case: str
    variant: str
    encoding: str
    time_zone: str
    build_ts: int
    key: bytes | None
    value: bytes
    claim: bytes | None
    selects: bool
    at: int
    event: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.case} {self.variant} {self.at} {self.event['kind']}"


def _claim(message: dict[str, Any], raw: bool) -> bytes | None:
    stored = content_of(message.get("claim"))
    if stored is None or raw:
        return stored
    body = json.loads(stored)
    assert body["key"] is None
    return base64.b64decode(body["value"])


def _read(name: str) -> Iterator[RecordedSimple]:
    case = load_vector(name)
    for variant in case.get("variants") or ():
        changefeed = variant.get("changefeed") or ""
        named = re.search(r"protocol=([\w-]+)", variant["sink_uri"]) or re.search(r'protocol = "([\w-]+)"', changefeed)
        if named is None or named[1] != "simple" or any(codec in variant["id"] for codec in ("lz4", "snappy")):
            continue
        taken: dict[int, int] = {}
        for message in variant.get("messages") or ():
            if "value" not in message:
                continue
            event = case["events"][message["event"]]
            place = taken[message["event"]] = taken.get(message["event"], -1) + 1
            if event["kind"] == "txn":
                event = {**event["rows"][0], **event["emitted"][place], "kind": "row"}
            value = content_of(message["value"])
            yield RecordedSimple(
                case=name,
                variant=variant["id"],
                encoding="json" if value[:1] == b"{" else "avro",
                time_zone=case["timezone"],
                build_ts=case["now_ms"],
                key=content_of(message["key"]),
                value=value,
                claim=_claim(message, "raw-value = true" in changefeed),
                selects="column-selectors" in changefeed,
                at=message["event"],
                event=event,
            )


@cache
def simple_messages() -> tuple[RecordedSimple, ...]:
    return tuple(message for name in readable_names() for message in _read(name))
