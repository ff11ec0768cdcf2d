"""Numbers as json-iterator and ``%v`` write them, against Python's own shortest digits; BIT against bytes."""

from __future__ import annotations

import base64
import random
import struct
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ticdc_emit.columnar.binary_text import little_endian_base64
from ticdc_emit.columnar.decimals import decimal_as_double
from ticdc_emit.columnar.floats import general_text, number_text


def written(value: float) -> str:
    """Return a float64 as Go's strconv does, through the digits of ``repr``."""
    if value and not 1e-6 <= abs(value) < 1e21:
        return repr(value)
    text = f"{Decimal(repr(value)):f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def random_doubles(count: int) -> list[float]:
    rng = random.Random(count)
    found = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(count)]
    found += [rng.uniform(-1, 1) * 10.0 ** rng.randrange(-9, 24) for _ in range(count)]
    return [value for value in found if np.isfinite(value)]


EDGES = [0.0, -0.0, 1e-6, 9.999999e-7, 1e-7, 1e21, 999999999999999900000.0, 5e-324, 1.7976931348623157e308, 100.0]


def test_doubles() -> None:
    values: list[float | None] = [None, *random_doubles(500), *EDGES, None]
    array = pa.array([0.5, *values], pa.float64()).slice(1)
    assert number_text(array).to_pylist() == [None if value is None else written(value) for value in values]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (12345.12345, "12345.123"),
        (1e-6, "0.000001"),
        (9.999999e-7, "9.999999e-07"),
        (1e-7, "1e-07"),
        (1.5e-45, "1e-45"),
        (1e21, "1e+21"),
        (9.99999e20, "999999000000000000000"),
        (3.4028235e38, "3.4028235e+38"),
        (-0.0, "-0"),
    ],
)
def test_floats(value: float, text: str) -> None:
    assert number_text(pa.array([None, value], pa.float32())).to_pylist() == [None, text]


def written_generally(value: float) -> str:
    """Return a float64 as ``%v`` does: an exponent of two digits or more below 1e-4 and from 1e6 on."""
    if not value or 1e-4 <= abs(value) < 1e6:
        return written(value)
    mantissa, _, exponent = np.format_float_scientific(value, trim="-").partition("e")
    return f"{mantissa}e{int(exponent):+03d}"


def test_doubles_with_exponents() -> None:
    edges = [*EDGES, 1e-4, 9.999e-5, 999999.9999999999, 1e6, 123456789.0, 2.0**-12]
    values: list[float | None] = [None, *random_doubles(500), *edges]
    shown = [None if value is None else written_generally(value) for value in values]
    assert general_text(pa.array(values, pa.float64())).to_pylist() == shown


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0001, "0.0001"), (1e-5, "1e-05"), (2.0**-12, "0.00024414063"), (999999.9, "999999.9"), (1e6, "1e+06")],
)
def test_floats_with_exponents(value: float, text: str) -> None:
    assert general_text(pa.array([None, value], pa.float32())).to_pylist() == [None, text]


@pytest.mark.parametrize(
    ("precision", "scale"), [(5, 0), (12, 2), (15, 6), (12, 8), (15, 15), (18, 2), (18, 9), (30, 0), (65, 30)]
)
def test_decimals_become_the_nearest_double(precision: int, scale: int) -> None:
    rng = random.Random(precision)
    numbers = [rng.randrange(-(10**precision) + 1, 10**precision) // 10 ** rng.randrange(precision) for _ in range(300)]
    values = [Decimal(0), *(Decimal(number).scaleb(-scale) for number in numbers)]
    kind = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    array = pa.array([*values, None], kind)
    assert decimal_as_double(array).to_pylist() == [*(written(float(value)) for value in values), None]


@pytest.mark.parametrize("bits", [2, 8, 9, 16, 33, 64])
def test_bits(bits: int) -> None:
    rng = random.Random(bits)
    numbers = [0, (1 << bits) - 1, *(rng.randrange(1 << bits) for _ in range(50))]
    array = pa.array([7, *numbers, None], pa.uint64()).slice(1)
    expected = [base64.b64encode(number.to_bytes(-(-bits // 8), "little")).decode() for number in numbers]
    assert little_endian_base64(array, bits).to_pylist() == [*expected, None]
