"""What can be wrong with a message that is read."""

from __future__ import annotations

from ticdc_emit.errors import TicdcEmitError

__all__ = ["ChecksumMismatchError", "DecodeError", "WatermarkError"]


class DecodeError(TicdcEmitError, ValueError):
    """A message, or the schema that it names, cannot be read. ``part`` is ``key`` or ``value``, ``field`` a column."""


class ChecksumMismatchError(DecodeError):
    """A row is not the one that was sent: ``expected`` is the checksum in the message, ``actual`` that of its values.

    ``corrupted``: TiCDC had already marked the row.
    """


class WatermarkError(DecodeError):
    """A partition's messages are out of order: one came behind a ``watermark`` that says that it was sent before."""
