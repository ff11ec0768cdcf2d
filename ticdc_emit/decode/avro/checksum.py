"""The consumer's side of row checksums, after "TiCDC Row Data Checksum Verification Based on Avro".

In: a decoded value and its schema. Out: the checksum, or an error. The schema defines the computation: its fields up to
``_tidb_op`` are the columns in the order of their ids, each with its ``tidb_type``. The CRC32 runs over the bytes that
the document's ``buildChecksumBytes`` makes from each value.

Where the document's program is wrong or silent:

=================================  ============================================================================
the document                       here
=================================  ============================================================================
takes TIMESTAMP text as it is      TiDB's checksum is over UTC: the text is moved there from the changefeed's
                                   time zone, which the message does not tell (parameter ``time_zone``)
splits ``allowed`` at every comma  not at ``\\,``, which is a comma inside an ENUM element
looks labels up as they are        elements are shown with ``''`` and ``\\'`` as ``'``: labels are compared so
does not know VECTOR               dimensions (32 bits) and float32 values
continues after an empty value     a delete has no value, and nothing to check
ends the program at a wrong type   :class:`DecodeError`
checks ``"0"`` too                 no checksum, as in TiCDC's own verifier: each half of a split UPDATE shows it
says that columns are sorted       so only with integrity checks on; without, there is no checksum to verify
by id
=================================  ============================================================================

No consumer can know which of two elements that differ only in ``''`` and ``'`` a label is, where an ENUM element that
ends with a backslash ends, whether an empty SET contains the empty element, and the values of columns that a column
selector removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from typing import Any
from zlib import crc32

from ticdc_emit.decode.avro.schema import BEFORE, read_schema
from ticdc_emit.decode.checksum_bytes import UNSIGNED, blob, double, in_utc, text, vector, word
from ticdc_emit.decode.errors import OTHER_SCHEMAS, ChecksumMismatchError, DecodeError

__all__ = ["has_doubtful_labels", "verify_checksum"]

_CHECKSUM = "_tidb_row_level_checksum"
_FIRST_EXTENSION_FIELDS = (BEFORE, "_tidb_op")
_SEPARATOR = re.compile(r"(?<!\\),")


def verify_checksum(
    value: Mapping[str, Any] | None, schema: Mapping[str, Any] | str, time_zone: str = "UTC"
) -> int | None:
    """Check a decoded value against its checksum, and return the checksum; ``None`` if it has none.

    ``schema``: the registered schema of the value, parsed or as text. ``time_zone``: the changefeed's, of TIMESTAMP
    values. Raises :class:`ChecksumMismatchError`, and :class:`DecodeError` for a value or schema that TiCDC would not
    send.
    """
    stated = None if value is None else value.get(_CHECKSUM)
    if value is None or stated in (None, "", "0"):
        return None
    if not (isinstance(stated, str) and UNSIGNED.fullmatch(stated)):
        raise DecodeError(f"the checksum {stated!r} is not a number", field=_CHECKSUM)
    record = _record(schema)
    actual = 0
    for field in _columns(record):
        name = field["name"]
        try:
            actual = crc32(_checksum_bytes(value[name], _parameters(field), time_zone), actual)
        except (LookupError, ValueError, TypeError, OverflowError) as fault:
            raise DecodeError(
                f"the value cannot be checked: {type(fault).__name__}: {fault}", remedy=OTHER_SCHEMAS, field=name
            ) from fault
    expected = int(stated)
    if actual != expected:
        raise ChecksumMismatchError(
            f"the row's checksum is {actual}, the message says {expected}",
            remedy=f"If the changefeed does not show TIMESTAMP in {time_zone}, give its time zone",
            table=record.get("name"),
            expected=expected,
            actual=actual,
            corrupted=value.get("_tidb_corrupted"),
        )
    return expected


def has_doubtful_labels(schema: Mapping[str, Any]) -> bool:
    """Return whether a mismatch may be the fault of the schema: ``\\,`` is a comma in an element, or where one ends."""
    return any("\\," in _parameters(field).get("allowed", "") for field in _columns(schema))


def _record(schema: Mapping[str, Any] | str) -> Mapping[str, Any]:
    try:
        record: Mapping[str, Any] = read_schema(schema) if isinstance(schema, str) else schema
        [field["name"] for field in record["fields"]]
    except DecodeError:
        raise
    except (ValueError, LookupError, TypeError) as fault:
        raise DecodeError(f"the schema does not describe a table: {fault}", remedy=OTHER_SCHEMAS) from fault
    return record


def _columns(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return takewhile(lambda field: field["name"] not in _FIRST_EXTENSION_FIELDS, record["fields"])


def _parameters(field: Mapping[str, Any]) -> Mapping[str, str]:
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    described: Mapping[str, Any] = next((kind for kind in kinds if isinstance(kind, Mapping)), {})
    parameters: Mapping[str, str] = described["connect.parameters"]
    return parameters


def _checksum_bytes(value: Any, parameters: Mapping[str, str], time_zone: str) -> bytes:
    if value is None:
        return b""
    kind = parameters["tidb_type"]
    if kind == "ENUM":
        return word(1 + _elements(parameters).index(_as_allowed(value)))
    if kind == "SET":
        elements, number = _elements(parameters), 0
        for label in value.split(",") if value else ():
            number |= 1 << elements.index(_as_allowed(label))
        return word(number)
    if kind == "TIMESTAMP":
        return text(in_utc(value, time_zone))
    return _BYTES[kind](value)


def _number(value: int | str) -> bytes:
    """Return an integer, or the text of BIGINT UNSIGNED."""
    if isinstance(value, str) and not UNSIGNED.fullmatch(value):
        raise ValueError(f"{value!r} is not an unsigned number")
    return word(int(value))


def _bit(value: bytes) -> bytes:
    return int.from_bytes(value, "big").to_bytes(8, "little")


_BYTES: Mapping[str, Callable[[Any], bytes]] = {
    **dict.fromkeys(("INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "YEAR"), _number),
    **dict.fromkeys(("FLOAT", "DOUBLE"), double),
    **dict.fromkeys(("DECIMAL", "TEXT", "JSON", "DATE", "DATETIME", "TIME"), text),
    "BIT": _bit,
    "BLOB": blob,
    "TiDBVECTORFloat32": vector,
}


def _elements(parameters: Mapping[str, str]) -> list[str]:
    return _SEPARATOR.split(parameters["allowed"])


def _as_allowed(label: str) -> str:
    """Return a label as it is in ``allowed`` (pkg/sink/codec/common: EscapeEnumAndSetOptions)."""
    return label.replace(",", "\\,").replace("\\'", "'").replace("''", "'")
