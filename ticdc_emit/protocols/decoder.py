"""The interface of decoders: each protocol's ``decoder.py`` has ``make_reader(inputs)``, which makes an EventReader.

Decompression has a limit, because a message of 4 MB may decompress to 1 GB. Rule source: ``pingcap/tiflow:
pkg/compression/compress.go``: ``snappy`` is the raw block format, ``lz4`` the frame format.
"""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.errors import ConfigError, importing
from ticdc_emit.protocols.consumer_tables import Lookup, Tables
from ticdc_emit.protocols.events import DecodeError, Event, Image, RowEvent
from ticdc_emit.protocols.registered_avro import SchemaSource
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.json_depth import parsed

Part: TypeAlias = "tuple[bytes | None, bytes | None]"
"""Key and value of a record, or of a part of one."""


@dataclass(frozen=True)
class ReaderInputs:
    """The arguments of :func:`~ticdc_emit.consume.readers.reader_for`."""

    config: ChangefeedConfig
    schemas: SchemaSource | None
    claims: Callable[[str], bytes] | None
    max_decompressed_bytes: int


class EventReader(ABC):
    """Reads the records of a changefeed's topics."""

    @abstractmethod
    def read(self, key: bytes | None, value: bytes | None) -> Event:
        """Return the event of a record. Raises :class:`~ticdc_emit.protocols.events.DecodeError`."""

    def parts(self, key: bytes | None, value: bytes | None) -> Sequence[Part]:
        """Return records of one row with the same content, as :meth:`read` takes them and with its errors."""
        return ((key, value),)

    def records(self, data: bytes) -> Iterator[bytes]:
        """Yield the rows of a storage sink's file. Raises :class:`~ticdc_emit.protocols.events.DecodeError` for a file
        that does not consist of whole rows.
        """
        raise DecodeError("the protocol has no files", remedy="Use csv or canal-json")

    def named(self, event: RowEvent, table: TableInfo) -> RowEvent:
        """Return the event with its images by the names of columns, if its record has none and the table fits it."""
        return event

    def stored_at(self, key: bytes | None) -> str:
        """Return a storage sink's file, and the row's number in it from 0 on (``PATH@3``); "" for a queue."""
        return ""

    def image(self, event: RowEvent, image: Image | None, table: TableInfo | None) -> dict[str, str | None] | None:
        """Return one image of the event in canonical text. ``table`` and errors: as for :meth:`text`."""
        return None if image is None else self._image(event, image, table)

    @abstractmethod
    def _image(self, event: RowEvent, image: Image, table: TableInfo | None) -> dict[str, str | None]: ...

    def text(self, event: RowEvent, table: TableInfo | None = None) -> RowEvent:
        """Return the event with its images in canonical text.

        ``table``: the table at the row's commit_ts. Without it, the message's own types are used, and values of unknown
        type stay as they are. Raises :class:`~ticdc_emit.protocols.events.DecodeError`, and
        :class:`~ticdc_emit.errors.UnknownTableError` for a row of Simple whose version no message has shown.
        """
        before, after, key = (self.image(event, image, table) for image in (event.before, event.after, event.key))
        return replace(event, before=before, after=after, key=key)

    def check(self, event: RowEvent) -> None:  # noqa: B027 - most protocols have no checksums
        """Compare a row with its checksum, if it has one. Raises
        :class:`~ticdc_emit.protocols.events.ChecksumMismatchError`, :class:`~ticdc_emit.protocols.events.DecodeError`.
        """

    def is_corrupted(self, event: RowEvent) -> bool:
        """Return whether TiCDC has marked a row with a checksum as corrupted."""
        return False

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return the columns of the handle key; ``()`` for a table without one, or if no message has shown it."""
        return tuple(event.key or ())

    def likely_key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return :meth:`key_names`, or those of the newest version that messages have shown, which seldom differ."""
        return self.key_names(event)

    def content(self, event: RowEvent, key: bytes | None, value: bytes | None) -> Hashable:
        """Return what of a row's record is the same in every run: not the encoding time, the order of columns in Simple
        Avro (Go's maps have none), and the claim-check object (each encoding draws a name).
        """
        return key, value

    def learn(self, key: bytes | None, value: bytes | None) -> None:  # noqa: B027 - most messages tell all
        """Read the table schemas in a record from before the first row; raises the errors of :meth:`read`."""

    def knows(self, event: RowEvent) -> bool:
        """Return whether rows of the event's table can be read without an earlier record."""
        return True

    def make_tables(self, catalog: Catalog, zone: str, lookup: Lookup | None) -> Tables:
        """Return the tables that a consumer of these messages keeps."""
        return Tables(catalog, self, zone, lookup)


MAX_DECOMPRESSED_BYTES = 256 * 1024 * 1024
"""Default limit: twice TiDB's largest transaction entry, and more than any row's message."""
_LZ4_EXPANSION = 255
_SNAPPY_EXPANSION = 22
"""The maximum number of bytes from one compressed byte."""
_SMALLEST_BUFFER = 64 * 1024
_BUFFER_TOO_SMALL = "failed to write whole buffer"


