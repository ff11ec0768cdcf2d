"""Debezium messages for the tests: of rows in one batch, and of DDL statements."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tests.conformance.encoded_rows import encode_changes
from ticdc_emit.config import CodecConfig
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.pipeline.encode.chunks import EncodedRows
from ticdc_emit.protocols.debezium.encoder import Debezium
from ticdc_emit.protocols.debezium_common.schema import DebeziumSettings
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo

BUILD_TS = 2000
COMMIT_TS = 262144000
"""1000 ms after the epoch."""


_OF_CODEC = {
    "disable_schema": "debezium_disable_schema",
    "include_start_ts": "debezium_include_start_ts",
    "enable_tidb_extension": "enable_tidb_extension",
    "output_old_value": "output_old_value",
}


def codec_of(**options: Any) -> Debezium:
    """Return the codec with these fields of :class:`DebeziumSettings` and options of its ``codec``."""
    codec = CodecConfig(
        Protocol.DEBEZIUM, **{_OF_CODEC[name]: options.pop(name) for name in _OF_CODEC & options.keys()}
    )
    return Debezium(DebeziumSettings(codec, **options))


def encoded_rows(table: str | TableInfo, changes: Iterable[Mapping[str, Any]], **options: Any) -> EncodedRows:
    """Return changes encoded as one batch; ``options`` are those of :func:`codec_of`."""
    codec, stamped = codec_of(**options), [{"commit_ts": COMMIT_TS, **change} for change in changes]
    return encode_changes(table, stamped, codec, codec.settings.zone, BUILD_TS)


def row_messages(
    table: str | TableInfo, changes: Iterable[Mapping[str, Any]], **options: Any
) -> list[tuple[bytes, bytes]]:
    """Return keys and values of changes in one batch."""
    encoded = encoded_rows(table, changes, **options).encoded.whole()
    return list(zip(encoded.keys.to_pylist(), encoded.values.to_pylist(), strict=True))


def inserted(table: str | TableInfo, rows: Iterable[Mapping[str, Any]], **options: Any) -> list[bytes]:
    """Return the text of ``after`` for inserts of rows."""
    changes = [{"op": "c", "after": row} for row in rows]
    values = [value for _, value in row_messages(table, changes, disable_schema=True, **options)]
    return [value.partition(b'"after":')[2][:-2] for value in values]


def described(*statements: str, **options: Any) -> list[dict[str, Any]]:
    """Return ``tableChanges`` of the last of some statements."""
    catalog = Catalog()
    events = [event for place, sql in enumerate(statements, 1) for event in catalog.apply(sql, commit_ts=place << 18)]
    message = codec_of(**options).ddl(events[-1], BUILD_TS)
    return json.loads(message.value)["payload"]["tableChanges"]


def described_columns(*statements: str) -> dict[str, dict[str, Any]]:
    """Return the columns that the last of some statements shows, by name."""
    (change,) = described(*statements)
    return {column["name"]: column for column in change["table"]["columns"]}
