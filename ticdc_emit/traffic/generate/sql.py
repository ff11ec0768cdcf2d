"""Building blocks of Spark SQL text for generated values.

Expressions are text, not ``Column`` objects, so they are planned without Spark, and a hundred columns take one call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import FLOAT_TYPES, INTEGER_TYPES, STRING_TYPES, MySQLType

__all__ = [
    "EPOCH",
    "Alternating",
    "between",
    "canonical_text",
    "hashed",
    "listed",
    "moment",
    "native_type",
    "numbers",
    "padded",
    "pick",
    "salt_of",
    "scaled",
    "text_of",
    "units",
]


EPOCH = "timestamp_ntz'1970-01-01 00:00:00'"
_DIVIDERS = ("|", ";", "~", "\x01")


def salt_of(*parts: object) -> int:
    """Return a number of 60 bits that differs for different parts, the same in every process."""
    digest = hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 4


def hashed(salt: int, *of: str) -> str:
    """Return a hash of 64 bits of expressions of type bigint."""
    return f"xxhash64({', '.join([f'{salt}L', *of])})"


class Alternating(str):
    """A hash whose :func:`units` differ between two neighbouring steps: even numbers at even ones, else odd ones."""

    __slots__ = ("parity",)

    def __new__(cls, bits: str, step: str) -> Alternating:
        """``bits``: the hash. ``step``: SQL of the step (bigint)."""
        self = super().__new__(cls, bits)
        self.parity = f"pmod({step}, 2L)"
        return self

    parity: str
    """SQL of 0 at even steps and 1 at odd ones (bigint)."""


def units(bits: str, count: int) -> str:
    """Return a number from 0 to ``count - 1`` (bigint) out of a hash."""
    if not isinstance(bits, Alternating) or count == 1:
        return f"pmod({bits}, {count}L)"
    numbers_of_parity = f"{count // 2}L" if count % 2 == 0 else f"({count // 2 + 1}L - {bits.parity})"
    return f"(pmod({bits}, {numbers_of_parity}) * 2L + {bits.parity})"


def between(bits: str, low: int, high: int) -> str:
    """Return a number from ``low`` to ``high``, both included, out of a hash; their distance is below 2**63."""
    assert low <= high
    return f"({units(bits, high - low + 1)} + {low}L)" if low else units(bits, high - low + 1)


def pick(words: Sequence[str], bits: str) -> str:
    """Return one of the words, out of a hash."""
    return f"get({listed(words)}, cast({units(bits, len(words))} as int))"


def listed(words: Sequence[str]) -> str:
    """Return a constant array of texts.

    It is one literal that Spark splits while planning, because a plan with a node per word is slow to optimise.
    """
    divider = next((sign for sign in _DIVIDERS if not any(sign in word for word in words)), None)
    if divider is None:
        return f"array({', '.join(map(text_of, words))})"
    return f"split({text_of(divider.join(words))}, '[{divider}]')"


def not_in_whole_stage(value: str) -> str:
    """Return the value, and keep its projection out of Spark's whole-stage code.

    In whole-stage code, all columns of a projection are one method, which the JVM runs slowly or refuses if it is
    large. Otherwise each column has its own method. Spark's code generation supports ``transform`` since 4.3, but not
    ``zip_with``.
    """
    return f"element_at(zip_with(array({value}), array(0), (x, y) -> x), 1)"


def numbers(values: Sequence[int], index: str) -> str:
    """Return the number at ``index`` (int, from 0 on) of a constant list, as bigint; NULL outside of it."""
    return f"get(cast({listed([str(value) for value in values])} as array<bigint>), {index})"


def text_of(text: str) -> str:
    """Return a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_MAX_NATIVE_DIGITS = 38


