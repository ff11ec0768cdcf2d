"""Values of columns as Spark SQL: under the user's options, else by the column's type and name.

In: a column, its :class:`~ticdc_emit.traffic.generate.column_options.Control`, the row's number, step and times. Out:
SQL text of the column's native type. A value is a function of the row (:func:`is_constant`), or of the row and a step.
A range or a list of labels has a number of points. The distribution draws one of them, with integers and functions that
give the same result on every machine.

Hashes of the column that must show every update alternate (:class:`~ticdc_emit.traffic.generate.sql.Alternating`): its
points are even at even steps and odd at odd ones, so two neighbours differ, and weights hold for pairs of labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    ColumnFlag,
    MySQLType,
)
from ticdc_emit.traffic.generate.column_options import Control, pattern_parts, unit_of
from ticdc_emit.traffic.generate.sql import (
    Alternating,
    between,
    hashed,
    listed,
    moment,
    native_type,
    padded,
    salt_of,
    scaled,
    text_of,
    units,
)
from ticdc_emit.traffic.generate.texts import (
    LASTING,
    Bits,
    binary_float,
    decimal,
    document,
    integer,
    meaning,
    realistic_text,
    tokens,
)

__all__ = ["Moment", "always_changing_column", "controlled", "is_constant", "is_null", "realistic", "varies"]


_SHARES = 10_000  # steps of a share of NULLs
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MOST_DIGITS = 9  # of one hash
_NORMAL_PARTS, _NORMAL_BITS = 4, 15


def controlled(column: Column, control: Control, bits: Bits) -> str:
    """Return the value."""
    if control.pattern:
        return f"concat({', '.join(_pattern(control.pattern, bits))})"
    if control.labels:
        label = f"get({listed(control.labels)}, cast({_label(control, bits)} as int))"
        return label if native_type(column) == "string" else f"cast({label} as {native_type(column)})"
    return _in_range(column, control.first, _point(control.count, control.distribution, bits))


def is_null(control: Control, bits: str) -> str:
    """Return whether the value is NULL, from a separate hash."""
    return f"{units(bits, _SHARES)} < {round((control.nulls or 0) * _SHARES)}L"


def _in_range(column: Column, first: int, point: str) -> str:
    if column.type in MOMENT_TYPES:
        return moment(column, f"({first}L + {point} * {unit_of(column)}L)")
    value = f"({first}L + {point})"
    if column.type is MySQLType.DATE:
        return f"date_add(date'1970-01-01', cast({value} as int))"
    if column.type is MySQLType.NEWDECIMAL:
        return scaled(column, value, len(str(unit_of(column))) - 1)
    if column.type in FLOAT_TYPES:
        return f"cast(cast({value} as double) / {unit_of(column)}D as {native_type(column)})"
    return f"cast({value} as {native_type(column)})"


def _label(control: Control, bits: Bits) -> str:
    count = len(control.labels)
    if not control.weights:
        return _point(count, control.distribution, bits)
    total, bounds = sum(control.weights), [0.0]
    for weight in control.weights:
        bounds.append(bounds[-1] + weight / total)
    drawn = f"(pmod({bits(0)!s}, {1 << 30}L) / {1 << 30}D)"
    return _alternated(_among(drawn, bounds, 0, count), count, bits)


def _among(drawn: str, bounds: Sequence[float], low: int, high: int) -> str:
    """Return the index of the span between bounds that has a number from 0 to 1, by binary search."""
    if high - low == 1:
        return f"{low}L"
    middle = (low + high) // 2
    parts = _among(drawn, bounds, low, middle), _among(drawn, bounds, middle, high)
    return f"if({drawn} < {bounds[middle]!r}D, {parts[0]}, {parts[1]})"


def _point(count: int, distribution: str, bits: Bits) -> str:
    """Return a number from 0 to ``count - 1`` (bigint)."""
    if distribution == "uniform" or count == 1:
        return units(bits(0), count)
    drawn = str(bits(0))
    if distribution == "zipf":  # the logarithm is uniform: every order of magnitude is equally likely
        point = f"(cast(floor(pow({count + 1}D, pmod({drawn}, {1 << 30}L) / {1 << 30}D)) as bigint) - 1L)"
    else:  # the sum of some uniform numbers
        parts = [
            f"(shiftright({drawn}, {_NORMAL_BITS * n}) & {(1 << _NORMAL_BITS) - 1}L)" for n in range(_NORMAL_PARTS)
        ]
        share = f"({' + '.join(parts)}) / {_NORMAL_PARTS << _NORMAL_BITS}D"
        point = f"cast(floor({share} * {count}D) as bigint)"
    return _alternated(f"least(greatest({point}, 0L), {count - 1}L)", count, bits)


def _alternated(point: str, count: int, bits: Bits) -> str:
    """Return the point; for alternating hashes, the point of its pair with the step's parity."""
    alternating = bits(0)
    if not isinstance(alternating, Alternating) or count == 1:
        return point
    paired = f"(({point}) & -2L | {alternating.parity})"
    return f"({paired} - if({paired} >= {count}L, 2L, 0L))"


