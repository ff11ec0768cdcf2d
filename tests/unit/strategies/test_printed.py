"""The strategies' own printing: TiDB's text, and that of the encoders where both are right."""

from __future__ import annotations

import json
import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from ticdc_emit.columnar.floats import fixed_text
from ticdc_emit.sql.json_document import normalise
from ticdc_emit.strategies.values import document_text, single_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
NUMBERS = st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False, allow_infinity=False)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ((1 << 64) - 1, "18446744073709551615"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (100.0, "100.0"),
        (0.1, "0.1"),
        (1e-15, "0.000000000000001"),
        (9.5e-16, "9.5e-16"),
        (999999999999999.9, "999999999999999.9"),
        (1e15, "1e15"),
        (-1.25e300, "-1.25e300"),
        (5e-324, "5e-324"),
        ({"b": 1, "a": [], "é": {}, "": 2}, '{"": 2, "a": [], "b": 1, "é": {}}'),
        ({"\uffff": 1, "😀": 2}, '{"\uffff": 1, "😀": 2}'),
        ('<&>\u2028\x00\x7f\\"/\n\b', '"<&>\\u2028\\u0000\x7f\\\\\\"/\\n\\b"'),
    ],
)
def test_documents(value: Any, text: str) -> None:
    assert document_text(value) == text


@settings(max_examples=examples(300))
@given(DOCUMENTS)
def test_the_encoders_print_documents_alike(document: Any) -> None:
    assert normalise(json.dumps(document)) == document_text(document)


def of_bits(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def test_the_encoders_print_singles_alike() -> None:
    edges = [of_bits(exponent << 23 | rest) for exponent in range(255) for rest in (0, 1, 2, 0x7FFFFE, 0x7FFFFF)]
    values = [*edges, *(-each for each in edges), 0.1, 16777216.0, 3.4028234663852886e38]
    values = [of_bits(int.from_bytes(struct.pack("<f", each), "little")) for each in values]
    assert fixed_text(pa.array(values, pa.float32())).to_pylist() == [single_text(each) for each in values]


@settings(max_examples=examples(300))
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_encoders_print_any_single_alike(value: float) -> None:
    assert fixed_text(pa.array([value], pa.float32())).to_pylist() == [single_text(value)]
