"""Simple messages of rows for the tests, and the one reader that shares nothing with the encoders: fastavro."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import fastavro

from tests.conformance.encoded_rows import encode_changes
from ticdc_emit.config import CodecConfig
from ticdc_emit.config.changefeed import Integrity
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.config.switches import SimpleSwitches
from ticdc_emit.pipeline.encode.chunks import EncodedRows
from ticdc_emit.protocols.simple.encoder import Simple
from ticdc_emit.schema.model import TableInfo

BUILD_TS = 1_700_000_000_123
COMMIT_TS = 450_000_000_262_144_000
_SCHEMAS = Path(__file__).parents[4] / "schemas"
MESSAGE_SCHEMA = fastavro.parse_schema(json.loads((_SCHEMAS / "simple_message.avsc").read_text(encoding="utf-8")))


def codec_of(
    encoding: str = "json", location: str = "UTC", switches: SimpleSwitches = SimpleSwitches(), **options: Any
) -> Simple:
    """Return the codec with these ``options`` of the changefeed's ``codec``."""
    return Simple(CodecConfig(Protocol.SIMPLE, encoding_format=encoding, **options), location, switches)  # type: ignore[arg-type]


def encoded_rows(
    table: str | TableInfo,
    changes: Iterable[Mapping[str, Any]],
    *,
    zone: str = "UTC",
    build_ts: int | None = BUILD_TS,
    **options: Any,
) -> EncodedRows:
    """Return changes encoded as one batch; ``options`` are those of :func:`codec_of`."""
    integrity = Integrity("correctness" if options.get("enable_row_checksum") else "none")
    stamped = [{"commit_ts": COMMIT_TS, **change} for change in changes]
    return encode_changes(table, stamped, codec_of(location=zone, **options), zone, build_ts, integrity)


def row_messages(table: str | TableInfo, changes: Iterable[Mapping[str, Any]], **how: Any) -> list[bytes]:
    """Return the messages of changes in one batch, made as :func:`encoded_rows` says."""
    encoded = encoded_rows(table, changes, **how).encoded
    assert encoded.keys is None
    return encoded.values.to_pylist()


def avro_message(value: bytes) -> dict[str, Any]:
    """Return the payload of a Simple Avro message, which must be whole."""
    stream = io.BytesIO(value)
    read: Any = fastavro.schemaless_reader(
        stream,
        MESSAGE_SCHEMA,
        return_record_name=True,
        handle_unicode_errors="surrogateescape",  # the default of a BIT is raw bytes in a string
    )
    assert stream.read() == b""
    name, message = read
    assert name == "com.pingcap.simple.avro.Message"
    branch, payload = message["payload"]
    assert branch.upper() == f"com.pingcap.simple.avro.{message['type']}".upper()
    return {"kind": message["type"], **payload}
