"""Messages for people: which ones tell a story, and how one is laid out.

In: :class:`~ticdc_emit.delivery.contract.Message` records as read from a topic. Out: on a terminal panels with JSON in
colour, one member per line; elsewhere one plain line per message, with the value as it is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from ticdc_emit.delivery.contract import Message

__all__ = ["message_dict", "pick_story", "print_messages"]

_LONGEST_STORY = 3
_CLOSING = ("DELETE", "UPDATE")


def pick_story(messages: Sequence[Message]) -> list[Message]:
    """Return the newest key's life as far as it is there (insert, updates, delete), and the last message of all.

    Of messages that are no JSON objects with a row in them, the newest few.
    """
    by_key: dict[str, list[Message]] = {}
    for message in messages:
        key = _row_key(message)
        if key is not None:
            by_key[key] = [*by_key.pop(key, []), message]  # popped, so that the dict is in the order of last use
    whole = [life for life in by_key.values() if _kind(life[0]) == "INSERT" and _kind(life[-1]) == "DELETE"]
    lives = whole or list(by_key.values())
    if not lives:
        return list(messages[-_LONGEST_STORY:])
    life = lives[-1]
    chosen = life if len(life) <= _LONGEST_STORY else [life[0], *life[-(_LONGEST_STORY - 1) :]]
    control = [message for message in messages if _row_key(message) is None and message.partition == life[0].partition]
    return [*chosen, *control[-1:]]


def _decoded(message: Message) -> dict[str, Any] | None:
    try:
        value = json.loads(message.value or b"")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _kind(message: Message) -> str:
    return str((_decoded(message) or {}).get("type", ""))


def _row_key(message: Message) -> str | None:
    value = _decoded(message) or {}
    rows, names = value.get("data"), value.get("pkNames")
    if not rows or not names:
        return None
    return json.dumps([value.get("table"), *(rows[0].get(name) for name in names)])


def message_dict(message: Message) -> dict[str, Any]:
    """Return a message for JSON output; bytes that are not UTF-8 are shown with replacement characters."""
    return {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "key": None if message.key is None else message.key.decode("utf-8", "replace"),
        "value": None if message.value is None else message.value.decode("utf-8", "replace"),
    }


def print_messages(console: Console, messages: Sequence[Message]) -> None:
    """Print messages for reading."""
    for message in messages:
        if console.is_terminal:
            console.print(_panel(message), soft_wrap=False)
        else:
            console.print(Text(f"{_place(message)} | {_shown_key(message)} | {_text(message.value)}"))


def _panel(message: Message) -> Panel:
    value = _decoded(message)
    body = (
        Syntax(_laid_out(value), "json", word_wrap=True, theme="ansi_dark", background_color="default")
        if value
        else _text(message.value)
    )
    title = f"[bold]{_kind(message) or 'message'}[/] [dim]{_place(message)}[/]"
    size = f"[dim]{len(message.value or b''):,} bytes · {_shown_key(message)}[/]"
    return Panel(Group(body), title=title, title_align="left", subtitle=size, subtitle_align="right")


def _place(message: Message) -> str:
    return f"{message.topic} · partition {message.partition} · offset {message.offset:,}"


def _shown_key(message: Message) -> str:
    if message.key is None:
        return "key null"
    return f"key {_text(message.key)}" if message.key else "key of zero length"


def _text(data: bytes | None) -> str:
    return "null" if data is None else data.decode("utf-8", "backslashreplace")


def _laid_out(value: dict[str, Any]) -> str:
    """Return an object with one member per line, each in its compact form."""
    members = (f"  {json.dumps(name)}: {json.dumps(content, ensure_ascii=False)}" for name, content in value.items())
    return "{\n" + ",\n".join(members) + "\n}"
