"""Which protocol a message seems to be of, to tell a wrong protocol from damaged messages.

In: a record. Out: the name of a protocol as options name it, or nothing where that is not clear (a tombstone, a
compressed value, something else altogether).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.decode.canal_json import CanalJsonReader
from ticdc_emit.decode.debezium import DebeziumReader
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.simple import SimpleReader
from ticdc_emit.delivery.contract import Message
from ticdc_emit.errors import MissingDependencyError

__all__ = ["ProtocolGuess", "name_of"]

_MAGIC = 0
_SCHEMA_ID_BYTES = 5


class ProtocolGuess:
    """Asks the readers of all protocols. What they share is the message; so at most one can read it."""

    def __init__(self) -> None:
        self._readers: dict[str, list[Callable[[bytes | None, bytes | None], Any]]] = {
            "canal-json": [CanalJsonReader().read],
            "simple-json": [SimpleReader("json").read],
            "debezium": [DebeziumReader(schema, typed=False).read for schema in (True, False)],
        }
        with suppress(MissingDependencyError):
            self._readers["simple-avro"] = [SimpleReader("avro").read]

    def of(self, message: Message) -> str | None:
        """Return the protocol's name, ``None`` if no reader takes the message."""
        if _has_schema_id(message.key) and (message.value is None or _has_schema_id(message.value)):
            return "avro"
        if message.value is None:
            return None
        for name, reads in self._readers.items():
            if any(_takes(read, message) for read in reads):
                return name
        return None


def name_of(config: ChangefeedConfig) -> str:
    """Return the protocol of a configuration as options name it, Simple with its encoding."""
    return config.codec.form


def _has_schema_id(data: bytes | None) -> bool:
    return data is not None and len(data) > _SCHEMA_ID_BYTES and data[0] == _MAGIC


def _takes(read: Callable[[bytes | None, bytes | None], Any], message: Message) -> bool:
    try:
        read(message.key, message.value)
    except DecodeError:
        return False
    return True
