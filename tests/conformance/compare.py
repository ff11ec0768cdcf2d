"""Compare the library's output with TiCDC's, and describe the first difference.

In: two :class:`Outcome`, or two JSON-like trees. Out: ``None``, or text that names the place; for bytes, the offset of
the first difference with both sides around it. Compressed messages are compared after decompression, because two
compressors need not write the same bytes, those of Open Protocol row by row; data that cannot be decompressed stays as
it is, and so differs. What a run leaves out, and the report names, depends on what TiCDC encoded before.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, zip_longest
from typing import Any

from ticdc_emit.config import Release
from ticdc_emit.pipeline.plan.large_messages import LargeMessages
from ticdc_emit.protocols.decoder import decompressor
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.protocols.open_protocol.schema import LENGTH_BYTES, frame
from ticdc_emit.registry.base import SchemaPost
from ticdc_emit.registry.confluent import registration_request

from .vectors import Outcome, Record, Target

_OK = 200
_STABLE_ROWS = 12  # Go sorts up to this many by insertion, which keeps the order of equal elements
_BEFORE, _AFTER = 36, 48  # bytes of context around the first difference


def free_runs(event: Mapping[str, Any], release: Release) -> tuple[int, ...]:
    """Return the lengths of the runs of messages in which TiCDC's own order is accidental, if there are any.

    Those are the deletes, updates and inserts of a transaction that TiCDC sorted because it split an update of it.
    """
    emitted = event.get("emitted") or ()
    by_kind = release.transactions.split_order == "by-kind"
    if not by_kind or len(emitted) <= _STABLE_ROWS or len(emitted) == len(event["rows"]):
        return ()
    return tuple(len(list(run)) for _, run in groupby(row["op"] for row in emitted))


def compare_outcomes(expected: Outcome, got: Outcome, *, dml: bool, runs: Sequence[int] = ()) -> str | None:
    """Return the difference; ``None`` if there is none.

    A refusal matches any deliberate error of the library; a crash matches one of any row. ``dml``: a null key means a
    key of zero length. ``runs``: lengths of runs of messages that may come in any order (see :func:`free_runs`).
    """
    if got.crashed:
        return f"the library crashed: {got.error}"
    if expected.error is not None:
        if got.error is not None or (expected.crashed and any(record.error for record in got.records)):
            return None
        return f"TiCDC refuses this ({expected.error}), the library gave {_count(got)}"
    if got.error is not None:
        return f"the library refuses this: {got.error}"
    wanted = [_with_key(record) if dml else record for record in expected.records]
    found = _aligned(wanted, got.records, runs) if sum(runs) == len(wanted) == len(got.records) else got.records
    for place, (left, right) in enumerate(zip(wanted, found, strict=False)):
        difference = _record_difference(left, right)
        if difference:
            return difference if len(expected.records) == 1 else f"message {place}: {difference}"
    if len(expected.records) != len(got.records):
        return f"TiCDC gives {_count(expected)}, the library {_count(got)}"
    return None


def _count(outcome: Outcome) -> str:
    number = len(outcome.records)
    return "no message" if number == 0 else f"{number} message{'s' if number > 1 else ''}"


def _with_key(record: Record) -> Record:
    return record._replace(key=b"") if record.key is None and record.error is None else record


def _aligned(expected: Sequence[Record], got: Sequence[Record], runs: Iterable[int]) -> list[Record]:
    """Return the messages, with those of each run in the expected order if they are among the expected ones."""
    aligned: list[Record] = []
    for length in runs:
        start = len(aligned)
        left = list(got[start : start + length])
        placed: list[Record | None] = []
        for record in expected[start : start + length]:
            place = next((place for place, each in enumerate(left) if _record_difference(record, each) is None), None)
            placed.append(None if place is None else left.pop(place))
        aligned += [record or left.pop(0) for record in placed]
    return aligned


def _record_difference(expected: Record, got: Record) -> str | None:
    if expected.error is not None and got.error is not None:
        return None
    if expected.error is not None:
        return f"TiCDC refuses this ({expected.error}), the library gave a message"
    if got.error is not None:
        return f"the library refuses this: {got.error}"
    for part, left, right in (("key", expected.key, got.key), ("value", expected.value, got.value)):
        if left != right:
            return byte_diff(left, right, part)
    # a file need not record the stored objects; the value shows whether there is one
    if expected.claim is not None and expected.claim != got.claim:
        return byte_diff(expected.claim, got.claim, "claim")
    return None


def byte_diff(expected: bytes | None, got: bytes | None, what: str) -> str:
    """Return where two byte strings begin to differ, with both sides around that place and a caret below it."""
    if expected is None or got is None:
        return "\n".join(
            (
                f"{what} differs: one side is null",
                f"  expected  {_shortened(expected)}",
                f"  got       {_shortened(got)}",
            )
        )
    shorter = min(len(expected), len(got))
    at = next((place for place in range(shorter) if expected[place] != got[place]), shorter)
    start = max(at - _BEFORE, 0)
    lead = "…" if start else ""
    pointer = " " * (len(lead) + len(_printable(expected[start:at])))
    return "\n".join(
        (
            f"{what} differs at byte {at} (expected {len(expected)} bytes, got {len(got)})",
            f"  expected  {lead}{_window(expected, start, at)}",
            f"  got       {lead}{_window(got, start, at)}",
            f"            {pointer}^",
        )
    )


def _window(data: bytes, start: int, at: int) -> str:
    end = at + _AFTER
    tail = "…" if end < len(data) else " (ends here)" if at >= len(data) else ""
    return _printable(data[start:end]) + tail


def _shortened(data: bytes | None) -> str:
    if data is None:
        return "null"
    if not data:
        return "(zero bytes)"
    return _printable(data[: _BEFORE + _AFTER]) + ("…" if len(data) > _BEFORE + _AFTER else "")


def _printable(data: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in data)


def compare_targets(expected: Sequence[Target], got: Sequence[Target]) -> str | None:
    """Return the difference between the targets of an event's rows in TiCDC and in the library; ``None`` if there is
    none.
    """
    for place, (left, right) in enumerate(zip(expected, got, strict=False)):
        wanted = left._asdict()
        if left.panic and right.error is not None:
            wanted["error"] = right.error
        for name in ("topic", "partition", "error"):
            if wanted[name] != getattr(right, name):
                where = "" if len(expected) == 1 else f"target {place}: "
                return f"{where}{name}: got {getattr(right, name)!r}, expected {wanted[name]!r}"
    if len(expected) != len(got):
        return f"TiCDC gives {len(expected)} targets, the library {len(got)}"
    return None


def compare_registration(expected: Mapping[str, Any] | None, got: SchemaPost | None) -> str | None:
    """Return the difference between a recorded request to the schema registry and ours; ``None`` if there is none."""
    if got is None:
        return f"TiCDC registers {expected['subject'] if expected else 'nothing'}, the library nothing"
    if expected is None:
        return f"the library registers {got.subject}, TiCDC nothing"
    request = registration_request(got.subject, got.schema)
    if got.schema != expected["schema"]:
        return byte_diff(expected["schema"].encode(), got.schema.encode(), "schema")
    shown = {
        "subject": got.subject,
        "id": got.id,
        "status": None if got.status == _OK else got.status,
        "escaped_path": request.path,
        "accept": request.headers["Accept"],
        "content_type": request.headers["Content-Type"],
    }
    for name, value in shown.items():
        if value != expected.get(name):
            return f"{name}: got {value!r}, expected {expected.get(name)!r}"
    return None


def first_difference(got: Any, expected: Any, path: str = "") -> str | None:
    """Return the first difference between two trees of dicts and lists; ``None`` if they are equal."""
    if isinstance(got, Mapping) and isinstance(expected, Mapping):
        for name in sorted(got.keys() | expected.keys()):
            place = f"{path}.{name}" if path else name
            if name not in got or name not in expected:
                side, tree = ("missing here", expected) if name not in got else ("only here", got)
                return f"{place}: {side}: {tree[name]!r}"
            difference = first_difference(got[name], expected[name], place)
            if difference:
                return difference
        return None
    if _is_list(got) and _is_list(expected):
        for index, (left, right) in enumerate(zip(got, expected, strict=False)):
            difference = first_difference(left, right, f"{path}[{index}]")
            if difference:
                return difference
        if len(got) != len(expected):
            return f"{path}: {len(got)} entries, expected {len(expected)}"
        return None
    # 1 == True and 1 == 1.0 in Python, not on the wire
    if type(got) is type(expected) and got == expected:
        return None
    return f"{path}: got {got!r}, expected {expected!r}"


def _is_list(tree: Any) -> bool:
    return isinstance(tree, Sequence) and not isinstance(tree, (str, bytes))


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
        value = _plain_value(value, large)
    if claim is not None:
        claim = _plain_value(claim, large) if large.raw_value else _plain_members(claim, large)
    return record._replace(key=key, value=value, claim=claim)


def _decompressed(data: bytes | None, large: LargeMessages) -> bytes | None:
    try:
        return None if data is None else decompressor(large.compression)(data)
    except DecodeError:
        return data


def _plain_value(data: bytes | None, large: LargeMessages) -> bytes | None:
    """Return a value without compression; of a message of several rows, each in its frame (its length, and itself)."""
    if data is None or large.packing is None:
        return _decompressed(data, large)
    rest, plain = data, b""
    while rest:
        length = int.from_bytes(rest[:LENGTH_BYTES], "big")
        content, rest = rest[LENGTH_BYTES : LENGTH_BYTES + length], rest[LENGTH_BYTES + length :]
        if len(content) < length:
            return data  # no frame
        plain += frame(_decompressed(content, large) or b"")
    return plain


def _plain_members(claim: bytes, large: LargeMessages) -> bytes | None:
    """Return an object's JSON with its compressed members replaced in place, so that the rest is compared too."""
    try:
        members = json.loads(claim)
        for name in large.compressed_parts:
            if members[name]:
                given = members[name].encode()
                plain = (_plain_value if name == "value" else _decompressed)(base64.b64decode(given), large) or b""
                claim = claim.replace(given, base64.b64encode(plain))
    except (ValueError, KeyError, TypeError, AttributeError):
        return claim
    return claim


SHARED_SUBJECT = "rows that TiCDC writes with another table's schema (one subject, one version, other fields): refused"
"""It corrupts data."""

KEPT_FLAGS = "rows that TiCDC shows with the flags of columns from before a statement that it did not send"
"""Open Protocol of the next lineage keeps a table's flags until a statement of it is encoded."""

_FLAGS = re.compile(rb'"f":\d+')


def are_borrowing(expected: Outcome, header: bytes) -> bool:
    """Return whether TiCDC wrote every message of an event with the schema of this header, in its key or value."""
    parts = ((record.key or b"", record.value or b"") for record in expected.records)
    return bool(expected.records) and all(any(part.startswith(header) for part in each) for each in parts)


def differ_in_flags(expected: Outcome, got: Outcome) -> bool:
    """Return whether messages of Open Protocol are the same but for the flags of their columns."""
    empty = Record(None, None)
    return expected.error is None and all(
        left.key == right.key and _without_flags(left) == _without_flags(right)
        for left, right in zip_longest(expected.records, got.records, fillvalue=empty)
    )


def _without_flags(record: Record) -> bytes:
    """Return a value without its flags, and without its frame, which is longer for longer flags."""
    return _FLAGS.sub(b"", (record.value or b"")[8:])