def _pattern(pattern: str, bits: Bits) -> list[str]:
    parts: list[str] = []
    nth = 0
    for is_placeholder, text in pattern_parts(pattern):
        if not is_placeholder:
            parts.append(text_of(text))
            continue
        width = _MOST_DIGITS if text[0] == "#" else 1
        for start in range(0, len(text), width):
            parts.append(_drawn(text[start : start + width], bits(nth)))
            nth += 1
    return parts


def _drawn(placeholder: str, bits: str) -> str:
    width = len(placeholder)
    if placeholder[0] == "#":
        return f"lpad(cast({units(bits, 10**width)} as string), {width}, '0')"
    letters = _LETTERS if placeholder == "?" else _LETTERS.upper()
    return f"substring('{letters}', cast({units(bits, 26)} as int) + 1, 1)"


_SECOND, _DAY = 1_000_000, 86_400_000_000  # in microseconds

_CREATED = frozenset({"created", "inserted", "registered", "joined", "placed", "opened", "born", "ctime"})
_UPDATED = frozenset({"updated", "modified", "changed", "seen", "mtime", "checked", "touched", "booked", "shipped"})
_BIRTHDAYS = frozenset({"birthday", "birthdate", "birth", "dob"})


@dataclass(frozen=True)
class Moment:
    """The inputs of a value, as SQL text: the row's number, the step of its life, and times in microseconds."""

    number: str
    step: str
    born: str
    now: str


def is_constant(column: Column) -> bool:
    """Return whether a column keeps its value for the row's life, judging by its name."""
    known = set(tokens(column.name))
    if column.type in STRING_TYPES and not column.is_binary:
        return meaning(column) in LASTING
    if column.type in (MySQLType.DATETIME, MySQLType.TIMESTAMP, MySQLType.DATE):
        return not column.flags & ColumnFlag.ON_UPDATE_NOW and bool(known & (_CREATED | _BIRTHDAYS))
    return bool(known & {"age", "birth"}) or (len(known) > 1 and "id" in known)


def realistic(
    column: Column,
    seed_of: tuple[object, ...],
    at: Moment,
    *,
    fixed: bool = False,
    restless: bool = False,
    control: Control | None = None,
) -> str:
    """Return the value; ``seed_of``: the other inputs of the hash. ``control``: the user's options.

    ``fixed``: the same for the row's life. ``restless``: two neighbouring steps never have the same value. A nullable
    column is NULL in a tenth of its versions, unless it is fixed.
    """
    salt = salt_of(*seed_of, column.name)
    fixed = fixed or is_constant(column)
    version = () if fixed else (at.step if restless else _version(column, salt, at),)

    def bits(nth: int) -> str:
        drawn = hashed(salt + nth, at.number, *version)
        return Alternating(drawn, at.step) if restless and nth == 0 else drawn

    def person(nth: int) -> str:
        return hashed(salt_of(*seed_of) + nth, at.number)

    if control is not None and control.has_values:
        value = controlled(column, control, bits)
    else:
        value = _value(column, bits, person, at, fixed)
    if control is not None and control.nulls is not None:
        return _with_nulls(column, control, value, bits)
    if not column.nullable or fixed:
        return value
    is_null = f"{units(bits(99), 10)} = 0L"
    if isinstance(alternating := bits(0), Alternating):  # only at even steps, so two neighbours are never both NULL
        share = f" and {units(bits(99), 5)} = 0L" if _has_two_values(column) else ""
        is_null = f"{alternating.parity} = 0L{share}"
    return f"if({is_null}, cast(null as {native_type(column)}), {value})"


