"""Read whole messages from a claim-check storage.

In: the location in a message on Kafka (``claimCheckLocation``), and a function that returns an object's bytes
(``delivery.ClaimStore.get``, or a consumer's own). Out: key and value as they would be on Kafka, still compressed, for
a reader of the protocol. Rule sources: "TiCDC Canal-JSON Protocol"; reference ``pingcap/tiflow:
pkg/sink/codec/common/message.go`` (ClaimCheckMessage).
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from ticdc_emit.decode.errors import DecodeError
from ticdc_emit.json_depth import parsed

__all__ = ["ClaimedMessage", "Claims", "read_claim"]


class _Claiming(Protocol):
    @property
    def claim_check(self) -> str | None: ...


_Row = TypeVar("_Row", bound=_Claiming)


class ClaimedMessage(NamedTuple):
    """A stored message. The key is ``None`` for a protocol whose rows have none, and with ``claim-check-raw-value``."""

    key: bytes | None
    value: bytes


def read_claim(location: str, get: Callable[[str], bytes], *, raw_value: bool = False) -> ClaimedMessage:
    """Return the stored message. ``raw_value``: the changefeed's ``claim-check-raw-value``.

    Raises the errors of ``get``, and :class:`DecodeError` if the object is not a stored message.
    """
    content = get(location)
    if raw_value:
        return ClaimedMessage(None, content)
    try:
        members = parsed(content)
        key, value = members["key"], members["value"]
        shown = None if key is None else base64.b64decode(key, validate=True)
        return ClaimedMessage(shown, base64.b64decode(value, validate=True))
    except (ValueError, KeyError, TypeError) as fault:
        raise DecodeError(
            f"the object is not a stored message: {type(fault).__name__}: {fault}",
            remedy="Read it with raw_value=True if the changefeed has claim-check-raw-value = true",
            location=location,
        ) from fault


class Claims:
    """Replaces rows that name a location by the stored ones.

    ``get``: returns the object; ``None``: rows stay as they are on Kafka. ``read``: the protocol's reader.
    """

    def __init__(
        self,
        get: Callable[[str], bytes] | None,
        read: Callable[[bytes | None, bytes | None], object],
        *,
        raw_value: bool,
    ) -> None:
        self._get = get
        self._read = read
        self._raw_value = raw_value

    def whole(self, row: _Row) -> _Row:
        """Return the stored row for a row that names it; any other row unchanged. Raises the errors of
        :func:`read_claim`.
        """
        if row.claim_check is None or self._get is None:
            return row
        stored = read_claim(row.claim_check, self._get, raw_value=self._raw_value)
        whole = self._read(stored.key, stored.value)
        return whole if isinstance(whole, type(row)) else row
