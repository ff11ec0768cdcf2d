"""MySQL's lenient date and time texts. In: the literal of a DEFAULT. Out: TiDB's canonical text.

Rule source: pingcap/tidb ``pkg/types/time.go`` (``parseDatetime``, ``ParseDuration``) with ``sql_mode=''``: zero and
partial zero dates are allowed, impossible ones are not; fractions are rounded half up to the column's fsp.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from dataclasses import dataclass
from zoneinfo import ZoneInfo

__all__ = ["Moment", "moment_of_number", "normalise_duration", "parse_moment", "time_zone_of"]

_SEPARATED = re.compile(
    r"(\d{1,4})[^\w\s]+(\d{1,2})[^\w\s]+(\d{1,2})"
    r"(?:(?:[T\s]\s*)(\d{1,2})(?:[^\w\s](\d{1,2})(?:[^\w\s](\d{1,2})(?:\.(\d*))?)?)?)?"
    r"(Z|[+-]\d{2}(?::?\d{2})?)?",
    re.ASCII,
)
_PACKED = re.compile(r"(\d+)(?:\.(\d*))?(Z|[+-]\d{2}(?::?\d{2})?)?", re.ASCII)
_DURATION = re.compile(r"(?:(\d+)\s+)?(\d+)(?::(\d{1,2}))?(?::(\d{1,2}))?(?:\.(\d*))?", re.ASCII)
_PACKED_WIDTHS = {  # digits -> fields of a date and time without separators
    14: (4, 2, 2, 2, 2, 2),
    12: (2, 2, 2, 2, 2, 2),
    11: (2, 2, 2, 2, 2, 1),
    10: (2, 2, 2, 2, 2),
    9: (2, 2, 2, 2, 1),
    8: (4, 2, 2),
    7: (2, 2, 2, 1),
    6: (2, 2, 2),
    5: (2, 2, 1),
}
# (from, to, addend, factor) converts a number to YYYYMMDDHHMMSS; two-digit years switch at 70
_NUMBER_RANGES = (
    (101, 691231, 20_000_000, 1_000_000),
    (700101, 991231, 19_000_000, 1_000_000),
    (10_000_101, 99_991_231, 0, 1_000_000),
    (101_000_000, 691_231_235_959, 20_000_000_000_000, 1),
    (700_101_000_000, 991_231_235_959, 19_000_000_000_000, 1),
    (10_000_101_000_000, 99_991_231_235_959, 0, 1),
)
_MAX_HOURS = 838
_OFFSET = re.compile(r"([+-])(\d{1,2}):?(\d{2})")


@dataclass(frozen=True)
class Moment:
    """Date and time fields, with zero parts allowed; ``micro`` is rounded to the fsp."""

    year: int
    month: int
    day: int
    hour: int = 0
    minute: int = 0
    second: int = 0
    micro: int = 0

    @property
    def is_zero(self) -> bool:
        return not any((self.year, self.month, self.day, self.hour, self.minute, self.second, self.micro))

    def date_text(self) -> str:
        return f"{self.year:04}-{self.month:02}-{self.day:02}"

    def text(self, fsp: int) -> str:
        clock = f"{self.hour:02}:{self.minute:02}:{self.second:02}"
        return f"{self.date_text()} {clock}{_fraction(self.micro, fsp)}"

    def to_utc(self, zone: dt.tzinfo) -> Moment:
        """Return this local time of ``zone`` in UTC; ``ValueError`` if the zone has no such time."""
        local = dt.datetime(*self._fields(), tzinfo=zone)
        utc = local.astimezone(dt.timezone.utc)
        if utc.astimezone(zone).replace(tzinfo=None) != local.replace(tzinfo=None):
            raise ValueError("the time falls into a daylight-saving gap")
        return _moment_of(utc)

    def _fields(self) -> tuple[int, int, int, int, int, int, int]:
        return self.year, self.month, self.day, self.hour, self.minute, self.second, self.micro


def time_zone_of(name: str) -> dt.tzinfo:
    """Return the zone of a name (``Asia/Shanghai``, ``UTC``) or an offset (``+08:00``); ``ValueError`` if unknown."""
    offset = _OFFSET.fullmatch(name)
    if offset:
        delta = dt.timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return dt.timezone(delta if offset[1] == "+" else -delta)
    if name.upper() == "UTC" or not name:
        return dt.timezone.utc
    try:
        return ZoneInfo(name)
    except (OSError, KeyError):
        raise ValueError(f"unknown time zone {name!r}") from None


def parse_moment(text: str, fsp: int, zone: dt.tzinfo = dt.timezone.utc) -> Moment:
    """Parse a date or date-time text, converting an offset suffix to ``zone``; ``ValueError`` if it is impossible."""
    text = text.strip()
    separated = _SEPARATED.fullmatch(text)
    if separated:
        fields = [int(part or 0) for part in separated.groups()[:6]]
        if len(separated[1]) <= 2:
            fields[0] = _full_year(fields)
        return _checked(fields, separated[7] or "", fsp, separated[8], zone)
    packed = _PACKED.fullmatch(text)
    if not packed or len(packed[1]) not in _PACKED_WIDTHS:
        raise ValueError(f"{text!r} is not a date")
    digits, fields, at = packed[1], [], 0
    for width in _PACKED_WIDTHS[len(digits)]:
        fields.append(int(digits[at : at + width]))
        at += width
    if len(digits) not in (14, 8):
        fields[0] = _full_year(fields)
    fraction = packed[2] or ""
    return _checked(fields + [0] * (6 - len(fields)), fraction if len(digits) > 8 else "", fsp, packed[3], zone)


def moment_of_number(number: int) -> Moment:
    """Read YYMMDD, YYYYMMDD, YYMMDDHHMMSS or YYYYMMDDHHMMSS written as a number; ``ValueError`` for any other text."""
    if number == 0:
        return Moment(0, 0, 0)
    for low, high, offset, factor in _NUMBER_RANGES:
        if low <= number <= high:
            return parse_moment(f"{(number + offset) * factor:014}", 0)
    raise ValueError(f"{number} is not a date")


def _full_year(fields: list[int]) -> int:
    year = fields[0]
    if not any(fields):
        return 0
    return year + (2000 if year < 70 else 1900)


def _checked(fields: list[int], fraction: str, fsp: int, offset: str | None, zone: dt.tzinfo) -> Moment:
    year, month, day, hour, minute, second = fields
    last = calendar.monthrange(year, month)[1] if year and 1 <= month <= 12 else 31
    if month > 12 or day > last or hour > 23 or minute > 59 or second > 59:
        raise ValueError("no such date or time")
    micro, carry = _round_fraction(fraction, fsp)
    moment = Moment(year, month, day, hour, minute, second, micro)
    if not carry and not offset:
        return moment
    if not (year and month and day):
        raise ValueError("a zero date cannot be rounded or shifted")
    exact = dt.datetime(year, month, day, hour, minute, second, micro) + dt.timedelta(seconds=carry)
    if offset:
        shift = dt.timezone.utc if offset == "Z" else time_zone_of(offset if len(offset) > 3 else offset + ":00")
        exact = exact.replace(tzinfo=shift).astimezone(zone)
    return _moment_of(exact)


def _moment_of(exact: dt.datetime) -> Moment:
    return Moment(exact.year, exact.month, exact.day, exact.hour, exact.minute, exact.second, exact.microsecond)


def _round_fraction(fraction: str, fsp: int) -> tuple[int, int]:
    """Return (microseconds rounded to fsp, 1 if that carries into the seconds)."""
    digits = fraction[:7].ljust(7, "0")
    unit = 10 ** (7 - fsp)
    rounded = (int(digits) + unit // 2) // unit * unit // 10
    return rounded % 1_000_000, rounded // 1_000_000


def _fraction(micro: int, fsp: int) -> str:
    return f".{micro:06}"[: fsp + 1] if fsp > 0 else ""


def normalise_duration(text: str, fsp: int) -> str:
    """Return TiDB's text of a TIME value (``-12:34:56.500``); ``ValueError`` if ``text`` is not a time."""
    text = text.strip()
    negative = text.startswith("-")
    parsed = _DURATION.fullmatch(text.lstrip("-") if negative else text)
    if parsed and not (parsed[3] is None and parsed[1] is None and len(parsed[2]) > 7):
        hours, minutes, seconds, fraction = _duration_fields(parsed)
    else:  # a date-time is read for its time
        moment = parse_moment(text, fsp)
        hours, minutes, seconds, fraction = moment.hour, moment.minute, moment.second, f"{moment.micro:06}"
    micro, carry = _round_fraction(fraction, fsp)
    total = hours * 3600 + minutes * 60 + seconds + carry
    if minutes > 59 or seconds > 59 or total > _MAX_HOURS * 3600 + 3599 or (total == 3_020_399 and micro):
        raise ValueError(f"{text!r} is outside TIME's range")
    sign = "-" if negative and (total or micro) else ""
    return f"{sign}{total // 3600:02}:{total // 60 % 60:02}:{total % 60:02}{_fraction(micro, fsp)}"


def _duration_fields(parsed: re.Match[str]) -> tuple[int, int, int, str]:
    days, first, second, third, fraction = parsed.groups()
    if second is None and days is None:  # packed: HHMMSS, MMSS or SS
        packed = int(first)
        return packed // 10000, packed // 100 % 100, packed % 100, fraction or ""
    return int(days or 0) * 24 + int(first), int(second or 0), int(third or 0), fraction or ""
