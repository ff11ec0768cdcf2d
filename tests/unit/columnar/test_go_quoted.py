"""Binary data as Go's strconv.Quote prints it: compared with a reading byte by byte, and with what Go gave."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.columnar.binary_text import go_quoted_json
from ticdc_emit.columnar.escape import GO_STD, JSONITER

_SHORT = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 0x22: '\\"', 0x5C: "\\\\"}


def one_by_one(data: bytes) -> str:
    """strconv.Quote without its quotes."""
    text, at = "", 0
    while at < len(data):
        for length in (1, 2, 3, 4):
            try:
                char = data[at : at + length].decode()
            except UnicodeDecodeError:
                continue
            break
        else:
            text += f"\\x{data[at]:02x}"
            at += 1
            continue
        code = ord(char)
        at += length
        if code in _SHORT:
            text += _SHORT[code]
        elif code < 0x20 or code == 0x7F:
            text += f"\\x{code:02x}"
        elif char.isprintable():
            text += char
        else:
            text += f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return text


_PIECES = st.one_of(
    st.binary(max_size=6),
    st.text(st.characters(codec="utf-8", max_codepoint=0x52F), max_size=4).map(str.encode),
    st.sampled_from([text.encode() for text in ("é", "中", "🎉", "\u00a0", "\u2028", "\U000e0001", "\ue000", "<&>")]),
)


@given(st.lists(st.none() | st.lists(_PIECES, max_size=4).map(b"".join), max_size=8), st.sampled_from([0, 5]))
def test_every_element_is_quoted_as_by_itself(elements: list[bytes | None], others: int) -> None:
    array = pa.array([b"before", *elements, *[b""] * others], pa.binary()).slice(1)
    for writer in (GO_STD, JSONITER):
        found = go_quoted_json(array, writer).to_pylist()
        assert [None if each is None else json.loads(f'"{each}"') for each in found] == [
            None if each is None else one_by_one(each) for each in [*elements, *[b""] * others]
        ]


def test_much_data_that_is_no_text_is_quoted_as_by_itself() -> None:
    data = np.random.default_rng(5).bytes(9_000)
    elements = [data[at : at + 7] for at in range(0, len(data), 7)]
    found = go_quoted_json(pa.array(elements, pa.binary()), JSONITER).to_pylist()
    assert [json.loads(f'"{each}"') for each in found] == list(map(one_by_one, elements))


def test_a_character_that_is_split_over_two_elements_is_none() -> None:
    array = pa.array(["é".encode()[:1], "é".encode()[1:]], pa.binary())
    assert go_quoted_json(array, JSONITER).to_pylist() == [r"\\xc3", r"\\xa9"]


@pytest.mark.parametrize(
    ("code", "is_printed"),
    [(0x61D, True), (0x1FAE8, True), (0x31350, True), (0x2FFC, False), (0x2EBF0, False), (0x2EE5D, False)],
)
def test_unicode_is_that_of_go(code: int, is_printed: bool) -> None:
    (found,) = go_quoted_json(pa.array([chr(code).encode()], pa.binary()), GO_STD).to_pylist()
    assert (found == chr(code)) is is_printed
