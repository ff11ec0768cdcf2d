"""Values of columns as Arrow arrays: under the user's options, else by the column's type and name.

A value is a function of the row (:func:`is_constant`), or of the row and a step. A range or a list of labels has a
number of points, of which the distribution draws one. Hashes of the column that must show every update have a parity
(:class:`~ticdc_emit.traffic.generate.arrays.Bits`): two neighbours differ. A chosen distribution holds nevertheless.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import (
    CALENDAR_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    ColumnFlag,
    MySQLType,
    integer_range,
)
from ticdc_emit.traffic.generate.arrays import (
    Bits,
    Hashes,
    Ints,
    Mask,
    UInts,
    between,
    concat_texts,
    decimal_of,
    digits,
    fixed_width,
    hash_numbers,
    moment,
    native_type,
    native_values,
    octets,
    one_of,
    salt_of,
    units,
    with_nulls,
)
from ticdc_emit.traffic.generate.column_options import SHARES, ColumnOptions, unit_of
from ticdc_emit.traffic.generate.distributions import quantiles
from ticdc_emit.traffic.generate.identifiers import patterned
from ticdc_emit.traffic.generate.texts import (
    LASTING,
    binary_float,
    decimal,
    document,
    integer,
    meaning,
    padded,
    realistic_text,
    tokens,
)

_SECOND, _DAY = 1_000_000, 86_400_000_000  # in microseconds

_CREATED = frozenset({"created", "inserted", "registered", "joined", "placed", "opened", "born", "ctime"})
_UPDATED = frozenset({"updated", "modified", "changed", "seen", "mtime", "checked", "touched", "booked", "shipped"})
_BIRTHDAYS = frozenset({"birthday", "birthdate", "birth", "dob"})


@dataclass(frozen=True)
class Versions:
    """Versions of rows: the row's number and the hash of it, the step of its life, and times in microseconds."""

    number: Ints
    hash: UInts
    step: Ints
    born: Ints
    now: Ints

    def person(self, seed_of: tuple[object, ...]) -> Hashes:
        return Hashes(self.hash, salt_of(*seed_of))


def is_constant(column: Column) -> bool:
    """Return whether a column keeps its value for the row's life, judging by its name."""
    known = set(tokens(column.name))
    if column.type in STRING_TYPES and not column.is_binary:
        return meaning(column) in LASTING
    if column.type in CALENDAR_TYPES:
        return not column.flags & ColumnFlag.ON_UPDATE_NOW and bool(known & (_CREATED | _BIRTHDAYS))
    return bool(known & {"age", "birth"}) or (len(known) > 1 and "id" in known)


def realistic(
    column: Column,
    seed_of: tuple[object, ...],
    at: Versions,
    *,
    fixed: bool = False,
    always_changes: bool = False,
    is_operand: bool = False,
    options: ColumnOptions | None = None,
) -> pa.Array:
    """Return the values. ``fixed``: the same for the row's life, else a nullable column is NULL in a tenth of its
    versions. ``always_changes``: two neighbouring steps differ. ``is_operand``: a generated column is computed from it.
    """
    salt = salt_of(*seed_of, column.name)
    fixed = fixed or is_constant(column)
    if fixed:
        bits = Hashes(at.hash, salt)
    elif always_changes:
        bits = Hashes(hash_numbers(at.step, at.hash), salt, at.step & 1)
    else:
        bits = Hashes(hash_numbers(_version(column, salt, at), at.hash), salt)
    if options is not None and options.has_values:
        values = _value_by_option(column, options, bits, at, salt)
    else:
        values = _value(column, bits, at, seed_of, fixed=fixed, is_operand=is_operand)
    if options is not None and options.nulls is not None:
        return with_nulls(values, _nulls(options.nulls, bits, at, salt))
    if not column.nullable or fixed:
        return values
    if bits.parity is None:
        return with_nulls(values, units(bits(99), 10) == 0)
    is_even = bits.parity == 0  # only at even steps, so two neighbours are never both NULL
    return with_nulls(values, is_even & (units(bits(99), 5) == 0) if _has_two_values(column) else is_even)


def _nulls(share: float, bits: Hashes, at: Versions, salt: int) -> Mask | None:
    """Return which values are NULL, this share of them. With a parity only at every second step, of some rows the odd
    ones, each with twice the share.
    """
    if not share:
        return None
    drawn = units(bits(99), SHARES)
    if bits.parity is None or share == 1:
        return np.less(drawn, round(share * SHARES))
    is_turn = bits.parity == units(Hashes(at.hash, salt)(98), 2)
    doubled: Mask = is_turn & (drawn < round(min(2 * share, 1.0) * SHARES))
    return doubled


