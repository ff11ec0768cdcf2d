"""Errors of reading messages, and the remedies that several of them share."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ticdc_emit.errors import SchemaError, TicdcEmitError

__all__ = [
    "FAULTS",
    "MALFORMED",
    "OTHER_SCHEMAS",
    "OTHER_TABLES",
    "PARTITIONS_UNKNOWN",
    "ChecksumMismatchError",
    "DecodeError",
    "as_decode_error",
]

MALFORMED = "Check that the protocol and its options are the changefeed's. If they are, the message is damaged"
"""The remedy of an error that names no other: the bytes are not what the reader expects."""
OTHER_SCHEMAS = "Give the schemas of the registry where the changefeed registers them"
OTHER_TABLES = "Give the tables and DDL statements that the changefeed had when it sent the message"
PARTITIONS_UNKNOWN = "Start a new consumer after this statement, or take the table's rows from their source"

FAULTS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)
"""The errors that Python raises for an unexpected value."""


class DecodeError(TicdcEmitError, ValueError):
    """A message, or the schema that it names, cannot be read. ``part`` is ``key`` or ``value``, ``field`` a column."""

    def __init__(self, message: str, *, remedy: str = "", **context: Any) -> None:
        super().__init__(message, remedy=remedy or MALFORMED, **context)


class ChecksumMismatchError(DecodeError):
    """A row differs from its checksum: ``expected`` is the checksum in the message, ``actual`` that of its values.

    ``corrupted``: TiCDC had already marked the row.
    """


class _AsDecodeError:
    """``with as_decode_error:`` turns other errors while reading a message into :class:`DecodeError`."""

    def __enter__(self) -> None:
        """Does nothing."""

    def __exit__(self, _: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        known = isinstance(fault, TicdcEmitError) and not isinstance(fault, SchemaError)
        if not known and isinstance(fault, FAULTS):
            raise DecodeError(f"the message cannot be read: {type(fault).__name__}: {fault}") from fault


as_decode_error = _AsDecodeError()
