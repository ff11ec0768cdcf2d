"""JSON from elsewhere, of bounded depth: a parser stands more than what later compares or prints its result."""

from __future__ import annotations

import json
from typing import Any

DEEPEST = 120
"""Levels of lists and objects. TiDB's JSON has at most 100, and no message of TiCDC's more than 10."""


def parsed(text: bytes, **hooks: Any) -> Any:
    """Return what a JSON text holds; ``hooks``: those of :func:`json.loads`. Raises ``ValueError``."""
    try:
        content = json.loads(text, **hooks)
    except RecursionError:
        raise too_deep() from None
    check_depth(content, text)
    return content


def check_depth(content: object, text: bytes) -> None:
    """Raise ``ValueError`` if ``content``, which ``text`` holds, is nested too deeply."""
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return
    level = [content]
    for _ in range(DEEPEST):
        parts = (part.values() if isinstance(part, dict) else part for part in level if isinstance(part, (dict, list)))
        level = [each for part in parts for each in part if isinstance(each, (dict, list))]
        if not level:
            return
    raise too_deep()


def too_deep() -> ValueError:
    return ValueError(f"it is nested more than {DEEPEST} levels deep")
