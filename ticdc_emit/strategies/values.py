"""Values of columns as canonical text (docs/types.md).

In: a column of a catalog. Out: a strategy of the texts that its row changes may have, the limits of the type included.
Documents and VECTOR's numbers are printed as TiDB prints them with only Python's own printing and nothing of the
encoders, so an error there is not repeated here. Rule sources: pingcap/tidb ``pkg/types/json_binary.go``
(``marshalTo``: keys in the order of their bytes, ``", "`` and ``": "`` between items; ``marshalFloat64To``),
``pkg/types/vector.go`` (``String``).
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import struct
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache
from itertools import compress
from typing import Any, TypeAlias

from hypothesis import strategies as st

from ticdc_emit.errors import StrategyError
from ticdc_emit.schema.defaults import float_text, time_zone_of
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.charsets import python_codec
from ticdc_emit.sql.types import CHAR_TYPES, INTEGER_TYPES, STRING_TYPES, MySQLType, integer_range

__all__ = ["document_text", "single_text", "values"]


_FIXED_FROM, _FIXED_BELOW = 1e-15, 1e15
_SINGLE_DIGITS = 9  # enough digits for every float32
_GO_TIE, _GO_TIE_TEXT = 2.0**-12, "0.00024414063"  # here Go does not choose the even one of two shortest texts


def document_text(value: Any) -> str:
    """Return a document: ``None``, a bool, an integer of 64 bits, a finite float, text, a list, a dict of these."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)}: {document_text(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(document_text, value)) + "]"
    if isinstance(value, float):
        return _double(value)
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _double(value: float) -> str:
    if value and not _FIXED_FROM <= abs(value) < _FIXED_BELOW:
        mantissa, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
        return f"{mantissa}e{int(exponent)}"
    fixed = f"{Decimal(repr(value)):f}"
    return fixed if "." in fixed else f"{fixed}.0"


def single_text(value: float) -> str:
    """Return a finite float32 in the fewest digits that identify it, without an exponent."""
    if abs(value) == _GO_TIE:
        return _GO_TIE_TEXT if value > 0 else f"-{_GO_TIE_TEXT}"
    exact = Decimal(value)
    for digits in range(1, _SINGLE_DIGITS + 1):
        last = Decimal(1).scaleb(exact.adjusted() + 1 - digits)
        # below a power of two, the next float32 is nearer than above it
        around = (exact.quantize(last, rounding) for rounding in (ROUND_FLOOR, ROUND_CEILING))
        if texts := [text for text in around if _single(float(text)) == value]:
            nearest = min(texts, key=lambda text: (abs(text - exact), text.as_tuple().digits[-1] % 2))
            return f"{nearest.normalize():f}"
    raise AssertionError(value)


def _single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:  # rounded up beyond the greatest float32
        return float("inf")


_Texts: TypeAlias = "st.SearchStrategy[str]"

_LONGEST = 40
"""The maximum number of characters or bytes of a value; a column may allow more."""

_WIDEST_CHARACTER = 4
_TRICKY = ["null", "NULL", "'", '"', "\\", "\\N", "<&>", "\n\r\t", "\0", "\u2028", "é", "中", "😀", "0", " "]
_UTF8_3_LAST = 0xFFFF
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_LAST_TIMESTAMP_S = (1 << 31) - 1
_MAX_TIME_S = 838 * 3600 + 59 * 60 + 59
_YEARS = (1901, 2155)
_HALF_DAYS = ["2024-00-00", "2024-05-00", "0000-05-05"]
_MOST_DIMENSIONS = 3  # if the column does not define it


def values(column: Column, *, time_zone: str = "UTC", allow_zero_dates: bool = True) -> st.SearchStrategy[str | None]:
    """Return values of ``column`` in canonical text; ``None``, for NULL, if it is nullable.

    ``time_zone``: the changefeed's, for TIMESTAMP. ``allow_zero_dates``: also days such as ``0000-00-00`` and
    ``2024-00-00``. Raises :class:`~ticdc_emit.errors.StrategyError` for a type that rows cannot have, and for an
    unknown time zone.
    """
    try:
        zone = time_zone_of(time_zone)
    except ValueError as fault:
        raise StrategyError(str(fault), remedy="Give a name such as Asia/Tokyo", argument="time_zone") from None
    return _values(column, zone, allow_zero_dates)


@lru_cache(maxsize=4096)
def _values(column: Column, zone: dt.tzinfo, zero: bool) -> st.SearchStrategy[str | None]:
    texts = _texts(column, zone, zero)
    return st.none() | texts if column.nullable else texts


def _texts(column: Column, zone: dt.tzinfo, zero: bool) -> _Texts:
    kind, fsp = column.type, column.fraction_digits
    if kind in INTEGER_TYPES:
        return _whole(*integer_range(kind, unsigned=column.unsigned))
    if kind in STRING_TYPES:
        return _binary(column) if column.is_binary else _characters(column)
    if kind is MySQLType.DATETIME:
        return _moments(fsp, zero)
    if kind is MySQLType.TIMESTAMP:
        return _instants(fsp, zone, zero)
    if kind in _BY_TYPE:
        return _BY_TYPE[kind](column)
    if kind is MySQLType.DATE:
        return _days() | st.sampled_from(["0000-00-00", *_HALF_DAYS]) if zero else _days()
    raise StrategyError(
        f"no row has a value of the type {kind.name}", remedy="Leave the column out", column=column.name
    )


def _whole(low: int, high: int) -> _Texts:
    return (st.integers(low, high) | st.sampled_from([low, high])).map(str)


# -- numbers ---------------------------------------------------------------------------------------------------------


