"""Messages that are too large, and compression: from plain messages to those that go out.

Objects are not stored here: they go out beside the messages, as ``Encoded.claims``. Rule sources: semantics 2.0.7,
2.0.8, 4.9; ``pingcap/tiflow: pkg/sink/codec/canal/canal_json_row_event_encoder.go``,
``pkg/sink/codec/simple/encoder.go``, ``pkg/sink/kafka/claimcheck/claim_check.go``, ``pkg/compression/compress.go``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Literal, TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.codec import Codec, ControlMessage, Packing, PackingCodec, ReducibleRows, one_row_messages
from ticdc_emit.changes.model import MESSAGE_OVERHEAD, Changes, Encoded, RowEncoder
from ticdc_emit.config import DEFAULT_MAX_MESSAGE_BYTES, ChangefeedConfig
from ticdc_emit.config.uri import StorageUri
from ticdc_emit.delivery.claims import Claim
from ticdc_emit.errors import MessageTooLargeError, RowError, importing

_FASTEST = 0  # the level of TiCDC's lz4
_OWN_LIMIT, _TOPICS_LIMIT = "max-message-bytes in the sink URI", "the topic's max.message.bytes"


ClaimNames: TypeAlias = Callable[[Changes, int, "bytes | None", bytes], str]
"""Returns the name of a stored object without its ``.json``: of the message of the change at an index, with its key and
its value before compression.
"""


@dataclass(frozen=True)
class SeededNames:
    """Names that look like TiCDC's random UUIDs, and are the same for the same message wherever it is encoded."""

    seed: bytes = b""

    def __call__(self, changes: Changes, index: int, key: bytes | None, value: bytes) -> str:
        """Return a UUID of version 4, drawn from the seed and the message."""
        table = changes.table_of(index)
        parts = (
            self.seed,
            table.schema.encode(),
            table.name.encode(),
            b"%d" % changes.commit_ts[index].as_py(),
            key or b"",
            value,
        )
        drawn = blake2b(digest_size=16)
        for part in parts:
            drawn.update(b"%d:" % len(part))
            drawn.update(part)
        return str(UUID(bytes=drawn.digest(), version=4))


