"""The protocols of a campaign: their sink URI options, and what one of their messages says.

Readers are those of :mod:`ticdc_emit.consume`, which share no code with the encoders; Canal-JSON is plain JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

from ticdc_emit.protocols.avro.decoder import AvroReader
from ticdc_emit.protocols.debezium.decoder import DebeziumReader
from ticdc_emit.protocols.debezium_common.records import DebeziumRow, DebeziumWatermark
from ticdc_emit.protocols.open_protocol.decoder import OpenProtocolReader, OpenRow, OpenWatermark
from ticdc_emit.protocols.registered_avro import RegistrySchemas
from ticdc_emit.protocols.simple.decoder import SimpleReader, SimpleRow, SimpleWatermark

from .history import key_columns

__all__ = ["PROTOCOLS", "FaultProtocol", "Read", "Said"]


class Said(NamedTuple):
    """What a message says. ``commit_ts`` is a watermark's own; ``None`` for an Avro delete, which does not tell it."""

    kind: Literal["row", "watermark", "other"]
    table: str = ""
    key: tuple[str, ...] = ()
    commit_ts: int | None = None


Read = Callable[["bytes | None", "bytes | None"], Said]
Parts = Callable[["bytes | None", "bytes | None"], Iterable["tuple[bytes | None, bytes | None]"]]


@dataclass(frozen=True)
class FaultProtocol:
    """``make_reader`` takes the address of the schema registry. ``parts``: a record as those of one row each."""

    name: str
    options: Mapping[str, str]
    make_reader: Callable[[str | None], Read]
    needs_registry: bool = False
    parts: Parts = lambda key, value: [(key, value)]

    @property
    def rows_per_message(self) -> int:
        """The most rows that a message holds."""
        return int(self.options.get("max-batch-size", "1"))

    def sink_uri(self, brokers: str, topic: str, partitions: int, replicas: int) -> str:
        """Return the sink URI of a topic that the first run of a job creates."""
        own = {"partition-num": str(partitions), "replication-factor": str(replicas), "compression": "lz4"}
        return f"kafka://{brokers}/{topic}?{urlencode({**self.options, **own})}"


def _key(table: str, image: Mapping[str, Any] | None) -> tuple[str, ...]:
    return tuple(str((image or {}).get(name)) for name in key_columns(table))


def _canal_json(_: str | None) -> Read:
    def read(key: bytes | None, value: bytes | None) -> Said:
        message = json.loads(value or b"")
        if message["type"] == "TIDB_WATERMARK":
            return Said("watermark", commit_ts=message["_tidb"]["watermarkTs"])
        if message["isDdl"]:
            return Said("other")
        table = message["table"]
        return Said("row", table, _key(table, message["data"][0]), message["_tidb"]["commitTs"])

    return read


def _simple(encoding: Literal["json", "avro"]) -> Callable[[str | None], Read]:
    def make(_: str | None) -> Read:
        reader = SimpleReader(encoding)

        def read(key: bytes | None, value: bytes | None) -> Said:
            message = reader.read(key, value)
            if isinstance(message, SimpleWatermark):
                return Said("watermark", commit_ts=message.commit_ts)
            if isinstance(message, SimpleRow):
                image = message.old if message.data is None else message.data
                return Said("row", message.table, _key(message.table, image), message.commit_ts)
            return Said("other")

        return read

    return make


def _avro(registry: str | None) -> Read:
    assert registry is not None
    reader = AvroReader(RegistrySchemas(registry))

    def read(key: bytes | None, value: bytes | None) -> Said:
        if key is None and value is not None and value[:1] == b"\x02":
            return Said("watermark", commit_ts=int.from_bytes(value[1:9], "big"))
        row = reader.read(key, value)
        return Said("row", row.table, _key(row.table, row.key), row.commit_ts)

    return read


def _debezium(_: str | None) -> Read:
    reader = DebeziumReader()

    def read(key: bytes | None, value: bytes | None) -> Said:
        message = reader.read(key, value)
        if isinstance(message, DebeziumWatermark):
            return Said("watermark", commit_ts=message.source.commit_ts)
        if isinstance(message, DebeziumRow):
            table = message.source.table
            return Said("row", table, _key(table, message.key), message.source.commit_ts)
        return Said("other")

    return read


def _open_protocol(_: str | None) -> Read:
    reader = OpenProtocolReader()

    def read(key: bytes | None, value: bytes | None) -> Said:
        message = reader.read(key, value)
        if isinstance(message, OpenWatermark):
            return Said("watermark", commit_ts=message.commit_ts)
        if isinstance(message, OpenRow):
            return Said("row", message.table, _key(message.table, message.data), message.commit_ts)
        return Said("other")

    return read


_EXTENSION = {"enable-tidb-extension": "true"}

PROTOCOLS = {
    each.name: each
    for each in (
        FaultProtocol("canal-json", {"protocol": "canal-json", **_EXTENSION}, _canal_json),
        FaultProtocol(
            "avro", {"protocol": "avro", **_EXTENSION, "avro-enable-watermark": "true"}, _avro, needs_registry=True
        ),
        FaultProtocol("simple-json", {"protocol": "simple"}, _simple("json")),
        FaultProtocol("simple-avro", {"protocol": "simple", "encoding-format": "avro"}, _simple("avro")),
        FaultProtocol("debezium", {"protocol": "debezium", **_EXTENSION}, _debezium),
        FaultProtocol(
            "open-protocol",
            {"protocol": "open-protocol", "max-batch-size": "4"},
            _open_protocol,
            parts=OpenProtocolReader().parts,
        ),
    )
}