def decompressor(compression: str, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> Callable[[bytes], bytes]:
    """Return what decompresses one key or value; it raises :class:`DecodeError`, also beyond the limit. Raises
    :class:`~ticdc_emit.errors.ConfigError`, :class:`~ticdc_emit.errors.MissingDependencyError` without cramjam.
    """
    if compression == "none":
        return bytes
    if compression not in ("snappy", "lz4"):
        raise ConfigError(
            f"the compression {compression!r} is not known",
            remedy="Use none, snappy or lz4",
            option="large-message-handle-compression",
        )
    with importing(f"the compression {compression} needs cramjam", extra="compression"):
        import cramjam
    unpack = _snappy if compression == "snappy" else _lz4

    def unpacked(data: bytes) -> bytes:
        try:
            return unpack(data, max_decompressed_bytes)
        except DecodeError:
            raise
        except (cramjam.DecompressionError, ValueError, OSError) as fault:
            raise DecodeError(
                f"the bytes are not compressed by {compression}: {fault}",
                remedy="Give the changefeed's large-message-handle-compression. If it is given, the message is damaged",
            ) from fault
        except MemoryError:
            raise DecodeError(
                "the decompressed bytes do not fit into memory",
                remedy="Read the message where there is more memory, or lower max_decompressed_bytes",
            ) from None

    return unpacked


def _snappy(data: bytes, limit: int) -> bytes:
    from cramjam import snappy

    length = snappy.decompress_raw_len(data)
    if length > _SNAPPY_EXPANSION * len(data):
        raise ValueError(f"{len(data)} bytes cannot hold {length}")
    if length > limit:
        raise _too_large(limit)
    return bytes(snappy.decompress_raw(data))


def _lz4(data: bytes, limit: int) -> bytes:
    from cramjam import DecompressionError, lz4

    most = max(_LZ4_EXPANSION * len(data), _SMALLEST_BUFFER)
    buffer = np.empty(min(most, limit), np.uint8)
    try:
        return buffer[: lz4.decompress_into(data, buffer)].tobytes()
    except DecompressionError as fault:
        if _BUFFER_TOO_SMALL in str(fault) and limit < most:
            raise _too_large(limit) from None
        raise


def _too_large(limit: int) -> DecodeError:
    return DecodeError(
        f"the decompressed bytes are more than max_decompressed_bytes={limit}",
        remedy="Raise max_decompressed_bytes if the message may be that large",
    )


def read_claim(location: str, get: Callable[[str], bytes], *, raw_value: bool = False) -> Part:
    """Return the stored message. The key is ``None`` for a protocol whose rows have none, and with ``raw_value``: the
    changefeed's ``claim-check-raw-value``. Raises the errors of ``get``, and :class:`DecodeError` if the object is not
    a stored message.
    """
    content = get(location)
    if raw_value:
        return None, content
    try:
        members = parsed(content)
        key, value = members["key"], members["value"]
        shown = None if key is None else base64.b64decode(key, validate=True)
        return shown, base64.b64decode(value, validate=True)
    except (ValueError, KeyError, TypeError) as fault:
        raise DecodeError(
            f"the object is not a stored message: {type(fault).__name__}: {fault}",
            remedy="Read it with raw_value=True if the changefeed has claim-check-raw-value = true",
            location=location,
        ) from fault


class RecordReader(EventReader):
    """Reads the records of a topic: decompresses them, and replaces rows that name a location by the stored ones.

    ``compression``: the changefeed's ``large-message-handle-compression``. ``claims``: returns a location's object;
    without it, rows stay as on Kafka. ``raw_value``: ``claim-check-raw-value``. Raises
    :class:`~ticdc_emit.errors.ConfigError`, :class:`~ticdc_emit.errors.MissingDependencyError` without cramjam.
    """

    def __init__(
        self,
        compression: str = "none",
        *,
        claims: Callable[[str], bytes] | None = None,
        raw_value: bool = False,
        max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
    ) -> None:
        self._unpacked = decompressor(compression, max_decompressed_bytes=max_decompressed_bytes)
        self._claims = claims
        self._raw_value = raw_value

    def read(self, key: bytes | None, value: bytes | None) -> Event:
        event = self._event(key, value)
        if not isinstance(event, RowEvent) or event.claim_check is None or self._claims is None:
            return event
        stored = read_claim(event.claim_check, self._claims, raw_value=self._raw_value)
        whole = self._event(*stored)
        return whole if isinstance(whole, RowEvent) else event

    @abstractmethod
    def _event(self, key: bytes | None, value: bytes | None) -> Event:
        """Return the event of a record as it is on Kafka."""


def record_options(inputs: ReaderInputs) -> dict[str, Any]:
    """Return the arguments of a changefeed's :class:`RecordReader`."""
    handle = inputs.config.codec.large_message_handle
    return {
        "compression": handle.compression,
        "claims": inputs.claims,
        "raw_value": handle.claim_check_raw_value,
        "max_decompressed_bytes": inputs.max_decompressed_bytes,
    }