@dataclass(frozen=True)
class LargeMessages:
    """The large-message options of a changefeed, resolved: picklable, and the same for every worker.

    ``max_message_bytes`` bounds key, value and the record's overhead, where several rows share a message
    ``max_packed_bytes``. ``option`` is "unknown" for one that the release does not know. ``storage``: what messages say
    of the objects' folder. ``raw_value``: whether an object is the value itself, or JSON with key and value.
    """

    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    option: str = "none"
    compression: str = "none"
    compressed_parts: tuple[str, ...] = ()
    storage: str = ""
    raw_value: bool = False
    names: ClaimNames = SeededNames()
    packing: Packing | None = None
    max_packed_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    limit_name: str = _OWN_LIMIT

    @classmethod
    def of(
        cls,
        config: ChangefeedConfig,
        codec: Codec,
        *,
        message_limit: int | None = None,
        names: ClaimNames | None = None,
    ) -> LargeMessages:
        """Resolve a configuration; ``message_limit``: the largest message that the topics take. Raises ConfigError."""
        handle, limit = config.codec.large_message_handle, config.codec.max_message_bytes
        largest = limit if message_limit is None else min(limit, message_limit)
        if message_limit is not None and config.release.delivery.message_limit == "topic":
            largest = message_limit
        parts = codec.compressed_parts if handle.compression != "none" else ()
        if parts:
            compressor(handle.compression)  # refused here rather than by a worker
        uri = handle.claim_check_storage_uri
        return cls(
            largest,
            handle.option if handle.is_known else "unknown",
            handle.compression,
            parts,
            StorageUri.parse(uri.reveal()).location if handle.claim_check and uri is not None else "",
            handle.claim_check_raw_value,
            # of one message, feeds with other options store other bytes
            names or SeededNames(f"{handle.compression} {parts} {handle.claim_check_raw_value}".encode()),
            codec.packing if isinstance(codec, PackingCodec) else None,
            min(limit, largest),
            _OWN_LIMIT if largest == limit else _TOPICS_LIMIT,
        )

    def encode(self, changes: Changes, plain: Encoded | None = None) -> Encoded:
        """Return each change's message as it goes out, from ``plain`` if known; MessageTooLargeError if it cannot."""
        encoder = changes.encoder
        plain = encoder.encode(changes) if plain is None else plain
        encoded = self._compressed(plain)
        if not encoder.refuses_large:
            return encoded
        large = self._too_large(encoded)
        if not len(large):
            return encoded
        handling = self._handling(encoder)
        if handling == "keep":
            return encoded
        if not isinstance(encoder, ReducibleRows):
            raise self._refusal(encoded, changes, large, f"Raise {self.limit_name}")
        if handling == "refuse":
            remedy = f"Raise {self.limit_name}, or set large-message-handle-option"
            raise self._refusal(encoded, changes, large, remedy)
        rows = pa.array(large)
        few = changes.take(rows)
        claims = self._claims(few, plain.take(rows), encoded.take(rows)) if handling == "claim-check" else ()
        reduced = self._compressed(encoder.reduced(few, [claim.location for claim in claims] if claims else None))
        still = self._too_large(reduced)
        if len(still):
            remedy = f"Raise {self.limit_name}: its handle key alone is too large"
            raise self._refusal(reduced, few, still, remedy)
        placed = tuple(zip(large.tolist(), claims, strict=False))
        return replace(_in_place(encoded, large, reduced), claims=placed)

    def control(
        self, message: ControlMessage, context: Mapping[str, object] | None, what: str = "message"
    ) -> ControlMessage:
        """Return a control message as it goes out; ``context``: what the error of one beyond the limit names."""
        key, value = message.key, message.value
        if not self.compressed_parts and context is None:
            return message
        if "key" in self.compressed_parts and key is not None:
            key = compressor(self.compression)(key)
        if "value" in self.compressed_parts:
            value = self._compressed_values(pa.array([value], pa.binary()))[0].as_py()
        length = len(key or b"") + len(value) + MESSAGE_OVERHEAD
        if context is not None and length > self.max_message_bytes:
            raise self._error(length, self.schema_remedy, what, **context)
        return replace(message, key=key, value=value)

    @property
    def schema_remedy(self) -> str:
        """What helps where the message of a DDL or of a table's schema is too large."""
        return f"Raise {self.limit_name}: large-message-handle-option is for rows only"

    def _handling(self, encoder: RowEncoder) -> Literal["refuse", "keep", "handle-key-only", "claim-check"]:
        if self.option == "claim-check":
            return "claim-check"
        if self.option == "handle-key-only":
            return "handle-key-only"
        if self.option == "none" or not isinstance(encoder, ReducibleRows):
            return "refuse"
        return "handle-key-only" if encoder.reduces_by_any_option else "keep"

    def _compressed(self, plain: Encoded) -> Encoded:
        if not self.compressed_parts:
            return plain
        values, keys = plain.whole().values, plain.keys
        if "value" in self.compressed_parts:
            values = self._compressed_values(values)
        if "key" in self.compressed_parts:
            keys = compressed(plain.filled_keys(), compressor(self.compression))
        return Encoded(values, keys)

    def _compressed_values(self, values: pa.Array) -> pa.Array:
        compress = compressor(self.compression)
        if self.packing is None:
            return compressed(values, compress)
        return self.packing.changed(values, lambda said: compressed(said, compress))

    @cached_property
    def _overhead(self) -> int:
        return MESSAGE_OVERHEAD + (0 if self.packing is None else self.packing.shared)

    def _too_large(self, encoded: Encoded) -> npt.NDArray[np.int64]:
        arrays = [encoded.values] if encoded.keys is None else [encoded.keys, encoded.values]
        together = sum(array.get_total_buffer_size() for array in arrays)  # or more than their own bytes
        room = self.max_message_bytes - self._overhead
        if encoded.ends is None and together <= room:
            return np.zeros(0, np.int64)
        return np.flatnonzero(encoded.lengths() > room)

    def _claims(self, changes: Changes, plain: Encoded, encoded: Encoded) -> tuple[Claim, ...]:
        plain, encoded = one_row_messages(plain, self.packing), one_row_messages(encoded, self.packing)
        keys = [None] * len(encoded) if encoded.keys is None else encoded.keys.to_pylist()
        plain_keys = [None] * len(encoded) if plain.keys is None else plain.keys.to_pylist()
        rows = zip(plain_keys, plain.whole().values.to_pylist(), keys, encoded.whole().values.to_pylist(), strict=True)
        return tuple(
            Claim(
                f"{self.storage}/{self.names(changes, index, plain_key, plain_value)}.json",
                value if self.raw_value else _key_and_value(key, value),
            )
            for index, (plain_key, plain_value, key, value) in enumerate(rows)
        )

    def _refusal(self, encoded: Encoded, changes: Changes, rows: npt.NDArray[np.int64], remedy: str) -> RowError:
        lengths = encoded.lengths()[rows] + self._overhead
        image, table = changes.current, changes.table.full_name
        return image.refused(
            rows, lambda n: self._error(int(lengths[n]), remedy, table=table, row=image.row_key(int(rows[n])))
        )

    def _error(self, length: int, remedy: str, what: str = "message", **context: object) -> MessageTooLargeError:
        limit = "max-message-bytes" if self.limit_name == _OWN_LIMIT else "the topic's limit"
        return MessageTooLargeError(
            f"{what} is too large: {length} bytes, {limit} is {self.max_message_bytes}",
            remedy=remedy,
            code="CDC:ErrMessageTooLarge",
            **context,
            length=length,
        )


def _in_place(encoded: Encoded, rows: Iterable[int], others: Encoded) -> Encoded:
    places = np.fromiter(rows, np.int64)
    kept = np.delete(np.arange(len(encoded)), places)
    order = np.empty(len(encoded), np.int64)
    order[kept] = np.arange(len(kept))
    order[places] = np.arange(len(kept), len(encoded))
    rest = encoded.take(pa.array(kept))
    values = pa.concat_arrays([rest.values, others.values])
    keys = None
    if encoded.keys is not None or others.keys is not None:
        keys = pa.concat_arrays([rest.filled_keys(), others.filled_keys()])
    return Encoded(values, keys).take(pa.array(order))


def _key_and_value(key: bytes | None, value: bytes) -> bytes:
    """Return an object's JSON as Go's ``encoding/json`` writes it: bytes in base64, no key as null."""
    shown = b"null" if key is None else b'"' + base64.b64encode(key) + b'"'
    return b'{"key":%s,"value":"%s"}' % (shown, base64.b64encode(value))


def compressor(name: str) -> Callable[[bytes], bytes]:
    """Return what compresses one message: ``snappy`` in the raw block format, ``lz4`` in frames with a checksum."""
    with importing(f"the compression {name} needs cramjam", extra="compression"):
        import cramjam
    if name == "snappy":
        return lambda message: bytes(cramjam.snappy.compress_raw(message))
    return lambda message: bytes(cramjam.lz4.compress(message, level=_FASTEST))


def compressed(messages: pa.Array, compress: Callable[[bytes], bytes]) -> pa.Array:
    """Return each message compressed, ``binary``; null stays null."""
    packed = (None if message is None else compress(message) for message in messages.to_pylist())
    return pa.array(list(packed), pa.binary())
