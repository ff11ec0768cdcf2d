"""Byte diffs and tree diffs name the place."""

from __future__ import annotations

import pytest

from ticdc_emit.conformance.compare import byte_diff, compare_outcomes, first_difference
from ticdc_emit.conformance.vectors import Outcome, Record


def test_byte_diff_points_at_the_byte() -> None:
    left, right = b"x" * 100 + b"A" + b"y" * 100, b"x" * 100 + b"\x00" + b"y" * 100
    title, expected, got, caret = byte_diff(left, right, "value").splitlines()
    assert title == "value differs at byte 100 (expected 201 bytes, got 201)"
    assert expected.startswith("  expected  …xxx")
    assert expected[caret.index("^")] == "A"
    assert got[caret.index("^") :].startswith("\\x00yyy")
    assert expected.endswith("y…")


def test_byte_diff_of_a_prefix() -> None:
    title, expected, got, caret = byte_diff(b"abc", b"ab", "key").splitlines()
    assert title == "key differs at byte 2 (expected 3 bytes, got 2)"
    assert expected == "  expected  abc"
    assert got == "  got       ab (ends here)"
    assert caret.index("^") == len("  expected  ab")


def test_bytes_that_do_not_print_stay_aligned() -> None:
    _, expected, got, caret = byte_diff(b"\xe4\xb8\xad1", b"\xe4\xb8\xad2", "value").splitlines()
    assert (expected[caret.index("^")], got[caret.index("^")]) == ("1", "2")


def test_null_is_not_empty() -> None:
    assert byte_diff(None, b"", "value").splitlines()[1:] == ["  expected  null", "  got       (zero bytes)"]


def test_a_null_key_of_a_row_is_one_of_zero_length() -> None:
    recorded = Outcome((Record(None, b"v"),))
    assert compare_outcomes(recorded, Outcome((Record(b"", b"v"),)), dml=True) is None
    assert "key differs" in (compare_outcomes(recorded, Outcome((Record(None, b"v"),)), dml=True) or "")
    assert "key differs" in (compare_outcomes(recorded, Outcome((Record(b"", b"v"),)), dml=False) or "")


def test_a_refusal_must_be_typed_and_silent() -> None:
    refused = Outcome(error="[CDC:ErrX] no")
    assert compare_outcomes(refused, Outcome(error="our own words"), dml=True) is None
    crashed = Outcome(error="KeyError: 'x'", crashed=True)
    assert compare_outcomes(refused, crashed, dml=True) == "the library crashed: KeyError: 'x'"
    assert compare_outcomes(Outcome(), crashed, dml=True) == "the library crashed: KeyError: 'x'"
    assert "the library gave 1 message" in (compare_outcomes(refused, Outcome((Record(b"", b"v"),)), dml=True) or "")


def test_several_messages_are_numbered() -> None:
    one, two = Record(b"", b"1"), Record(b"", b"2")
    difference = compare_outcomes(Outcome((one, two)), Outcome((one, one)), dml=True)
    assert (difference or "").startswith("message 1: value differs at byte 0")
    assert compare_outcomes(Outcome((one, two)), Outcome((one,)), dml=True) == (
        "TiCDC gives 2 messages, the library 1 message"
    )


@pytest.mark.parametrize(
    ("got", "expected", "difference"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, None),
        ({"a": 1}, {"a": 2}, "a: got 1, expected 2"),
        ({"a": True}, {"a": 1}, "a: got True, expected 1"),
        ({"a": {"b": [1]}}, {"a": {"b": [1, 2]}}, "a.b: 1 entries, expected 2"),
        ({"a": {"b": [1, 3]}}, {"a": {"b": [1, 2]}}, "a.b[1]: got 3, expected 2"),
        ({}, {"a": 0}, "a: missing here: 0"),
        ({"a": 0}, {}, "a: only here: 0"),
    ],
)
def test_first_difference(got: object, expected: object, difference: str | None) -> None:
    assert first_difference(got, expected) == difference