_LONGEST = 65_535  # characters of a text, that of TEXT
_ENDS: Mapping[MySQLType, tuple[int, int]] = {  # days or microseconds since 1970
    MySQLType.YEAR: (1901, 2155),
    MySQLType.DATE: (-354_285, 2_932_896),
    MySQLType.DATETIME: (-354_285 * _DAY, 2_932_897 * _DAY - 1),
    MySQLType.TIMESTAMP: (_SECOND, (1 << 31) * _SECOND - 1),
}


def ends(column: Column) -> pa.Array:
    """Return the least and the greatest value of a column's type: of texts the empty one and the longest, up to 65,535
    characters; nothing for types without order.
    """
    kind, native = column.type, native_type(column)
    low, high = _ENDS.get(kind, (0, (1 << min(max(column.flen, 1), 63)) - 1))
    if kind in MOMENT_TYPES:
        return moment(column, np.array([low, high]))
    if kind in INTEGER_TYPES:
        low, high = integer_range(kind, unsigned=column.unsigned)
    if kind in _ENDS or kind in INTEGER_TYPES or kind is MySQLType.BIT:
        numbers = np.array([low, min(high, (1 << 63) - 1)])  # what Spark writes as a long
        return _date(numbers) if kind is MySQLType.DATE else pa.array(numbers.astype(native.to_pandas_dtype()))
    if kind in STRING_TYPES:
        longest = min(column.length, _LONGEST)
        least = bytes(longest) if column.is_binary and kind is MySQLType.STRING else b""
        return pa.array([least, b"\xff" * longest]) if column.is_binary else pa.array(["", "z" * longest])
    digits_after, most = column.fraction_digits, "838:59:59"
    if kind in FLOAT_TYPES and column.decimal < 0:
        most = repr(float(np.finfo(native.to_pandas_dtype()).max))
    elif kind in FLOAT_TYPES or kind is MySQLType.NEWDECIMAL:
        most = "9" * (column.flen - digits_after) or "0"
    elif kind is not MySQLType.DURATION:
        return pa.array([], native)
    if digits_after:
        most += "." + ("0" if kind is MySQLType.DURATION else "9") * digits_after
    return native_labels(column, ("0" if column.unsigned else f"-{most}", most))


def varies(column: Column, options: ColumnOptions | None = None) -> bool:
    """Return whether a column can take another value at every step."""
    if options is not None and options.nulls == 1:
        return False
    if options is not None and options.has_values:
        return options.varies
    return (column.nullable and (options is None or options.nulls is None)) or _has_two_values(column)


def _has_two_values(column: Column) -> bool:
    if column.type is MySQLType.ENUM:
        return len(column.elems) > 1
    return column.flen != 0 if column.type in STRING_TYPES else True


def always_changing_column(
    columns: Sequence[Column], options: Mapping[str, ColumnOptions] | None = None
) -> Column | None:
    """Return the column that best shows every update, ``None`` if none :func:`varies`: with many values, and NOT NULL.
    One with ``options`` is the last choice, because showing every update distorts its distribution.
    """
    options = options or {}
    kinds = (*INTEGER_TYPES, MySQLType.NEWDECIMAL, MySQLType.FLOAT, MySQLType.DOUBLE, *STRING_TYPES, MySQLType.JSON)

    def worth(column: Column) -> tuple[bool, int, bool, bool, int]:
        large = column.type in kinds and column.type is not MySQLType.TINY
        own = options.get(column.name)
        points = 0 if own is None else max(own.count, len(own.labels), 1 << 62 if own.pattern else 0)
        return own is None, points, large, not column.nullable, -column.id

    return max((each for each in columns if varies(each, options.get(each.name))), key=worth, default=None)


def _version(column: Column, salt: int, at: Versions) -> Ints:
    """Return how often the value has changed: at every step, or at every second to fifth one."""
    if _is_clock(column) or _is_progress(column):
        return at.step
    every = 2 + salt % 4
    return (at.step + (at.number + salt % 97) % every) // every


def _is_clock(column: Column) -> bool:
    known = set(tokens(column.name))
    return column.type in MOMENT_TYPES and bool(known & _UPDATED or column.flags & ColumnFlag.ON_UPDATE_NOW)


def _is_progress(column: Column) -> bool:
    return column.type is MySQLType.ENUM and bool(set(tokens(column.name)) & {"status", "state", "stage", "phase"})


