"""Reader of TiCDC's Canal-JSON messages. In: the value of a Kafka record. Out: a record with its content.

A Canal-JSON message has no key: it is empty for a row, null for a DDL or watermark. Every value of a row is text or
``None``; :mod:`ticdc_emit.decode.canal_json.text` reads it by the column's type. Rule sources: "TiCDC Canal-JSON
Protocol" (message format); reference ``pingcap/tiflow: pkg/sink/codec/canal/canal_json_decoder.go``.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import orjson

from ticdc_emit.decode.compression import MAX_DECOMPRESSED_BYTES, decompressor
from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.members import member, millis, texts, tso
from ticdc_emit.json_depth import check_depth

__all__ = ["CanalDdl", "CanalJsonReader", "CanalMessage", "CanalRow", "CanalWatermark"]

_ROWS = frozenset({"INSERT", "UPDATE", "DELETE"})
_WATERMARK = "TIDB_WATERMARK"
_NO_EXTENSION: Mapping[str, Any] = {}
_TEXT_OR_NULL = frozenset({str, type(None)})
_Told: TypeAlias = tuple[tuple[str, ...], dict[str, str], dict[str, int]]


class CanalRow(NamedTuple):
    """A row change. ``op``: ``INSERT``, ``UPDATE`` or ``DELETE``; ``data`` is the row after the change (for a delete:
    before it). ``old`` is the row before an update, with only the changed columns under
    ``only-output-updated-columns``.

    ``es`` is the physical time of the commit in ms, ``ts`` the wall clock of the encoder in ms. ``mysql_type`` and
    ``sql_type`` are by column. ``commit_ts`` (TSO) is ``None`` without ``enable-tidb-extension``; ``handle_key_only``:
    the message was too large and has only the handle key's columns; ``claim_check``: the same, and the location of the
    whole message. ``row_key``: the row's key in TiKV, with ``output-row-key``.
    """

    database: str
    table: str
    op: str
    es: int
    ts: int
    data: Mapping[str, str | None]
    old: Mapping[str, str | None] | None
    pk_names: tuple[str, ...]
    mysql_type: Mapping[str, str]
    sql_type: Mapping[str, int]
    commit_ts: int | None = None
    handle_key_only: bool = False
    claim_check: str | None = None
    row_key: bytes | None = None


@dataclass(frozen=True, slots=True)
class CanalDdl:
    """A statement. ``type``: ``CREATE``, ``RENAME``, ``CINDEX``, ``DINDEX``, ``ERASE``, ``TRUNCATE``, ``ALTER`` or
    ``QUERY``; ``database`` and ``table`` are those after it.
    """

    database: str
    table: str
    type: str
    sql: str
    es: int
    ts: int
    commit_ts: int | None = None


@dataclass(frozen=True, slots=True)
class CanalWatermark:
    """Everything up to ``commit_ts`` has been sent to this partition."""

    commit_ts: int
    es: int
    ts: int


CanalMessage: TypeAlias = "CanalRow | CanalDdl | CanalWatermark"


class CanalJsonReader:
    """Reads the records of a topic.

    ``compression``: the changefeed's ``large-message-handle-compression``; ``max_decompressed_bytes``: the limit of a
    value. Raises :class:`~ticdc_emit.errors.ConfigError` for an unknown compression, and
    :class:`~ticdc_emit.errors.MissingDependencyError` without cramjam.
    """

    def __init__(self, compression: str = "none", *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> None:
        self._unpacked = (
            None if compression == "none" else decompressor(compression, max_decompressed_bytes=max_decompressed_bytes)
        )
        self._told: dict[tuple[str, str], tuple[_Told, tuple[Any, ...]]] = {}

    def read(self, key: bytes | None, value: bytes | None) -> CanalMessage:
        """Return the message in a record. Raises :class:`DecodeError` if it is not a Canal-JSON message of TiCDC."""
        if key:
            raise DecodeError("not a Canal-JSON message: its key should be empty", part="key")
        if not value:
            raise DecodeError("not a Canal-JSON message: it has no value", part="value")
        members = _members(value if self._unpacked is None else self._unpacked(value))
        kind = member(members, "type", str)
        extension = members.get("_tidb", _NO_EXTENSION)
        if not isinstance(extension, dict):
            raise DecodeError("a member is not an object", part="value", member="_tidb")
        if kind in _ROWS and not member(members, "isDdl", bool):
            return self._row(kind, members, extension)
        if kind == _WATERMARK:
            stamp = tso(extension, "watermarkTs") if "watermarkTs" in extension else 0
            return CanalWatermark(stamp, millis(members, "es"), member(members, "ts", int))
        if not member(members, "isDdl", bool):
            raise DecodeError(f"{kind!r} is not a type of Canal-JSON messages", part="value")
        return CanalDdl(
            member(members, "database", str),
            member(members, "table", str),
            kind,
            member(members, "sql", str),
            millis(members, "es"),
            member(members, "ts", int),
            tso(extension, "commitTs") if "commitTs" in extension else None,
        )

    def _row(self, kind: str, members: Mapping[str, Any], extension: Mapping[str, Any]) -> CanalRow:
        data, old, commit_ts, claim = _image(members, "data"), None, None, None
        if kind == "UPDATE":
            old = _image(members, "old")
        if data is None or (kind == "UPDATE" and old is None):
            raise DecodeError(f"{kind} lacks an image", part="value", member="data" if data is None else "old")
        if extension:
            commit_ts = tso(extension, "commitTs")
            claim = extension.get("claimCheckLocation")
            if claim is not None and not isinstance(claim, str):
                raise DecodeError("a member is not text", part="value", member="claimCheckLocation")
        database, table = member(members, "database", str), member(members, "table", str)
        types = members.get("pkNames"), members.get("mysqlType"), members.get("sqlType")
        known = self._told.get((database, table))
        if known is None or known[1] != types:  # most rows of a table have the same, so it is checked and stored once
            known = self._told[database, table] = _told(members), types
        pk_names, mysql_type, sql_type = known[0]
        return CanalRow(
            database,
            table,
            kind,
            millis(members, "es"),
            member(members, "ts", int),
            data,
            old,
            pk_names,
            mysql_type,
            sql_type,
            commit_ts,
            claim is not None or extension.get("onlyHandleKey") is True,
            claim,
            _row_key(extension) if "rowkey" in extension else None,
        )


def _row_key(extension: Mapping[str, Any]) -> bytes:
    try:
        return b64decode(member(extension, "rowkey", str), validate=True)
    except ValueError as fault:
        raise DecodeError(f"the row key is not base64: {fault}", part="value", member="rowkey") from fault


def _told(members: Mapping[str, Any]) -> _Told:
    """Return a row's data about its table: names of the key, types by column; ``null`` means none."""
    names = texts(members, "pkNames") if members.get("pkNames") is not None else ()
    mysql, sql = (
        member(members, name, dict) if members.get(name) is not None else {} for name in ("mysqlType", "sqlType")
    )
    for name, types, kind in (("mysqlType", mysql, str), ("sqlType", sql, int)):
        if not all(isinstance(each, kind) for each in types.values()):
            raise DecodeError(f"a type is not {kind.__name__}", part="value", member=name)
    return names, mysql, sql


def _members(value: bytes) -> dict[str, Any]:
    try:
        members = orjson.loads(value)
        check_depth(members, value)
    except ValueError as fault:
        raise DecodeError(f"the value is not JSON: {fault}", part="value") from fault
    if not isinstance(members, dict):
        raise DecodeError("the value is not a JSON object", part="value")
    return members


def _image(members: Mapping[str, Any], name: str) -> dict[str, str | None] | None:
    """Return the row in a list of one row; ``None`` if there is no list."""
    rows = members.get(name)
    if rows is None:
        return None
    if not isinstance(rows, list) or len(rows) != 1 or not isinstance(rows[0], dict):
        raise DecodeError("TiCDC sends lists of one row", part="value", member=name)
    image: dict[str, str | None] = rows[0]
    if not _TEXT_OR_NULL.issuperset(map(type, image.values())):
        raise DecodeError("a value of Canal-JSON is text or null", part="value", member=name)
    return image
