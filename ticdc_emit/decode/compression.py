"""Messages of a changefeed with ``large-message-handle-compression``, decompressed.

In: keys and values as they lie on Kafka. Out: what the readers read. Rule source: reference ``pingcap/tiflow:
pkg/compression/compress.go``: ``snappy`` is the raw block format, ``lz4`` the frame format.
"""

from __future__ import annotations

from collections.abc import Callable

from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.errors import ConfigError, MissingDependencyError

__all__ = ["decompress", "decompressor"]


def decompress(data: bytes, compression: str) -> bytes:
    """Return what was compressed; raises what :func:`decompressor` and what it returns do."""
    return decompressor(compression)(data)


def decompressor(compression: str) -> Callable[[bytes], bytes]:
    """Return what decompresses one key or value, or raises :class:`DecodeError`.

    ``compression`` is ``none``, ``snappy`` or ``lz4``. Raises :class:`~ticdc_emit.errors.ConfigError` for another one,
    :class:`~ticdc_emit.errors.MissingDependencyError` without cramjam.
    """
    if compression == "none":
        return bytes
    if compression not in ("snappy", "lz4"):
        raise ConfigError(
            f"the compression {compression!r} is not known",
            remedy="Use none, snappy or lz4",
            option="large-message-handle-compression",
        )
    try:
        import cramjam
    except ImportError:
        raise MissingDependencyError(f"the compression {compression} needs cramjam", extra="compression") from None
    unpack = cramjam.snappy.decompress_raw if compression == "snappy" else cramjam.lz4.decompress

    def unpacked(data: bytes) -> bytes:
        try:
            return bytes(unpack(data))
        except (cramjam.DecompressionError, ValueError, OSError) as fault:
            raise DecodeError(f"the bytes are not compressed by {compression}: {fault}") from fault

    return unpacked