def _with_nulls(column: Column, control: Control, value: str, bits: Bits) -> str:
    if not control.nulls:
        return value
    alternating = bits(0)
    if control.nulls == 1:
        return f"cast(null as {native_type(column)})"
    if isinstance(alternating, Alternating):  # only at even steps, each with twice the share
        doubled = replace(control, nulls=min(2 * control.nulls, 1.0))
        condition = f"{alternating.parity} = 0L and {is_null(doubled, bits(99))}"
    else:
        condition = is_null(control, bits(99))
    return f"if({condition}, cast(null as {native_type(column)}), {value})"


def varies(column: Column, control: Control | None = None) -> bool:
    """Return whether a column can take another value at every step."""
    if control is not None and control.nulls == 1:
        return False
    if control is not None and control.has_values:
        return control.varies
    return (column.nullable and (control is None or control.nulls is None)) or _has_two_values(column)


def _has_two_values(column: Column) -> bool:
    if column.type is MySQLType.ENUM:
        return len(column.elems) > 1
    return column.flen != 0 if column.type in STRING_TYPES else True


def always_changing_column(columns: Sequence[Column], controls: Mapping[str, Control] | None = None) -> Column | None:
    """Return the column that best shows every update: preferably one with many values that is NOT NULL.

    ``controls``: by name. Such a column is the last choice, because showing every update distorts its distribution.
    ``None`` if none of them :func:`varies`.
    """
    controls = controls or {}
    kinds = (*INTEGER_TYPES, MySQLType.NEWDECIMAL, MySQLType.FLOAT, MySQLType.DOUBLE, *STRING_TYPES, MySQLType.JSON)

    def worth(column: Column) -> tuple[bool, int, bool, bool, int]:
        large = column.type in kinds and column.type is not MySQLType.TINY
        control = controls.get(column.name)
        points = 0 if control is None else max(control.count, len(control.labels), 1 << 62 if control.pattern else 0)
        return control is None, points, large, not column.nullable, -column.id

    return max((each for each in columns if varies(each, controls.get(each.name))), key=worth, default=None)


def _version(column: Column, salt: int, at: Moment) -> str:
    """Return how often the value has changed: at every step, or at every second to fifth one."""
    if _is_clock(column) or _is_progress(column):
        return at.step
    every = 2 + salt % 4
    return f"(({at.step} + pmod({at.number} + {salt % 97}L, {every}L)) div {every}L)"


def _is_clock(column: Column) -> bool:
    known = set(tokens(column.name))
    return column.type in MOMENT_TYPES and bool(known & _UPDATED or column.flags & ColumnFlag.ON_UPDATE_NOW)


def _is_progress(column: Column) -> bool:
    return column.type is MySQLType.ENUM and bool(set(tokens(column.name)) & {"status", "state", "stage", "phase"})


def _value(column: Column, bits: Bits, person: Bits, at: Moment, fixed: bool) -> str:
    kind = column.type
    if kind in INTEGER_TYPES:
        return f"cast({integer(column, bits)} as {native_type(column)})"
    if kind is MySQLType.NEWDECIMAL:
        return decimal(column, bits)
    if kind in FLOAT_TYPES:
        return binary_float(column, bits)
    if kind in STRING_TYPES:
        return _binary(column, bits) if column.is_binary else realistic_text(column, bits, person)
    if kind in MOMENT_TYPES:
        return moment(column, _alternating_time(column, bits(0), _time(column, bits, at, fixed)))
    if kind is MySQLType.DATE:
        return f"date_add(date'1970-01-01', cast({_day(column, bits, at, fixed)} as int))"
    if kind is MySQLType.DURATION:
        return _duration(column, bits)
    if kind is MySQLType.YEAR:
        return f"cast({between(bits(0), 1990, 2030)} as int)"
    if kind is MySQLType.BIT:
        return units(bits(0), 1 << min(max(column.flen, 1), 62))
    if kind is MySQLType.JSON:
        return document(column, bits)
    return _labels(column, bits, at) if kind in LABEL_TYPES else _vector(column, bits)


