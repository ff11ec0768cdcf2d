"""Simple Avro's constants, and its values one by one.

In: Python values. Out: bytes of the binary encoding. The numbers are indexes in ``schemas/simple_message.avsc``: of a
message's branch in the schema's union, of a kind in ``Message``, of a symbol in an enum. Rule sources: Avro
specification "Binary Encoding"; semantics 2.3; reference ``pingcap/tiflow: pkg/sink/codec/simple/message.json``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from ticdc_emit.columnar.avro import zigzag_bytes

__all__ = [
    "DDL_TYPES",
    "DML_TYPES",
    "NULL_BRANCH",
    "VALUE_BRANCH",
    "Branch",
    "Kind",
    "avro_array",
    "avro_flag",
    "avro_long",
    "avro_string",
    "envelope",
]

NULL_BRANCH, VALUE_BRANCH = zigzag_bytes(0), zigzag_bytes(1)
"""The branches of an optional field."""

DDL_TYPES = ("CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE", "CINDEX", "DINDEX", "QUERY")
DML_TYPES = ("INSERT", "UPDATE", "DELETE")
_MESSAGE_BRANCH = 11
_INT64_END = 1 << 63


class Kind(IntEnum):
    """The kinds of messages; ``Message`` has a kind twice, as its type and as the branch of its payload."""

    WATERMARK = 0
    BOOTSTRAP = 1
    DDL = 2
    DML = 3


class Branch(IntEnum):
    """The branches of a column's value."""

    NULL = 0
    LONG = 1
    FLOAT = 2
    DOUBLE = 3
    STRING = 4
    BYTES = 5
    TIMESTAMP = 6
    UNSIGNED_BIGINT = 7


def envelope(kind: Kind) -> bytes:
    """Return the beginning of every message of a kind."""
    return zigzag_bytes(_MESSAGE_BRANCH) + zigzag_bytes(kind) * 2


def avro_long(number: int) -> bytes:
    """Return an ``int``, ``long`` or enum; numbers from 2^63 on wrap, as Go's conversion to int64 does."""
    return zigzag_bytes(number if number < _INT64_END else number - 2 * _INT64_END)


def avro_string(text: str | bytes) -> bytes:
    """Return a ``string``, which may have any bytes."""
    raw = text.encode() if isinstance(text, str) else text
    return zigzag_bytes(len(raw)) + raw


def avro_flag(value: bool) -> bytes:
    """Return a ``boolean``."""
    return b"\x01" if value else b"\x00"


def avro_array(items: Iterable[bytes]) -> bytes:
    """Return an ``array``: one block of all items; none if it is empty."""
    made = list(items)
    return (zigzag_bytes(len(made)) + b"".join(made) if made else b"") + zigzag_bytes(0)
