"""Messages for people: which ones tell a story, and how one is laid out.

In: :class:`~ticdc_emit.delivery.contract.Message` records as read from a topic, and the protocol's reader. Out: on a
terminal panels with JSON in colour, one member per line; elsewhere one plain line per message, text as it is and binary
messages as what they say.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from ticdc_emit.cli.reading import Reader, Shown
from ticdc_emit.delivery.contract import Message

__all__ = ["message_dict", "pick_story", "print_messages"]

_LONGEST_STORY = 3
_FIRST_PRINTABLE = 0x20
_NOTHING = Shown("", None, {})


def pick_story(messages: Sequence[Message], read: Reader) -> list[Message]:
    """Return the newest key's life as far as it is there (insert, updates, delete), and the last message of all.

    Of messages that are of no row, the newest few.
    """
    shown = [(message, read(message) or _NOTHING) for message in messages]
    by_key: dict[str, list[tuple[Message, Shown]]] = {}
    for entry in shown:
        key = entry[1].row
        if key is not None:
            by_key[key] = [*by_key.pop(key, []), entry]  # popped, so that the dict is in the order of last use
    whole = [life for life in by_key.values() if life[0][1].kind == "INSERT" and life[-1][1].kind == "DELETE"]
    lives = whole or list(by_key.values())
    if not lives:
        return list(messages[-_LONGEST_STORY:])
    life = [message for message, _ in lives[-1]]
    chosen = life if len(life) <= _LONGEST_STORY else [life[0], *life[-(_LONGEST_STORY - 1) :]]
    control = [message for message, said in shown if said.row is None and message.partition == life[0].partition]
    return [*chosen, *control[-1:]]


def message_dict(message: Message, read: Reader) -> dict[str, Any]:
    """Return a message for JSON output; binary key and value are base64, with what they say beside them."""
    found = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "key": _as_json(message.key),
        "value": _as_json(message.value),
    }
    binary = isinstance(found["key"], dict) or isinstance(found["value"], dict)
    said = read(message) if binary else None
    return found if said is None else found | {"decoded": said.members}


def _as_json(data: bytes | None) -> Any:
    if data is None:
        return None
    return {"base64": b64encode(data).decode()} if _is_binary(data) else data.decode()


def _is_binary(data: bytes) -> bool:
    """Return whether the data is no text: not UTF-8, or with control characters, which JSON escapes."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return any(byte < _FIRST_PRINTABLE and byte not in b"\t\n\r" for byte in data)


def print_messages(console: Console, messages: Sequence[Message], read: Reader) -> None:
    """Print messages for reading."""
    for message in messages:
        if console.is_terminal:
            console.print(_panel(message, read(message)), soft_wrap=False)
        else:
            said = read(message) if _is_binary(message.key or b"") or _is_binary(message.value or b"") else None
            shown = _text(message.value) if said is None else f"{said.kind} {_compact(said.members)}"
            console.print(Text(f"{_place(message)} | {_shown_key(message)} | {shown}"))


def _compact(members: dict[str, Any]) -> str:
    return json.dumps(members, ensure_ascii=False)


def _panel(message: Message, said: Shown | None) -> Panel:
    body = (
        Syntax(_laid_out(said.members), "json", word_wrap=True, theme="ansi_dark", background_color="default")
        if said
        else _text(message.value)
    )
    title = f"[bold]{(said or _NOTHING).kind or 'message'}[/] [dim]{_place(message)}[/]"
    size = f"[dim]{len(message.value or b''):,} bytes · {_shown_key(message)}[/]"
    return Panel(Group(body), title=title, title_align="left", subtitle=size, subtitle_align="right")


def _place(message: Message) -> str:
    return f"{message.topic} · partition {message.partition} · offset {message.offset:,}"


def _shown_key(message: Message) -> str:
    if message.key is None:
        return "key null"
    if _is_binary(message.key):
        return f"key {message.key.hex()}"
    return f"key {_text(message.key)}" if message.key else "key of zero length"


def _text(data: bytes | None) -> str:
    return "null" if data is None else data.decode("utf-8", "backslashreplace")


def _laid_out(value: dict[str, Any]) -> str:
    """Return an object with one member per line, each in its compact form."""
    members = (f"  {json.dumps(name)}: {json.dumps(content, ensure_ascii=False)}" for name, content in value.items())
    return "{\n" + ",\n".join(members) + "\n}"