def _binary(column: Column, bits: Bits) -> str:
    room = column.flen if column.flen > 0 else 64
    width = min(room, 16)
    drawn = [bits(n) for n in range(1 + (width > 8))]
    if isinstance(alternating := drawn[0], Alternating):  # in the first bit of the first byte
        drawn[0] = f"({alternating} & {(1 << 63) - 1}L | shiftleft({alternating.parity}, 63))"
    parts = [f"lpad(hex({each}), 16, '0')" for each in drawn]
    value = f"unhex(left(concat({', '.join(parts)}), {2 * width}))"
    return padded(column, value, width)


def _time(column: Column, bits: Bits, at: Moment, fixed: bool) -> str:
    if _is_clock(column) and not fixed:
        return at.now
    if set(tokens(column.name)) & _CREATED:
        return at.born
    return f"({at.born} + {between(bits(0), -30 * 86_400, 30 * 86_400)} * {_SECOND}L + {units(bits(1), _SECOND)})"


def _alternating_time(column: Column, bits: str, micros: str) -> str:
    """If bits alternate, cut a time to two units of the column's last digit, and show the step in that digit."""
    if not isinstance(bits, Alternating):
        return micros
    unit = 10 ** (6 - max(column.decimal, 0))
    return f"({micros} div {2 * unit}L * {2 * unit}L + {bits.parity} * {unit}L)"


def _day(column: Column, bits: Bits, at: Moment, fixed: bool) -> str:
    known = set(tokens(column.name))
    if known & _BIRTHDAYS:
        return between(bits(0), -7_000, 13_000)
    today = f"{at.born} div {_DAY}L"
    return f"({today})" if known & _CREATED else f"({today} + {between(bits(0), -30, 30)})"


def _duration(column: Column, bits: Bits) -> str:
    fsp = max(column.decimal, 0)

    def two(nth: int, count: int) -> str:
        return f"lpad(cast({units(bits(nth), count)} as string), 2, '0')"

    clock = f"concat({two(0, 24)}, ':', {two(1, 60)}, ':', {two(2, 60)}"
    fraction = f", '.', lpad(cast({units(bits(3), 10**fsp)} as string), {fsp}, '0')" if fsp else ""
    zeros = "." + "0" * fsp if fsp else ""
    ends = f"when 0L then '-838:59:59{zeros}' when 1L then '838:59:59{zeros}'"
    if isinstance(alternating := bits(0), Alternating):
        end = f"case {alternating.parity} when 0L then '-838:59:59{zeros}' else '838:59:59{zeros}' end"
        return f"if({units(bits(4), 25)} = 0L, {end}, {clock}{fraction}))"
    return f"(case {units(bits(4), 50)} {ends} else {clock}{fraction}) end)"


def _labels(column: Column, bits: Bits, at: Moment) -> str:
    alternating = isinstance(bits(0), Alternating)
    if column.type is MySQLType.ENUM:
        count = len(column.elems)
        index = f"least({at.step}, {count - 1}L)" if _is_progress(column) else units(bits(0), count)
        if _is_progress(column) and alternating and count > 1:  # back and forth between the last two
            index = f"least({at.step}, {count - 1}L - pmod({at.step} - {count - 1}L, 2L))"
        return f"get({listed(column.elems)}, cast({index} as int))"
    drawn = [f"(shiftright({bits(0)}, {n % 60}) & 1L)" for n in range(len(column.elems))]
    if isinstance(bits(0), Alternating):
        drawn[0] = f"pmod({at.step}, 2L)"
    chosen = [f"if({bit} = 1L, {text_of(label)}, null)" for bit, label in zip(drawn, column.elems, strict=True)]
    # concat_ws is never NULL, and a field that cannot be NULL does not fit a nullable image
    return f"if({at.number} is null, null, concat_ws(',', {', '.join(chosen)}))"


def _vector(column: Column, bits: Bits) -> str:
    """Return the text of a vector with the column's number of dimensions, by default three."""
    count = column.flen if column.flen > 0 else 3
    drawn = (f"shiftright({bits(n // 8)}, {n % 8 * 6})" if n % 8 else bits(n // 8) for n in range(count))
    parts = [f"cast({between(each, -99, 99)} as string)" for each in drawn]
    listed = ", ',', ".join(parts)
    return f"concat('[', {listed}, ']')"
