"""What readers share: canonical text (docs/types.md) of a column's wire values. FLOAT and DOUBLE have the shortest
digits that read back; DATETIME, TIMESTAMP and TIME the column's fsp digits.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

from ticdc_emit.protocols.events import FAULTS, OTHER_TABLES, DecodeError
from ticdc_emit.schema.defaults import time_zone_of
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import MySQLType

Convert: TypeAlias = Callable[[Any], "str | None"]
_Of = TypeVar("_Of")
_Made = TypeVar("_Made")
BINARY_TYPES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
"""The types of binary data, as messages name them."""
_GO_TIE = {"0.00024414063": "0.00024414062", "-0.00024414063": "-0.00024414062"}
_DIGITS = Context(prec=100)  # a DECIMAL has at most 65, and the nearest double may have one more


def converted(image: Mapping[str, Any], converts: Mapping[str, Convert], *, table: str) -> dict[str, str | None]:
    """Return an image in canonical text. Raises :class:`DecodeError` for a value that does not fit its column."""
    texts = dict(image)
    for name, convert in converts.items():
        value = texts.get(name)
        if value is not None:
            try:
                texts[name] = convert(value)
            except FAULTS as fault:
                raise DecodeError(
                    f"{value!r:.100} is not a value of the column: {type(fault).__name__}: {fault}",
                    remedy=OTHER_TABLES,
                    table=table,
                    field=name,
                ) from fault
    return texts


def decimal_of_scale(value: Decimal | str, scale: int) -> str:
    """Return a DECIMAL with all the digits of its scale."""
    return format(Decimal(value).quantize(Decimal(1).scaleb(-scale), context=_DIGITS), "f")


def go_float(text: str) -> str:
    """Return a FLOAT of Go; it does not round to even the only one whose shortest digits are a tie."""
    return _GO_TIE.get(text, text)


def raw_text(raw: bytes) -> str:
    return b64encode(raw).decode("ascii")


def label_convert(column: Column) -> Convert:
    """Return what reads an ENUM's number (0: the empty text of an invalid value) or a SET's bit mask."""
    return _enum_label(column) if column.type is MySQLType.ENUM else _set_labels(column)


def _enum_label(column: Column) -> Convert:
    labels = ("", *column.elems)

    def read(value: Any) -> str:
        number = int(value)
        if number < 0:
            raise ValueError("a negative number")
        return labels[number]

    return read


def _set_labels(column: Column) -> Convert:
    labels = column.elems

    @lru_cache(maxsize=1024)
    def read(value: Any) -> str:
        mask = int(value) & WORD
        if mask >> len(labels):
            raise ValueError("a bit without label")
        return ",".join(label for place, label in enumerate(labels) if mask >> place & 1)

    return read


def moment_text(value: dt.datetime, fsp: int) -> str:
    text = f"{value:%H:%M:%S}.{value.microsecond:06d}"
    return f"{value.year:04d}-{value.month:02d}-{value.day:02d} {text[: 9 + fsp] if fsp > 0 else text[:8]}"


def in_zone(text: str, shown_in: str, zone: str, fsp: int | None = None) -> str:
    """Return TIMESTAMP text in ``zone``, with ``fsp`` digits; zero stays zero. The first of two moments is meant."""
    if shown_in == zone or text.startswith("0000-00-00"):
        return text
    clock, _, digits = text.partition(".")  # Python 3.10 parses only three or six fraction digits
    shown = dt.datetime.fromisoformat(clock).replace(microsecond=int(f"{digits:0<6}"), tzinfo=_zone(shown_in))
    return moment_text(shown.astimezone(_zone(zone)), len(digits) if fsp is None else fsp)


def by_column(columns: Iterable[Column], convert_of: Callable[[Column], Convert | None]) -> dict[str, Convert]:
    """Return the conversions of the columns that need one."""
    return {column.name: convert for column in columns if (convert := convert_of(column)) is not None}


def per_table(convert_of: Callable[[Column], Convert | None]) -> Callable[[TableInfo], dict[str, Convert]]:
    """Return a function that gives the conversions of a table's columns, made once."""
    return per_object(lambda table: by_column(table.columns, convert_of))


def per_object(make: Callable[[_Of], _Made]) -> Callable[[_Of], _Made]:
    """Return ``make`` cached by object identity, because tables and schemas are expensive to hash or not hashable."""
    known: dict[int, tuple[_Of, _Made]] = {}

    def get(of: _Of) -> _Made:
        result = known.get(id(of))
        if result is None:
            result = known[id(of)] = of, make(of)  # an object that is kept alive keeps its id
        return result[1]

    return get


@lru_cache(maxsize=64)
def _zone(name: str) -> dt.tzinfo:
    return time_zone_of(name)


UNSIGNED = re.compile(r"\d{1,20}", re.ASCII)
WORD = (1 << 64) - 1
_ZERO_DAY = "0000-00-00"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?", re.ASCII)
_NUMBER = r"-?\d+(?:\.\d+)?"
_VECTOR = re.compile(rf"\[(?:{_NUMBER}(?:,{_NUMBER})*)?\]", re.ASCII)


def word(value: int) -> bytes:
    """Return the bytes of an integer of any width: 64 bits, a negative one in two's complement."""
    return (value & WORD).to_bytes(8, "little")


def double(value: float) -> bytes:
    """Return the bytes of a FLOAT or DOUBLE; of zero for what is not finite."""
    return struct.pack("<d", value if math.isfinite(value) else 0.0)


def text(value: str) -> bytes:
    """Return the bytes of text, and of values that are printed: DECIMAL, JSON, times."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not text")
    return blob(value.encode())


def blob(value: bytes) -> bytes:
    """Return the bytes of binary data: its length, then itself."""
    return len(value).to_bytes(4, "little") + value


def vector(value: str) -> bytes:
    """Return the bytes of a VECTOR, from its text: its length, then its numbers."""
    if not _VECTOR.fullmatch(value):
        raise ValueError(f"{value!r} is not a vector")
    numbers = [float(number) for number in value[1:-1].split(",") if number]
    return struct.pack(f"<I{len(numbers)}f", len(numbers), *numbers)


def in_utc(text: str, time_zone: str) -> str:
    """Return TIMESTAMP text in UTC; an ambiguous local time is read as by Go's ``time.Date``."""
    if text.startswith(_ZERO_DAY) or time_zone == "UTC":
        return text
    if not _MOMENT.fullmatch(text):
        raise ValueError(f"{text!r} is not a TIMESTAMP")
    place = ZoneInfo(time_zone)
    clock = datetime.fromisoformat(text[:19]).replace(tzinfo=timezone.utc)

    def offset(at: datetime) -> timedelta:
        return at.astimezone(place).utcoffset() or timedelta()

    shift = offset(clock - offset(clock))
    if offset(clock - shift) != shift:
        raise ValueError(f"the clocks of {time_zone} skip {text!r}")
    return f"{clock - shift:%Y-%m-%d %H:%M:%S}{text[19:]}"
