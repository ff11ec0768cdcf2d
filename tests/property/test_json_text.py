"""The JSON normaliser against a plain printer, and the column-wise proof against the normaliser."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples
from plain_reference import json_document

from ticdc_emit.columnar.json_text import canonical_json
from ticdc_emit.sql.json_document import normalise

_TEXT = st.text(st.sampled_from('ab"\\<&\n\b\x1f\x7f\u2028é😀09'), max_size=5)
_NUMBERS = st.one_of(
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e15, 1e-15, 999999999999999.9, 9.99e-16, 1e16, 1e14, 0.1, -0.0, 100.0, 1e300, 5e-324]),
)
_VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=examples(400))
@given(value=_VALUES, ascii_only=st.booleans(), spacing=st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")]))
def test_normalise(value: Any, ascii_only: bool, spacing: tuple[str, str]) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, separators=spacing)
    printed = normalise(text)
    assert printed == json_document(value)
    assert normalise(printed) == printed
    assert json.loads(printed) == value
    assert canonical_json(pa.array([printed, None, text])).to_pylist() == [printed, None, printed]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("1.0", "1.0"),
        ("1e2", "100.0"),
        ("1E15", "1e15"),
        ("123456789012345680.0", "1.2345678901234568e17"),
        ("0.0000000000000001", "1e-16"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "1.8446744073709552e19"),
        ("-9223372036854775809", "-9.223372036854776e18"),
        ('{"b":1,"a":2,"b":3}', '{"a": 2, "b": 3}'),
        ('{"aa":1,"b":2,"é":3,"B":4}', '{"B": 4, "aa": 1, "b": 2, "é": 3}'),
        ('"\\u003c\\/\\u2028\\b\\f\\u001f"', '"</\\u2028\\b\\f\\u001f"'),
        ('"\\ud83d\\ude00 \\ud83d x"', '"😀 \ufffd x"'),
        (' [ 1 ,\t2 ]\n', "[1, 2]"),
    ],
)  # fmt: skip
def test_forms(text: str, printed: str) -> None:
    assert normalise(text) == printed
    assert normalise(printed) == printed


_DIGITS = ["0", "1", "7", "00", "01", "10", "000000000000000", "100000000000000", "123456789012345", "999999999999999"]
_DIGITS += ["1000000000000000", "999999999999999999", "0999999999999999999", "18446744073709551616"]
_FRACTIONS = ["", ".0", ".5", ".50", ".05", ".00", ".10", ".0000000001", ".00000000001", ".1234567890"]
_NUMBER_FORMS = [
    f"{sign}{whole}{fraction}{exponent}"
    for sign in ("", "-")
    for whole in _DIGITS
    for fraction in _FRACTIONS
    for exponent in ("", "e5", "E-3", "e15", "e-16")
]
_TEMPLATES = [
    "%s",
    "[%s, %s]",
    '{"a": %s, "b": %s}',
    '{"b": %s, "a": %s}',
    '{"a": %s, "a": %s}',
    '{"k1": %s, "k2": %s}',
    '{"k%d": %s, "k%d": %s}',
    '{"x": "%d", "y": %s}',
    '{"x": "\u2028%d", "y": %s}',
    '{"x": "\\u00%d1", "y": %s}',
    '{"x": "<%d>\\n", "y": %s}',
    '{"é%d": [%s], "é": {"%d": %s}}',
    '{"a":%s}',
    '{ "a": %s}',
    '["12\\"3": %s]',
    '{"a": "0\\":0", "b": %s}',
    '{"a": {"b": {"c": %s}}, "d": [%s, "%d:"]}',
]


@pytest.mark.parametrize("template", _TEMPLATES)
@pytest.mark.parametrize("few", [True, False], ids=["few shapes", "many shapes"])
def test_machine_made_columns(template: str, few: bool) -> None:
    """Same shapes with leading zeros, trailing zeros, negative zeros, neighbours of 1e15 and digits in keys."""
    chance = random.Random(template)
    for _ in range(12):
        forms = chance.sample(_NUMBER_FORMS, 3 if few else 60)
        if few:  # numbers of one shape: the digits vary, the layout does not
            forms = ["".join(chance.choice("0159") if c.isdigit() else c for c in form) for form in forms * 20]
        texts = [_filled(template, forms, chance) for _ in range(80)]
        good = [text for text in texts if _is_json(text)]
        assert canonical_json(pa.array(good, pa.string())).to_pylist() == [normalise(text) for text in good]
        bent = [None if chance.random() < 0.1 else text for text in good]
        array = pa.array([None, None, None, *bent], pa.string()).slice(3)
        assert canonical_json(array).to_pylist() == [None if text is None else normalise(text) for text in bent]


def _filled(template: str, forms: list[str], chance: random.Random) -> str:
    parts = template.replace("%d", "\0").replace("%s", "\1")
    return "".join(
        str(chance.randrange(0, 120)) if part == "\0" else chance.choice(forms) if part == "\1" else part
        for part in parts
    )


def _is_json(text: str) -> bool:
    try:
        normalise(text)
    except ValueError:
        return False
    return True


@settings(max_examples=examples(200))
@given(texts=st.lists(_VALUES.map(json.dumps) | _VALUES.map(json_document), max_size=80))
def test_any_column(texts: list[str]) -> None:
    assert canonical_json(pa.array(texts, pa.string())).to_pylist() == [normalise(text) for text in texts]
