"""Which row a message is of, as the message itself tells it, and what a message says whenever it was made.

In: row events. Out: names and wire values of the handle key; hashes of contents. A producer that sends a message again
may say another time at which it made it, show the columns in another order (Simple Avro: Go's maps have none) and name
another object of the claim-check storage (each encoding draws a name); nothing else may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticdc_emit.decode.canal_json import CanalRow
from ticdc_emit.decode.debezium_records import DebeziumRow
from ticdc_emit.decode.events import RowEvent
from ticdc_emit.decode.events_simple import SimpleEvents
from ticdc_emit.decode.readers import EventReader
from ticdc_emit.decode.simple_records import SimpleRow
from ticdc_emit.delivery.contract import Message
from ticdc_emit.errors import UnknownTableError

__all__ = ["content_of", "key_names", "row_key"]

_MADE_ANEW = frozenset({"build_ts", "claim_check"})


def key_names(event: RowEvent, reader: EventReader) -> tuple[str, ...]:
    """Return the columns of the handle key; ``()`` for a table without, or where no message has told."""
    if event.key is not None:
        return tuple(event.key)
    if isinstance(event.message, CanalRow):
        return event.message.pk_names
    if isinstance(reader, SimpleEvents):
        try:
            return tuple(column.name for column in reader.table(event).whole_handle_key)
        except UnknownTableError:
            return ()
    return ()


def row_key(event: RowEvent, names: tuple[str, ...]) -> tuple[tuple[str, Any], ...] | None:
    """Return the handle key with its values; ``None`` if the message does not show all of it."""
    image: Mapping[str, Any] = event.key or event.after or event.before or {}
    if not names or not image.keys() >= set(names):
        return None
    return tuple((name, image[name]) for name in names)


def content_of(event: RowEvent, message: Message) -> int:
    """Return a hash of what a row's message says, whenever and by whichever run it was made."""
    record = event.message
    if isinstance(record, CanalRow):
        old = None if record.old is None else frozenset(record.old.items())
        parts = record.handle_key_only, record.claim_check is not None
        return hash((record.op, record.es, record.commit_ts, frozenset(record.data.items()), old, parts))
    if isinstance(record, SimpleRow):
        told = {name: value for name, value in vars(record).items() if name not in _MADE_ANEW}
        told |= {"data": _told(record.data), "old": _told(record.old), "claimed": record.claim_check is not None}
        return hash(repr(told))
    if isinstance(record, DebeziumRow):
        images = _told(record.key), _told(record.before), _told(record.after)
        return hash(repr((record.op, record.source, images)))
    return hash((message.key, message.value))


def _told(image: Mapping[str, Any] | None) -> list[tuple[str, Any]] | None:
    return None if image is None else sorted(image.items())
