"""Compression of messages one by one: ``snappy`` is the raw block format, ``lz4`` the frame format with a checksum of
the content. Rule source: ``pingcap/tiflow: pkg/compression/compress.go``.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from ticdc_emit.errors import ConfigError, importing

_FASTEST = 0  # the level of TiCDC's lz4


def compressor(name: str) -> Callable[[bytes], bytes]:
    """Return what compresses one message. Raises :class:`ConfigError`, :class:`MissingDependencyError`."""
    if name == "none":
        return bytes
    with importing(f"the compression {name} needs cramjam", extra="compression"):
        import cramjam
    if name == "snappy":
        return lambda message: bytes(cramjam.snappy.compress_raw(message))
    if name == "lz4":
        return lambda message: bytes(cramjam.lz4.compress(message, level=_FASTEST))
    raise ConfigError(
        f"the compression {name!r} is not known",
        remedy="Use none, snappy or lz4",
        option="large-message-handle-compression",
    )


def compressed(messages: pa.Array, compress: Callable[[bytes], bytes]) -> pa.Array:
    """Return each message compressed, ``binary``; null stays null."""
    packed = (None if message is None else compress(message) for message in messages.to_pylist())
    return pa.array(list(packed), pa.binary())