def _value(
    column: Column, bits: Hashes, at: Versions, seed_of: tuple[object, ...], *, fixed: bool, is_operand: bool
) -> pa.Array:
    kind = column.type
    if kind in INTEGER_TYPES:
        return integer(column, bits, is_operand=is_operand)
    if kind is MySQLType.NEWDECIMAL:
        return decimal(column, bits)
    if kind in FLOAT_TYPES:
        return binary_float(column, bits)
    if kind in STRING_TYPES:
        return _binary(column, bits) if column.is_binary else realistic_text(column, bits, at.person(seed_of))
    if kind in MOMENT_TYPES:
        return moment(column, _alternating_time(column, bits, _time(column, bits, at, fixed)))
    if kind is MySQLType.DATE:
        return _date(_day(column, bits, at, fixed))
    if kind is MySQLType.DURATION:
        return _duration(column, bits)
    if kind is MySQLType.YEAR:
        return pa.array(between(bits(0), 1990, 2030).astype(np.int32))
    if kind is MySQLType.BIT:
        return pa.array(units(bits(0), 1 << min(max(column.flen, 1), 62)))
    if kind is MySQLType.JSON:
        return document(column, bits)
    if kind is MySQLType.ENUM:
        return _label(column, bits, at)
    return _labels(column, bits) if kind in LABEL_TYPES else _vector(column, bits)


def _binary(column: Column, bits: Hashes) -> pa.Array:
    width = min(column.flen if column.flen > 0 else 64, 16)
    drawn = [octets(bits(n).bits) for n in range(1 + (width > 8))]
    if bits.parity is not None:  # in the first bit of the first byte
        drawn[0][:, 0] = drawn[0][:, 0] & 127 | (bits.parity << 7).astype(np.uint8)
    return fixed_width(padded(column, np.concatenate(drawn, axis=1)[:, :width]), binary=True)


def _time(column: Column, bits: Hashes, at: Versions, fixed: bool) -> Ints:
    if _is_clock(column) and not fixed:
        return at.now
    if set(tokens(column.name)) & _CREATED:
        return at.born
    return at.born + between(bits(0), -30 * 86_400, 30 * 86_400) * _SECOND + units(bits(1), _SECOND)


def _alternating_time(column: Column, bits: Hashes, micros: Ints) -> Ints:
    """If hashes have a parity, cut a time to two units of the column's last digit, and show it in that digit."""
    if bits.parity is None:
        return micros
    unit = 10 ** (6 - column.fraction_digits)
    shown: Ints = micros // (2 * unit) * (2 * unit) + bits.parity * unit
    return shown


def _day(column: Column, bits: Hashes, at: Versions, fixed: bool) -> Ints:
    known = set(tokens(column.name))
    if known & _BIRTHDAYS:
        return between(bits(0), -7_000, 13_000)
    today: Ints = at.born // _DAY
    return today if known & _CREATED else today + between(bits(0), -30, 30)


def _date(days: Ints) -> pa.Array:
    return pa.array(days.astype(np.int32)).view(pa.date32())


def _duration(column: Column, bits: Hashes) -> pa.Array:
    """Return times of a day, and now and then an end of the type's range: the low one is even, the high one odd."""
    fsp = column.fraction_digits
    hours = units(bits(0), 24)
    rows = np.empty((len(hours), 9 + fsp if fsp else 8), np.uint8)
    rows[:, 2::3] = ord(":")
    for start, numbers in ((0, hours), (3, units(bits(1), 60)), (6, units(bits(2), 60))):
        rows[:, start : start + 2] = digits(numbers, 2)
    if fsp:
        rows[:, 8], rows[:, 9:] = ord("."), digits(units(bits(3), 10**fsp), fsp)
    zeros = "." + "0" * fsp if fsp else ""
    parity = bits.parity
    which = units(bits(4), 50 if parity is None else 25)
    is_end = which < 2 if parity is None else which == 0
    ends = one_of(which & 1 if parity is None else parity, (f"-838:59:59{zeros}", f"838:59:59{zeros}"))
    return pc.if_else(pa.array(is_end), ends, fixed_width(rows))


def _label(column: Column, bits: Hashes, at: Versions) -> pa.Array:
    count = len(column.elems)
    if not _is_progress(column):
        return one_of(units(bits(0), count), tuple(column.elems))
    last: int | Ints = count - 1
    if bits.parity is not None and count > 1:  # back and forth between the last two
        last = last - (at.step - last) % 2
    return one_of(np.maximum(np.minimum(at.step, last), 0), tuple(column.elems))


_AT_ONCE = 8  # labels of a SET in one list of combinations


