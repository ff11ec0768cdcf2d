"""Every produced message as JSON Lines.

One object per line, ``{case, variant, event, key, value, error}``: key and value in base64, null as the vectors write
it (a row's key of zero length is null). An event that is refused is one line with the error's text and neither key nor
value; a refused configuration is one line whose event is null. An event that gives no message gives no line. Before an
event's lines stand the schemas that it registered, ``{case, variant, registration: {subject, schema, id}}``; the id of
one that the registry refused is null.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import IO, Any

from ticdc_emit.conformance.vectors import DML_KINDS, Outcome
from ticdc_emit.registry import SchemaPost

__all__ = ["Dump"]


class Dump:
    """Writes lines to a text stream that the caller opens and closes."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def refused(self, case: str, variant: str, error: str) -> None:
        """Write the line of a configuration that was refused."""
        self._line(case, variant, None, None, None, error)

    def registration(self, case: str, variant: str, post: SchemaPost) -> None:
        """Write the line of a schema that was registered, or refused."""
        shown = {"subject": post.subject, "schema": post.schema, "id": post.id}
        self._write({"case": case, "variant": variant, "registration": shown})

    def event(self, case: str, variant: str, index: int, kind: str, outcome: Outcome) -> None:
        """Write the lines of one event."""
        if outcome.error is not None:
            self._line(case, variant, index, None, None, outcome.error)
        for key, value in outcome.records:
            shown = None if kind in DML_KINDS and key == b"" else key
            self._line(case, variant, index, shown, value, None)

    def _line(
        self, case: str, variant: str, event: int | None, key: bytes | None, value: bytes | None, error: str | None
    ) -> None:
        self._write(
            {
                "case": case,
                "variant": variant,
                "event": event,
                "key": _base64(key),
                "value": _base64(value),
                "error": error,
            }
        )

    def _write(self, line: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")
