"""Every produced message and every route as JSON Lines.

One object per line, ``{case, variant, event, key, value, error}``: key and value in base64, null as the vectors write
it (a row's key of zero length is null). An event that is refused is one line with the error's text and neither key nor
value; a refused configuration is one line whose event is null. An event without messages has no line. The schemas that
an event registered come before its lines: ``{case, variant, registration: {subject, schema, id}}``; the id is null if
the registry refused the schema. A message with an object in the claim-check storage also has ``claim``: the object in
base64.

Routes: ``{case, route, event, topic, partition, error}``, one line per DDL (its partition is null) and per row that
goes out, in order. A refused row has the error's text and no partition; a refused configuration is one line whose event
is null.

DDL texts: ``{case, profile, event, restored, error}``, one line per text and profile; ``event`` counts the texts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import IO, Any

from ticdc_emit.conformance.vectors import DML_KINDS, Outcome, Record, Target
from ticdc_emit.registry.memory import SchemaPost

__all__ = ["Dump"]


class Dump:
    """Writes lines to a text stream that the caller opens and closes."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def refused(self, case: str, variant: str, error: str) -> None:
        """Write the line of a configuration that was refused."""
        self._message(case, variant, None, Record(None, None, error=error))

    def registration(self, case: str, variant: str, post: SchemaPost) -> None:
        """Write the line of a schema that was registered, or refused."""
        shown = {"subject": post.subject, "schema": post.schema, "id": post.id}
        self._write({"case": case, "variant": variant, "registration": shown})

    def event(self, case: str, variant: str, index: int, kind: str, outcome: Outcome) -> None:
        """Write the lines of one event."""
        if outcome.error is not None:
            self._message(case, variant, index, Record(None, None, error=outcome.error))
        for record in outcome.records:
            no_key = kind in DML_KINDS and record.key == b""
            self._message(case, variant, index, record._replace(key=None) if no_key else record)

    def text(self, case: str, profile: str, index: int, text: str | None, error: str | None) -> None:
        """Write the line of one DDL text."""
        self._write({"case": case, "profile": profile, "event": index, "restored": text, "error": error})

    def route_refused(self, case: str, route: str, error: str) -> None:
        """Write the line of a dispatcher configuration that was refused."""
        self._target(case, route, None, Target(None, error=error))

    def targets(self, case: str, route: str, index: int, targets: Iterable[Target]) -> None:
        """Write the lines of one event under one dispatcher configuration."""
        for target in targets:
            self._target(case, route, index, target)

    def _message(self, case: str, variant: str, event: int | None, record: Record) -> None:
        line = {
            "case": case,
            "variant": variant,
            "event": event,
            "key": _base64(record.key),
            "value": _base64(record.value),
            "error": record.error,
        }
        self._write(line if record.claim is None else line | {"claim": _base64(record.claim)})

    def _target(self, case: str, route: str, event: int | None, target: Target) -> None:
        self._write(
            {
                "case": case,
                "route": route,
                "event": event,
                "topic": target.topic,
                "partition": target.partition,
                "error": target.error,
            }
        )

    def _write(self, line: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")