def _labels(column: Column, bits: Hashes) -> pa.Array:
    parts: list[pa.Array] = []
    for start in range(0, len(column.elems), _AT_ONCE):
        labels = column.elems[start : start + _AT_ONCE]
        drawn = units(Bits(bits(start // 32).bits), 1 << len(labels), start % 32)
        if start == 0 and bits.parity is not None:
            drawn = drawn & -2 | bits.parity
        parts.append(_subsets(tuple(labels)).take(pa.array(drawn)))
    return pc.utf8_slice_codeunits(parts[0] if len(parts) == 1 else concat_texts(*parts), 1)


@lru_cache(maxsize=64)
def _subsets(labels: tuple[str, ...]) -> pa.Array:
    numbers = range(1 << len(labels))
    return pa.array(["".join(f",{each}" for n, each in enumerate(labels) if bits >> n & 1) for bits in numbers])


_COMPONENTS = tuple(map(str, range(-99, 100)))


def _vector(column: Column, bits: Hashes) -> pa.Array:
    count = column.flen if column.flen > 0 else 3
    parts = [
        one_of(units(bits(n // 4), len(_COMPONENTS), n % 4 * 8), _COMPONENTS, text=",{}" if n else "[{}")
        for n in range(count)
    ]
    return concat_texts(*parts, "]")


# -- the user's options ------------------------------------------------------------------------------------------------

_SHARE_BITS = 53  # of a share from 0 to 1


def _value_by_option(column: Column, options: ColumnOptions, bits: Hashes, at: Versions, salt: int) -> pa.Array:
    if options.pattern:
        nth = count()
        return patterned(options.pattern, len(at.number), lambda limit: units(bits(next(nth)), limit))
    points = _points(options, bits) if bits.parity is None or options.points < 2 else _changing(options, at, salt)
    if options.labels:
        return native_labels(column, options.labels).take(pa.array(points))
    return _in_range(column, options.first, points)


def native_labels(column: Column, labels: tuple[str, ...]) -> pa.Array:
    texts = pa.array(labels, pa.string())
    if native_type(column) == pa.string():
        return texts
    return native_values(column, accept(column, texts, Rendering()))


def _in_range(column: Column, first: int, point: Ints) -> pa.Array:
    if column.type in MOMENT_TYPES:
        return moment(column, first + point * unit_of(column))
    numbers = first + point
    if column.type is MySQLType.DATE:
        return _date(numbers)
    if column.type is MySQLType.NEWDECIMAL:
        return decimal_of(column, numbers, len(str(unit_of(column))) - 1)
    native = native_type(column).to_pandas_dtype()
    return pa.array((numbers / unit_of(column) if column.type in FLOAT_TYPES else numbers).astype(native))


def _points(options: ColumnOptions, bits: Hashes) -> Ints:
    """Return the numbers of labels, or places in the range, as the distribution or the weights have them."""
    count = options.points
    if count == 1 or (options.distribution == "uniform" and not options.weights):
        return units(Bits(bits(0).bits), count)
    share = (bits(0).bits >> np.uint64(64 - _SHARE_BITS)) / float(1 << _SHARE_BITS)
    if options.weights:
        bounds = np.cumsum(options.weights) / sum(options.weights)
        return np.searchsorted(bounds[:-1], share, side="right")
    drawn = np.interp(share, *quantiles(options.distribution, options.parameters, count))
    return np.clip(np.floor(drawn).astype(np.int64), 0, count - 1)


_DRAWS = 16


def _changing(options: ColumnOptions, at: Versions, salt: int) -> Ints:
    """Return points of which two neighbours differ. Those of even steps are drawn alone, those of odd ones until they
    differ from both neighbours. Two labels alternate.
    """

    def drawn(step: Ints, nth: int = 0) -> Ints:
        return _points(options, Hashes(hash_numbers(step, at.hash), salt_of(salt, nth) if nth else salt))

    if options.points == 2:
        return drawn(np.zeros_like(at.step)) ^ (at.step & 1)
    points, before, after = drawn(at.step), drawn(at.step - 1), drawn(at.step + 1)
    for nth in range(1, _DRAWS + 1):
        clashes = (at.step & 1 == 1) & ((points == before) | (points == after))
        if not clashes.any():
            return points
        has_next = before + 1 < options.points
        if nth < _DRAWS:
            other = drawn(at.step, nth)
        else:  # a neighbour of the point before
            other, second = before + np.where(has_next, 1, -1), before + np.where(has_next, -1, -2)
            other = np.where(other == after, np.where(second < 0, before + 2, second), other)
        points = np.where(clashes, other, points)
    return points
