"""Decompress messages before comparing them, because two compressors need not write the same bytes.

In: :class:`Record` of either side, and a plan's settings for large messages. Out: the records with keys, values and
stored objects before compression. Data that cannot be decompressed stays as it is, and so differs.
"""

from __future__ import annotations

import base64
import json

from ticdc_emit.conformance.vectors import Outcome, Record
from ticdc_emit.pipeline.large_messages import LargeMessages
from ticdc_emit.protocols.decoded import DecodeError
from ticdc_emit.protocols.whole_messages import decompress

__all__ = ["plain_outcome"]


def plain_outcome(outcome: Outcome, large: LargeMessages) -> Outcome:
    """Return an outcome without compression; the same object if there is none."""
    if not large.compressed_parts:
        return outcome
    return Outcome(
        tuple(_plain(record, large) for record in outcome.records), outcome.error, outcome.crashed, outcome.left_out
    )


def _plain(record: Record, large: LargeMessages) -> Record:
    key, value, claim = record.key, record.value, record.claim
    if "key" in large.compressed_parts:
        key = _decompressed(key, large)
    if "value" in large.compressed_parts:
        value = _decompressed(value, large)
    if claim is not None:
        claim = _decompressed(claim, large) if large.raw_value else _plain_members(claim, large)
    return record._replace(key=key, value=value, claim=claim)


def _decompressed(data: bytes | None, large: LargeMessages) -> bytes | None:
    try:
        return None if data is None else decompress(data, large.compression)
    except DecodeError:
        return data


def _plain_members(claim: bytes, large: LargeMessages) -> bytes | None:
    """Return an object's JSON with its compressed members replaced in place, so that the rest is compared too."""
    try:
        members = json.loads(claim)
        for name in large.compressed_parts:
            if members[name]:
                given = members[name].encode()
                plain = _decompressed(base64.b64decode(given), large) or b""
                claim = claim.replace(given, base64.b64encode(plain))
    except (ValueError, KeyError, TypeError, AttributeError):
        return claim
    return claim
