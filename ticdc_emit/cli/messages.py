"""The messages of commands that can run without any server: where they go, reading them back, and how they are shown.
Watermarks are at most one per hundred rows: at TiCDC's rate, most messages would be watermarks.
"""

from __future__ import annotations

import json
import math
import os
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.console import Console
from rich.text import Text

from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig, Protocol
from ticdc_emit.config.document import read_document
from ticdc_emit.consume.tail import TailLine
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import ConfigError

if TYPE_CHECKING:
    from ticdc_emit.cli.app import Generate, Sql
    from ticdc_emit.testing import EmbeddedKafka


def target_at(
    stack: ExitStack, sink_uri: str | None, topic: str, changefeed: str | os.PathLike[str] | dict[str, Any]
) -> tuple[EmbeddedKafka | None, str]:
    """Return the sink URI. Without one, start an embedded Kafka, with TiDB extension fields, and return that too."""
    if sink_uri is not None:
        return None, sink_uri
    from ticdc_emit.testing import EmbeddedKafka

    kafka = stack.enter_context(EmbeddedKafka())
    return kafka, with_extension(f"kafka://{kafka.bootstrap}/{topic}?", changefeed)


def with_extension(uri: str, changefeed: str | os.PathLike[str] | dict[str, Any]) -> str:
    """Return a sink URI, which ends with ``?`` or ``&``, with TiDB's extension if the changefeed's protocol has it."""
    protocol = Protocol.parse(read_document(changefeed).at("sink").text("protocol") or "")
    return f"{uri}enable-tidb-extension=true" if protocol.spec.extension else uri[:-1]


def changefeed_at(
    stack: ExitStack, uri: str, changefeed: str | os.PathLike[str] | dict[str, Any], options: Generate | Sql
) -> ChangefeedConfig:
    try:
        return options.load(uri, changefeed, schema_registry=options.schema_registry)
    except ConfigError as error:
        if error.context.get("option") != "schema-registry" or options.schema_registry is not None:
            raise
    from ticdc_emit.testing import EmbeddedRegistry

    return options.load(uri, changefeed, schema_registry=stack.enter_context(EmbeddedRegistry()).url)


_ROWS_PER_MESSAGE = 100


def sparse_interval(config: ChangefeedConfig, rows: int, seconds: float) -> float:
    """Return the seconds of commit time between watermarks; 0, one at the end, for too few rows for each partition."""
    partitions = config.kafka.partition_num or DEFAULT_PARTITION_NUM
    ticks = rows // (_ROWS_PER_MESSAGE * partitions)
    return float(max(1, math.ceil(seconds / ticks))) if ticks else 0.0


Reader: TypeAlias = Callable[[Message], Sequence[TailLine]]
"""Describes a message in lines, like :meth:`ticdc_emit.Tail.lines`."""

_LONGEST_STORY = 3
_FIRST_PRINTABLE = 0x20
_PLACE = ("topic", "partition", "offset")


def pick_story(messages: Sequence[Message], read: Reader) -> list[Message]:
    """Return the messages of the newest key and the last message of all; the newest few if no message is of a row."""
    lines = [(message, line) for message in messages for line in (read(message) or (None,))]
    by_key: dict[str, list[tuple[Message, TailLine]]] = {}
    for message, line in lines:
        if line is not None and line.key:
            row = repr((line.table, sorted(line.key.items())))
            by_key[row] = [
                *by_key.pop(row, []),
                (message, line),
            ]  # popped, so that the dict is in the order of last use
    whole = [life for life in by_key.values() if life[0][1].op == "insert" and life[-1][1].op == "delete"]
    lives = whole or list(by_key.values())
    if not lives:
        return list(messages[-_LONGEST_STORY:])
    life = list(dict.fromkeys(message for message, _ in lives[-1]))
    chosen = life if len(life) <= _LONGEST_STORY else [life[0], *life[-(_LONGEST_STORY - 1) :]]
    others = (message for message, line in lines if line is None or line.op not in ("insert", "update", "delete"))
    control = [message for message in others if message.partition == life[0].partition]
    return [*chosen, *control[-1:]]


def message_dict(message: Message, read: Reader) -> dict[str, Any]:
    """Return a message for JSON: binary key and value as base64, and decoded, of several rows as a list."""
    members = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "key": _as_json(message.key),
        "value": _as_json(message.value),
    }
    binary = isinstance(members["key"], dict) or isinstance(members["value"], dict)
    rows = [_said(line) for line in read(message)] if binary else []
    return members | {"decoded": rows[0] if len(rows) == 1 else rows} if rows else members


def _as_json(data: bytes | None) -> Any:
    if data is None:
        return None
    return {"base64": b64encode(data).decode()} if _is_binary(data) else data.decode()


def _is_binary(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return any(byte < _FIRST_PRINTABLE and byte not in b"\t\n\r" for byte in data)


def print_messages(console: Console, messages: Sequence[Message], read: Reader) -> None:
    for message in messages:
        key = "key null" if message.key is None else "key of zero length"
        if message.key:
            key = f"key {message.key.hex() if _is_binary(message.key) else message.key.decode()}"
        place = f"{message.topic} · partition {message.partition} · offset {message.offset:,} | {key}"
        lines = read(message) if _is_binary(message.key or b"") or _is_binary(message.value or b"") else ()
        text = "null" if message.value is None else message.value.decode("utf-8", "backslashreplace")
        for shown in [json.dumps(_said(line), ensure_ascii=False) for line in lines] or [text]:
            console.print(Text(f"{place} | {shown}"))


def _said(line: TailLine) -> dict[str, Any]:
    return {name: value for name, value in line.to_dict().items() if name not in _PLACE}
