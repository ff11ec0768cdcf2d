"""Guess a message's protocol, to distinguish a wrong protocol from damaged messages.

In: a record. Out: the protocol's name in options, or nothing if that is not clear (a tombstone, a compressed value,
anything else).
"""

from __future__ import annotations

from ticdc_emit.config.protocols import WRITTEN, Protocol
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.event_reader import Recognizer
from ticdc_emit.decode.readers import package_of
from ticdc_emit.delivery.base import Message

__all__ = ["ProtocolGuess"]


class ProtocolGuess:
    """Tries the readers of all protocols, at most one of which can read a message."""

    def __init__(self) -> None:
        self._recognizers: dict[str, list[Recognizer]] = {}
        # frames first, then schema ids: frames may look like an id, and the bytes after an id like Simple in Avro
        for protocol in sorted(WRITTEN, key=_told_from):
            self._recognizers |= package_of(protocol).recognizers()

    def of(self, message: Message) -> str | None:
        """Return the protocol's name, ``None`` if no reader takes the message."""
        for name, recognizers in self._recognizers.items():
            if any(_takes(read, message) for read in recognizers):
                return name
        return None


def _told_from(protocol: Protocol) -> tuple[bool, bool]:
    return not protocol.traits.packs_rows, not protocol.traits.registers_schemas


def _takes(read: Recognizer, message: Message) -> bool:
    try:
        read(message.key, message.value)
    except DecodeError:
        return False
    return True
