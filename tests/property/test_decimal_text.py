"""Decimals given as text: the fast way and the slow one accept the same texts, and read the same numbers."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from ticdc_emit.columnar.decimals import _by_row, _converted
from ticdc_emit.columnar.value_errors import ValueRefused

KINDS = st.sampled_from(
    [pa.decimal128(9, 2), pa.decimal128(18, 0), pa.decimal128(38, 0), pa.decimal128(38, 38), pa.decimal256(65, 30)]
)
DIGITS = st.text("0123456789", max_size=80) | st.text("019", max_size=12)
TEXTS = st.builds(
    lambda sign, whole, point, part, exponent: sign + whole + point + part + exponent,
    st.sampled_from(["", "-", "+", " "]),
    DIGITS,
    st.sampled_from(["", "."]),
    DIGITS,
    st.sampled_from(["", "", "", "e2", "E-3", "e40"]),
)


@settings(max_examples=examples(2000))
@given(KINDS, st.lists(st.none() | TEXTS, max_size=4))
def test_both_ways_agree(kind: pa.DataType, texts: list[str | None]) -> None:
    try:
        slow: object = _by_row(texts, kind).to_pylist()
    except ValueRefused as fault:
        slow = fault.index
    try:
        fast: object = _converted(pa.array(texts, pa.string()), kind).to_pylist()
    except ValueRefused as fault:
        fast = fault.index
    assert fast == slow
