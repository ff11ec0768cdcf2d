"""What TiCDC sent: the messages of the recorded cases, each with the event, or row of a transaction, that went in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from conformance.vectors import Case, Variant, read_case, sink_protocol
from vector_files import readable_names, vector_path

from ticdc_emit.config import Protocol


class Recorded(NamedTuple):
    """``event``: a row of a transaction has its table's names, too. ``schemas``: what the variant registered."""

    case: Case
    variant: Variant
    event: dict[str, Any]
    key: bytes | None
    value: bytes | None
    schemas: dict[int, str]

    def __repr__(self) -> str:
        return f"{self.case.name} {self.variant.id} {self.event['kind']}"


def recorded(protocol: Protocol) -> Iterator[Recorded]:
    """Yield the messages of a protocol in the order in which they were sent."""
    for case in (read_case(vector_path(name)) for name in readable_names()):
        for variant in case.variants:
            if sink_protocol(variant)[0] is protocol and variant.expected:
                yield from _sent(case, variant)


def _sent(case: Case, variant: Variant) -> Iterator[Recorded]:
    schemas = {post["id"]: post["schema"] for post in variant.registrations or () if post.get("id")}
    for index, outcome in variant.expected.items():
        for place, record in enumerate(outcome.records):
            event = case.events[index]
            if event["kind"] == "txn":
                event = {**event, **event["emitted"][place], "kind": "row"}
            if not record.error:
                yield Recorded(case, variant, event, record.key, record.value, schemas)
