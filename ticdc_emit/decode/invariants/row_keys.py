"""Which row a message is of, as the message itself tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticdc_emit.decode.events import RowEvent

__all__ = ["row_key"]


def row_key(event: RowEvent, names: tuple[str, ...]) -> tuple[tuple[str, Any], ...] | None:
    """Return the handle key, of these columns, with its values; ``None`` if the message does not show all of it."""
    image: Mapping[str, Any] = event.key or event.after or event.before or {}
    if not names or not image.keys() >= set(names):
        return None
    return tuple((name, image[name]) for name in names)
