"""Simple Avro. In: bytes of a value. Out: the members of the same message in JSON. fastavro decodes.

Values have no header: each is a ``Message`` of ``simple_message.avsc``, a union of all record types. Differences
between the encodings are removed here: a table schema's database is ``schema``, a BIT's default is a number, numbers
from 2^63 on are positive, members that are null are left out. Rule source: reference ``pingcap/tiflow:
pkg/sink/codec/simple/avro.go``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.decode.simple.records import SimpleTimestamp
from ticdc_emit.errors import MissingDependencyError

__all__ = ["AvroMembers"]

_WORD = (1 << 64) - 1
_UNSIGNED = ("commitTs", "schemaVersion")
_NAMESPACE = "com.pingcap.simple.avro."


class AvroMembers:
    """Reads values. Raises :class:`~ticdc_emit.errors.MissingDependencyError` without fastavro."""

    def __init__(self) -> None:
        try:
            import fastavro
        except ImportError:
            raise MissingDependencyError("reading Simple Avro messages needs fastavro", extra="avro") from None
        text = (files("ticdc_emit.decode.simple") / "simple_message.avsc").read_text(encoding="utf-8")
        self._read = fastavro.schemaless_reader
        self._schema = fastavro.parse_schema(json.loads(text))

    def __call__(self, value: bytes) -> dict[str, Any]:
        """Return the members of a message. Raises :class:`DecodeError` for other bytes."""
        stream = io.BytesIO(value)
        try:
            # A BIT's default is bytes in a string; in any other place such bytes are refused below.
            read: Any = self._read(
                stream, self._schema, None, return_record_name=True, handle_unicode_errors="surrogateescape"
            )
        except Exception as fault:  # fastavro raises EOFError, IndexError, ValueError and others
            raise DecodeError(f"the value is not a Simple Avro message: {type(fault).__name__} {fault}") from fault
        if stream.tell() != len(value):
            raise DecodeError("the value is not a Simple Avro message: some bytes are left over")
        name, message = read
        if name != f"{_NAMESPACE}Message":
            raise DecodeError(f"the value is a {name}, not a Message")
        branch, payload = message["payload"]
        kind: str = message["type"]
        if branch.removeprefix(_NAMESPACE).upper() != kind:
            raise DecodeError(f"the message says that it is a {kind}, but it holds a {branch}")
        return _members(kind, payload)


def _members(kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    members = {name: member for name, member in payload.items() if member is not None}
    members.setdefault("type", kind)
    for name in ("data", "old"):
        if name in members:
            members[name] = {column: _value(value) for column, value in members[name].items()}
    for name in ("tableSchema", "preTableSchema"):
        if name in members:
            members[name] = _table_schema(members[name])
    if "checksum" in members:
        members["checksum"] = _record(members["checksum"])
    _as_unsigned(members, _UNSIGNED)
    return _checked(members)


def _record(value: Any) -> dict[str, Any]:
    """Return a record's fields, also for a record in a union, which fastavro returns with its name."""
    return dict(value[1] if isinstance(value, tuple) else value)


def _as_unsigned(members: dict[str, Any], names: tuple[str, ...]) -> None:
    members.update({name: members[name] & _WORD for name in names if name in members})


def _value(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    name, fields = value
    if name == f"{_NAMESPACE}Timestamp":
        return SimpleTimestamp(fields["location"], fields["value"])
    return fields["value"] & _WORD


def _table_schema(value: Any) -> dict[str, Any]:
    members = _record(value)
    members["schema"] = members.pop("database")
    members["columns"] = [_column(column) for column in members["columns"]]
    _as_unsigned(members, ("version",))
    return members


def _column(column: Mapping[str, Any]) -> dict[str, Any]:
    kind = {name: member for name, member in column["dataType"].items() if member is not None}
    default = column["default"]
    if kind["mysqlType"] == "bit" and default is not None:
        default = int.from_bytes(default.encode(errors="surrogateescape"), "big")
    return {**column, "dataType": kind, "default": default}


def _checked(members: dict[str, Any]) -> dict[str, Any]:
    """Refuse strings that are not UTF-8."""

    def check(part: Any) -> None:
        if isinstance(part, str):
            part.encode()
        elif isinstance(part, Mapping):
            for name, member in part.items():
                check(name)
                check(member)
        elif isinstance(part, list):
            for member in part:
                check(member)
        elif isinstance(part, SimpleTimestamp):
            check([part.location, part.value])

    try:
        check(members)
    except UnicodeEncodeError as fault:
        raise DecodeError("a string of the message is not UTF-8") from fault
    return members
