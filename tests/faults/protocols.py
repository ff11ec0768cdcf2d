"""The protocols of a campaign: their sink URI options, and what one of their messages says.

Readers are those of :mod:`ticdc_emit.consume`, which share no code with the encoders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

from ticdc_emit.protocols.avro.decoder import AvroReader
from ticdc_emit.protocols.canal_json.decoder import CanalJsonReader
from ticdc_emit.protocols.debezium.decoder import DebeziumReader
from ticdc_emit.protocols.decoder import EventReader
from ticdc_emit.protocols.events import RowEvent, WatermarkEvent
from ticdc_emit.protocols.open_protocol.decoder import OpenProtocolReader
from ticdc_emit.protocols.registered_avro import RegistrySchemas
from ticdc_emit.protocols.simple.decoder import SimpleReader

from .history import key_columns


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
        return int(self.options.get("max-batch-size", "1"))

    def sink_uri(self, brokers: str, topic: str, partitions: int, replicas: int) -> str:
        own = {"partition-num": str(partitions), "replication-factor": str(replicas), "compression": "lz4"}
        return f"kafka://{brokers}/{topic}?{urlencode({**self.options, **own})}"


def _key(table: str, image: Mapping[str, Any] | None) -> tuple[str, ...]:
    return tuple(str((image or {}).get(name)) for name in key_columns(table))


def _read_by(reader: EventReader) -> Read:
    def read(key: bytes | None, value: bytes | None) -> Said:
        event = reader.read(key, value)
        if isinstance(event, WatermarkEvent):
            return Said("watermark", commit_ts=event.commit_ts)
        if isinstance(event, RowEvent):
            image = event.key or event.after or event.before
            return Said("row", event.table, _key(event.table, image), event.commit_ts)
        return Said("other")

    return read


def _avro(registry: str | None) -> Read:
    assert registry is not None
    return _read_by(AvroReader(RegistrySchemas(registry)))


_EXTENSION = {"enable-tidb-extension": "true"}

PROTOCOLS = {
    each.name: each
    for each in (
        FaultProtocol("canal-json", {"protocol": "canal-json", **_EXTENSION}, lambda _: _read_by(CanalJsonReader())),
        FaultProtocol(
            "avro", {"protocol": "avro", **_EXTENSION, "avro-enable-watermark": "true"}, _avro, needs_registry=True
        ),
        FaultProtocol("simple-json", {"protocol": "simple"}, lambda _: _read_by(SimpleReader("json"))),
        FaultProtocol(
            "simple-avro", {"protocol": "simple", "encoding-format": "avro"}, lambda _: _read_by(SimpleReader("avro"))
        ),
        FaultProtocol("debezium", {"protocol": "debezium", **_EXTENSION}, lambda _: _read_by(DebeziumReader())),
        FaultProtocol(
            "open-protocol",
            {"protocol": "open-protocol", "max-batch-size": "4"},
            lambda _: _read_by(OpenProtocolReader()),
            parts=OpenProtocolReader().parts,
        ),
    )
}
