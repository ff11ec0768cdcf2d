"""Values of columns as canonical text (docs/types.md), the limits of the type included."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable
from functools import lru_cache
from itertools import compress
from typing import TypeAlias

import pyarrow as pa
from hypothesis import strategies as st

from ticdc_emit.columnar.floats import fixed_text
from ticdc_emit.errors import StrategyError
from ticdc_emit.schema.defaults import float_text, time_zone_of
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.charsets import python_codec
from ticdc_emit.sql.json_document import normalise
from ticdc_emit.sql.types import CHAR_TYPES, INTEGER_TYPES, STRING_TYPES, MySQLType, integer_range

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

    ``time_zone``: the changefeed's, for TIMESTAMP. ``allow_zero_dates``: also days such as ``2024-00-00``. Raises
    :class:`~ticdc_emit.errors.StrategyError` for a type that rows cannot have, and for an unknown time zone.
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
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False).map(
        lambda value: str(fixed_text(pa.array([value], pa.float32()))[0])
    )
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
    return documents.map(lambda document: normalise(json.dumps(document)))


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