def _decimals(column: Column) -> _Texts:
    scale, greatest = column.fraction_digits, 10**column.flen - 1
    least = 0 if column.unsigned else -greatest

    def text(unscaled: int) -> str:
        digits = str(abs(unscaled)).rjust(scale + 1, "0")
        return ("-" if unscaled < 0 else "") + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)

    return (st.integers(least, greatest) | st.sampled_from([least, greatest])).map(text)


def _floats(column: Column) -> _Texts:
    single = column.type is MySQLType.FLOAT
    if column.decimal >= 0:  # FLOAT(M,D) keeps D digits
        return _decimals(column).map(lambda text: float_text(float(text), single=single))
    finite = st.floats(
        0.0 if column.unsigned else None, allow_nan=False, allow_infinity=False, width=32 if single else 64
    )
    return finite.map(lambda value: float_text(value, single=single))


def _vectors(column: Column) -> _Texts:
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False).map(single_text)
    least, most = (column.flen, column.flen) if column.flen > 0 else (0, _MOST_DIMENSIONS)
    return st.lists(numbers, min_size=least, max_size=most).map(lambda texts: f"[{','.join(texts)}]")


# -- characters and bytes --------------------------------------------------------------------------------------------


def _characters(column: Column) -> _Texts:
    room = column.flen if column.flen >= 0 else _LONGEST
    longest = min(room if column.type in CHAR_TYPES else room // _WIDEST_CHARACTER, _LONGEST)
    codec, greatest = python_codec(column.charset), _UTF8_3_LAST if column.charset == "utf8" else None
    if column.charset == "ascii":
        codec = "ascii"
    letters = st.characters(codec=codec, max_codepoint=greatest, exclude_categories=["Cs"])
    tricky = [text for text in _TRICKY if len(text) <= longest and _fits(text, codec, greatest)]
    texts = st.text(letters, max_size=longest)
    texts = texts | st.sampled_from(tricky) if tricky else texts
    return texts.map(lambda text: text.rstrip(" ")) if column.type is MySQLType.STRING else texts


def _fits(text: str, codec: str, greatest: int | None) -> bool:
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        return False
    return greatest is None or max(map(ord, text)) <= greatest


def _binary(column: Column) -> _Texts:
    room = column.flen if column.flen >= 0 else _LONGEST
    padding = column.flen if column.type is MySQLType.STRING else 0
    return st.binary(max_size=min(room, _LONGEST)).map(lambda raw: base64.b64encode(raw.ljust(padding, b"\0")).decode())


def _documents(column: Column) -> _Texts:
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(_TRICKY)
    numbers = st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.none() | st.booleans() | numbers | texts
    documents = st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=5
    )
    return documents.map(document_text)


def _labels(column: Column) -> _Texts:
    if column.type is MySQLType.ENUM:
        return st.sampled_from(column.elems)
    labels = [label for label in column.elems if label]  # an empty SET equals no label
    chosen = st.lists(st.booleans(), min_size=len(labels), max_size=len(labels))
    return chosen.map(lambda flags: ",".join(compress(labels, flags)))


# -- times -----------------------------------------------------------------------------------------------------------


def _days() -> _Texts:
    return st.dates().map(dt.date.isoformat)


def _moments(fsp: int, zero: bool) -> _Texts:
    clocks = st.tuples(st.integers(0, 86399).map(_clock), _fractions(fsp)).map("".join)
    moments = st.tuples(_days(), clocks).map(" ".join)
    if not zero:
        return moments
    return moments | st.just(_zero_moment(fsp)) | st.tuples(st.sampled_from(_HALF_DAYS), clocks).map(" ".join)


def _instants(fsp: int, zone: dt.tzinfo, zero: bool) -> _Texts:
    def shown(second: int) -> str:
        return (_EPOCH + dt.timedelta(seconds=second)).astimezone(zone).replace(tzinfo=None).isoformat(" ")

    seconds = st.integers(1, _LAST_TIMESTAMP_S) | st.sampled_from([1, _LAST_TIMESTAMP_S])
    instants = st.tuples(seconds.map(shown), _fractions(fsp)).map("".join)
    return instants | st.just(_zero_moment(fsp)) if zero else instants


def _durations(column: Column) -> _Texts:
    fsp = column.fraction_digits
    greatest = _MAX_TIME_S * 10**fsp

    def text(ticks: int) -> str:
        seconds, rest = divmod(abs(ticks), 10**fsp)
        return ("-" if ticks < 0 else "") + _clock(seconds) + (f".{rest:0{fsp}d}" if fsp else "")

    return (st.integers(-greatest, greatest) | st.sampled_from([-greatest, greatest])).map(text)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _fractions(fsp: int) -> _Texts:
    return st.integers(0, 10**fsp - 1).map(lambda number: f".{number:0{fsp}d}") if fsp else st.just("")


def _zero_moment(fsp: int) -> str:
    return "0000-00-00 00:00:00" + (f".{0:0{fsp}d}" if fsp else "")


_BY_TYPE: dict[MySQLType, Callable[[Column], _Texts]] = {
    MySQLType.YEAR: lambda column: st.integers(*_YEARS).map(str) | st.just("0"),
    MySQLType.BIT: lambda column: _whole(0, (1 << column.flen) - 1),
    MySQLType.FLOAT: _floats,
    MySQLType.DOUBLE: _floats,
    MySQLType.NEWDECIMAL: _decimals,
    MySQLType.DURATION: _durations,
    MySQLType.ENUM: _labels,
    MySQLType.SET: _labels,
    MySQLType.JSON: _documents,
    MySQLType.VECTOR_FLOAT32: _vectors,
}
