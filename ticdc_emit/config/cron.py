"""The times of a cron spec, as TiCDC's clean-up job has them.

In: six fields (second, minute, hour, day, month, weekday), of which the last may be missing, or a name such as
``@daily``. Out: :class:`CronTimes`, which say whether one of them lies between two moments.

A field is a list of numbers, of ranges (``1-5``, ``*``, ``?``) and of steps in them (``*/15``, ``1-30/2``, ``10/5``,
which goes to the end). Months and weekdays have English names, too, and Sunday is 0. If both day and weekday are
restricted, one of them is enough. ``@every`` counts from the start of TiCDC's process, so it is refused.

Source: ``github.com/robfig/cron`` 1.2, which both lineages use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import product
from typing import NamedTuple

from ticdc_emit.errors import ConfigError

_OPTION = "file-cleanup-cron-spec"
_REMEDY = "Give six fields: second, minute, hour, day, month, weekday"
_NAMED = {
    "@yearly": "0 0 0 1 1 *",
    "@annually": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 0",
    "@daily": "0 0 0 * * *",
    "@midnight": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}
_ALL = ("*", "?")


class _Unit(NamedTuple):
    """The numbers that a field may have, and their names from the least on."""

    least: int
    most: int
    names: tuple[str, ...] = ()


_UNITS = (
    _Unit(0, 59),
    _Unit(0, 59),
    _Unit(0, 23),
    _Unit(1, 31),
    _Unit(1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    _Unit(0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)


@dataclass(frozen=True)
class CronTimes:
    """The numbers of each field. ``needs_both``: whether day and weekday must both fit."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    needs_both: bool

    @classmethod
    def parse(cls, spec: str) -> CronTimes:
        """Return the times of a spec. Raises :class:`~ticdc_emit.errors.ConfigError`."""
        if spec.startswith("@") and spec not in _NAMED:
            raise _refused(f"Unrecognized descriptor: {spec}")
        fields = _NAMED.get(spec, spec).split()
        if len(fields) not in (len(_UNITS) - 1, len(_UNITS)):
            raise _refused(f"Expected 5 to 6 fields, found {len(fields)}: {spec}")
        fields += ["*"] * (len(_UNITS) - len(fields))
        seconds, minutes, hours, days, months, weekdays = (
            tuple(sorted({*_numbers(field, unit)})) for field, unit in zip(fields, _UNITS, strict=True)
        )
        needs_both = any(part.startswith(_ALL) for field in (fields[3], fields[5]) for part in field.split(","))
        return cls(seconds, minutes, hours, days, months, weekdays, needs_both)

    def any_between(self, after: datetime, until: datetime) -> bool:
        """Return whether one of the times is later than a moment and not later than another, on the same clock."""
        first, last = (moment.replace(microsecond=0) for moment in (after, until))
        for number in range((last.date() - first.date()).days + 1):
            day = first.date() + timedelta(days=number)
            if self._has_day(day):
                low = (first.hour, first.minute, first.second) if number == 0 else (-1,)
                high = (last.hour, last.minute, last.second) if day == last.date() else (24,)
                if any(low < time <= high for time in product(self.hours, self.minutes, self.seconds)):
                    return True
        return False

    def _has_day(self, day: date) -> bool:
        fits = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and (all(fits) if self.needs_both else any(fits))


def _numbers(field: str, unit: _Unit) -> Iterator[int]:
    """Yield the numbers of a field."""
    for part in filter(None, field.split(",")):
        bounds, *steps = part.split("/")
        ends = bounds.split("-")
        if len(steps) > 1:
            raise _refused(f"Too many slashes: {part}")
        if ends[0] in _ALL:
            low, high = unit.least, unit.most
        elif len(ends) > 2:
            raise _refused(f"Too many hyphens: {part}")
        else:
            low, high = (_number(text, unit.names, unit.least) for text in (ends[0], ends[-1]))
            if steps and len(ends) == 1:
                high = unit.most
        step = _number(steps[0]) if steps else 1
        if low < unit.least:
            raise _refused(f"Beginning of range ({low}) below minimum ({unit.least}): {part}")
        if high > unit.most:
            raise _refused(f"End of range ({high}) above maximum ({unit.most}): {part}")
        if low > high:
            raise _refused(f"Beginning of range ({low}) beyond end of range ({high}): {part}")
        if step == 0:
            raise _refused(f"Step of range should be a positive number: {part}")
        yield from range(low, high + 1, step)


def _number(text: str, names: tuple[str, ...] = (), least: int = 0) -> int:
    if text.lower() in names:
        return names.index(text.lower()) + least
    if not (text.isascii() and text.isdecimal()):
        raise _refused(f"Failed to parse int from {text}")
    return int(text)


def _refused(cause: str) -> ConfigError:
    return ConfigError(cause, remedy=_REMEDY, option=_OPTION)