def native_type(column: Column) -> str:
    """Return the Spark type of a column's values; :class:`UnsupportedTypeError` for a type that has none."""
    kind = column.type
    if kind in INTEGER_TYPES:
        return "bigint" if kind is MySQLType.LONGLONG or (kind is MySQLType.LONG and column.unsigned) else "int"
    if kind is MySQLType.NEWDECIMAL:
        return f"decimal({column.flen},{max(column.decimal, 0)})" if column.flen <= _MAX_NATIVE_DIGITS else "string"
    if kind in STRING_TYPES:
        return "binary" if column.is_binary else "string"
    named = {
        MySQLType.FLOAT: "float",
        MySQLType.DOUBLE: "double",
        MySQLType.YEAR: "int",
        MySQLType.BIT: "bigint",
        MySQLType.DATE: "date",
        MySQLType.DATETIME: "timestamp_ntz",
        MySQLType.TIMESTAMP: "timestamp",
        MySQLType.DURATION: "string",
        MySQLType.ENUM: "string",
        MySQLType.SET: "string",
        MySQLType.JSON: "string",
        MySQLType.VECTOR_FLOAT32: "string",
    }
    if kind not in named:
        raise UnsupportedTypeError(
            f"cannot generate values for type {kind.name}", remedy="Leave the column out", column=column.name
        )
    return named[kind]


def scaled(column: Column, unscaled: str, varied: int) -> str:
    """Return a decimal from a bigint, with the last ``varied`` digits after the point."""
    scale = max(column.decimal, 0)
    if column.flen <= _MAX_NATIVE_DIGITS:
        point = f"{10**varied}BD" if varied else ""
        exact = f"cast({unscaled} as decimal(20,0))"
        shifted = f"{exact} * 0.{'1'.rjust(varied, '0')}BD" if point else exact
        return f"cast({shifted} as {native_type(column)})"
    digits = (
        f"lpad(cast(abs({unscaled}) as string), {varied + 1}, '0')" if varied else f"cast(abs({unscaled}) as string)"
    )
    whole = f"cast({unscaled} div {10**varied}L as string)"
    sign = f"if({unscaled} < 0L and {unscaled} > -{10**varied}L, '-', '')"
    if not scale:
        return whole
    return f"concat({sign}, {whole}, '.', rpad(right({digits}, {varied}), {scale}, '0'))"


def padded(column: Column, value: str, width: int) -> str:
    """Pad a BINARY with zero bytes, as TiDB stores it."""
    short = column.type is MySQLType.STRING and column.flen > width
    return f"rpad({value}, {column.flen}, X'00')" if short else value


def moment(column: Column, micros: str) -> str:
    """Return DATETIME or TIMESTAMP of a moment, cut to the column's fraction digits."""
    fsp = max(column.decimal, 0)
    unit = 10 ** (6 - fsp)
    cut = micros if unit == 1 else f"({micros} div {unit}L * {unit}L)"
    if column.type is MySQLType.TIMESTAMP:
        return f"timestamp_micros({cut})"
    return f"timestampadd(MICROSECOND, {cut}, {EPOCH})"


def canonical_text(column: Column, value: str, time_zone: str) -> str:
    """Return the text; TIMESTAMP as the wall clock in ``time_zone``."""
    kind = column.type
    if kind in STRING_TYPES:
        return f"base64({value})" if column.is_binary else value
    if kind in FLOAT_TYPES:
        whole = f"cast(cast({value} as bigint) as string)"
        return f"if({value} = floor({value}), {whole}, cast({value} as string))"
    if kind is MySQLType.DATETIME:
        return _clock(column, value)
    if kind is MySQLType.TIMESTAMP:
        utc = f"timestampadd(MICROSECOND, unix_micros({value}), {EPOCH})"
        local = utc if time_zone == "UTC" else f"convert_timezone('UTC', {text_of(time_zone)}, {utc})"
        return _clock(column, local)
    if kind in (MySQLType.ENUM, MySQLType.SET, MySQLType.JSON, MySQLType.DURATION, MySQLType.VECTOR_FLOAT32):
        return value
    return f"cast({value} as string)"


def _clock(column: Column, value: str) -> str:
    """Return a timestamp_ntz with all its fraction digits; a cast drops trailing zeros."""
    fsp = max(column.decimal, 0)
    text = f"cast({value} as string)"
    return text if fsp == 0 else f"rpad(if(length({text}) = 19, concat({text}, '.'), {text}), {20 + fsp}, '0')"
