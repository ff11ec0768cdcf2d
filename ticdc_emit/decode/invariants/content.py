"""Invariants of one message: its checksum, its key's columns, the object that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.decode.claim_check import read_claim
from ticdc_emit.decode.errors import DecodeError, as_decode_error
from ticdc_emit.decode.event_reader import EventReader
from ticdc_emit.decode.events import RowEvent
from ticdc_emit.decode.invariants.finding import Finding, Seen, Stream
from ticdc_emit.errors import ClaimCheckError

__all__ = ["Checksums", "ClaimChecks", "KeyColumns"]


class Checksums:
    """Avro, Simple: a row with a checksum matches it, and is not marked as corrupted."""

    name = "checksum"

    def __init__(self, reader: EventReader) -> None:
        self._reader = reader

    def see(self, seen: Seen) -> Iterable[Finding]:
        """Compute the row's checksum."""
        row = seen.row
        if row is None:
            return
        try:
            self._reader.check(row)
        except DecodeError as fault:
            yield seen.finding(self.name, fault.message)
            return
        stated = getattr(row.message, "checksum", None)
        if getattr(row.message, "corrupted", False) or getattr(stated, "corrupted", False):
            yield seen.finding(self.name, "TiCDC has marked the row as corrupted")

    def end(self, stream: Stream) -> Iterable[Finding]:
        """Nothing to add."""
        return ()


class KeyColumns:
    """A row has its handle key; if the message also has a key (Avro, Debezium), both are equal."""

    name = "key-columns"

    def __init__(self, config: ChangefeedConfig, reader: EventReader) -> None:
        self._reader = reader
        self._compares = config.codec.protocol.traits.registers_schemas

    def see(self, seen: Seen) -> Iterable[Finding]:
        """Compare the row's columns with the key's."""
        row = seen.row
        if row is None:
            return
        image = row.after if row.after is not None else row.before or {}
        names = self._reader.key_names(row)
        missing = [name for name in names if name not in image]
        if missing:
            yield seen.finding(self.name, f"the row lacks columns of its key: {', '.join(missing)}")
        elif self._compares and row.key is not None:
            other = [name for name in names if image[name] != row.key[name]]
            if other:
                yield seen.finding(self.name, f"key and value differ in {', '.join(other)}")

    def end(self, stream: Stream) -> Iterable[Finding]:
        """Nothing to add."""
        return ()


class ClaimChecks:
    """The object that a message names exists, and has the whole message.

    ``claims``: returns an object's bytes by its location.
    """

    name = "claim-check"

    def __init__(self, config: ChangefeedConfig, reader: EventReader, claims: Callable[[str], bytes]) -> None:
        self._claims = claims
        self._reader = reader
        self._raw = config.codec.large_message_handle.claim_check_raw_value

    def see(self, seen: Seen) -> Iterable[Finding]:
        """Read the object."""
        row = seen.row
        if row is None or row.claim_check is None:
            return
        try:
            stored = read_claim(row.claim_check, self._claims, raw_value=self._raw)
            with as_decode_error:
                whole = self._reader.read(stored.key, stored.value)
        except (ClaimCheckError, DecodeError) as fault:
            yield seen.finding(self.name, f"{row.claim_check}: {fault.message}")
            return
        if not isinstance(whole, RowEvent) or _of(whole) != _of(row) or whole.handle_key_only:
            yield seen.finding(self.name, f"{row.claim_check} holds another message")

    def end(self, stream: Stream) -> Iterable[Finding]:
        """Nothing to add."""
        return ()


def _of(row: RowEvent) -> tuple[object, ...]:
    return row.schema, row.table, row.op, row.commit_ts
