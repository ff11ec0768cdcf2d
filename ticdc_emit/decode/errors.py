"""Errors of reading messages."""

from __future__ import annotations

from types import TracebackType

from ticdc_emit.errors import SchemaError, TicdcEmitError

__all__ = ["FAULTS", "ChecksumMismatchError", "DecodeError", "as_decode_error"]

FAULTS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)
"""The errors that Python raises for an unexpected value."""


class DecodeError(TicdcEmitError, ValueError):
    """A message, or the schema that it names, cannot be read. ``part`` is ``key`` or ``value``, ``field`` a column."""


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
