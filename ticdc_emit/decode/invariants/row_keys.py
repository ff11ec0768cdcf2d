"""The row of a message, identified by the message itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticdc_emit.decode.events import RowEvent

__all__ = ["row_key"]


def row_key(event: RowEvent, names: tuple[str, ...]) -> tuple[tuple[str, Any], ...] | None:
    """Return the values of these handle key columns; ``None`` if the message lacks some of them."""
    image: Mapping[str, Any] = event.key or event.after or event.before or {}
    if not names or not image.keys() >= set(names):
        return None
    return tuple((name, image[name]) for name in names)
