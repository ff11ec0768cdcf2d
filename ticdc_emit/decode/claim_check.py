"""Whole messages that a claim-check storage holds, read back.

In: the location that a message on Kafka names (``claimCheckLocation``), and what gives an object's bytes
(``delivery.claim_check.ClaimStore.get``, or a consumer's own). Out: key and value as a message that is not too large
would have them on Kafka, still compressed: a reader of the protocol takes them. Rule sources: "TiCDC Canal-JSON
Protocol"; reference ``pingcap/tiflow: pkg/sink/codec/common/message.go`` (ClaimCheckMessage).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import NamedTuple

from ticdc_emit.decode.errors import DecodeError

__all__ = ["ClaimedMessage", "read_claim"]


class ClaimedMessage(NamedTuple):
    """A stored message. The key is ``None`` for a protocol whose rows have none, and with ``claim-check-raw-value``."""

    key: bytes | None
    value: bytes


def read_claim(location: str, get: Callable[[str], bytes], *, raw_value: bool = False) -> ClaimedMessage:
    """Return the stored message. ``raw_value``: the changefeed's ``claim-check-raw-value``.

    Raises what ``get`` does, and :class:`DecodeError` for an object that is none.
    """
    content = get(location)
    if raw_value:
        return ClaimedMessage(None, content)
    try:
        members = json.loads(content)
        key, value = members["key"], members["value"]
        shown = None if key is None else base64.b64decode(key, validate=True)
        return ClaimedMessage(shown, base64.b64decode(value, validate=True))
    except (ValueError, KeyError, TypeError) as fault:
        raise DecodeError(
            f"the object is no stored message: {type(fault).__name__}: {fault}",
            remedy="Read it with raw_value=True if the changefeed says claim-check-raw-value",
            location=location,
        ) from fault
