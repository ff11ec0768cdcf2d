"""Texts are read as Go reads them; the expected values and messages are what Go 1.21+ prints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.config.document import GoSyntaxError, parse_bool, parse_duration_ms, parse_int


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_true(text: str) -> None:
    assert parse_bool(text) is True


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_false(text: str) -> None:
    assert parse_bool(text) is False


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("yes", '"yes"'),
        ("tRue", '"tRue"'),
        (" true", '" true"'),
        ('a"\n\x7f\u200b', r'"a\"\n\x7f\u200b"'),
        ("é😀", '"é😀"'),
    ],
)
def test_bool_refused(text: str, quoted: str) -> None:
    with pytest.raises(GoSyntaxError) as refusal:
        parse_bool(text)
    assert str(refusal.value) == f"strconv.ParseBool: parsing {quoted}: invalid syntax"


@given(st.integers(-(2**63), 2**63 - 1))
def test_int_round_trip(value: int) -> None:
    assert parse_int(str(value)) == value


@pytest.mark.parametrize("text", ["", "1k", "1_000", "0x10", " 1", "1.0", "+", "１"])
def test_int_syntax(text: str) -> None:
    with pytest.raises(GoSyntaxError, match="invalid syntax"):
        parse_int(text)


@pytest.mark.parametrize(
    ("text", "bits"), [("32768", 16), ("-32769", 16), ("2147483648", 32), (str(2**63), 64), ("9" * 5000, 64)]
)
def test_int_range(text: str, bits: int) -> None:
    with pytest.raises(GoSyntaxError, match="value out of range"):
        parse_int(text, bits)


def test_int_leading_zeros_and_sign() -> None:
    assert parse_int("+007") == 7
    assert parse_int("-" + "0" * 30 + "5") == -5


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("10s", 10_000), ("-1.5h", -5_400_000), ("1m30.5s", 90_500), ("0", 0), ("+0", 0), ("1500us", 1), (".5s", 500)],
)
def test_duration(text: str, milliseconds: int) -> None:
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10", 'time: missing unit in duration "10"'),
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("1y", 'time: unknown unit "y" in duration "1y"'),
        ("1h-2m", 'time: unknown unit "h-" in duration "1h-2m"'),
        ("µs", r'time: invalid duration "\xc2\xb5s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
    ],
)
def test_duration_refused(text: str, message: str) -> None:
    with pytest.raises(GoSyntaxError) as refusal:
        parse_duration_ms(text)
    assert str(refusal.value) == message
