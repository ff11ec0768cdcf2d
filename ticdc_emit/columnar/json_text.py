"""JSON columns: acceptance as TiDB's text (:func:`ticdc_emit.sql.json_document.normalise`).

Only texts that are not canonical already are normalised one by one. The check of the whole column works on **shapes**:
a text with its digits written as ``0``. If one text of a shape comes back unchanged, every text of it is canonical,
provided that digits at a few known places (a leading digit, a last fraction digit) are not zero. Machine-made JSON has
few shapes; if a column has many, each row is normalised.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import FEW, from_bytes, null_mask, text_buffers
from ticdc_emit.columnar.value_errors import read_each
from ticdc_emit.sql.json_depth import DEEPEST
from ticdc_emit.sql.json_document import Doubles, normalise

_ZERO, _ONE, _EIGHT, _LOW_BITS = np.uint8(0x30), np.uint8(0x31), np.uint8(8), np.uint8(0x0F)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[-+.eE\d]*')
_MAX_EXACT_DIGITS = 15  # a decimal of up to this many digits is its own shortest form
_MAX_INT_DIGITS = 18
_MAX_FRACTION: dict[Doubles, int] = {"new": 10, "old": 6}  # fraction digits of which one suffices to need no exponent


def canonical_json(array: pa.Array, doubles: Doubles = "new") -> pa.Array:
    """Return JSON texts in TiDB's form; :class:`ValueRefused` for what is not JSON. Nulls stay null."""
    canonical = partial(_canonical, doubles=doubles)
    if len(array) == array.null_count:
        return array
    if len(array) <= FEW:
        texts = array.to_pylist()
        fixed = read_each(texts, canonical)
        return array if fixed == texts else pa.array(fixed, array.type)
    parts = text_buffers(array)
    shapes = from_bytes(parts.offsets, _digits_as_zero(parts.data), like=array).dictionary_encode()
    if len(shapes.dictionary) * 4 > len(array) > 64:
        proven = np.zeros(len(array), np.bool_)
    else:
        proven = _proven(parts.offsets, parts.data, shapes, doubles)
    nulls = null_mask(array)
    if nulls is not None:
        proven |= nulls
    if proven.all():
        return array
    rows = pa.array(~proven)
    texts = array.filter(rows).to_pylist()
    fixed = read_each(texts, canonical, where=~proven)
    return array if fixed == texts else pc.replace_with_mask(array, rows, pa.array(fixed, array.type))


def _digits_as_zero(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    # 1 to 9 differ from 0 in the low bits alone; whole-array operations take a third of bytes.translate
    is_digit = (data - _ONE <= _EIGHT).view(np.uint8)
    zeros: npt.NDArray[np.uint8] = data & ~(is_digit * _LOW_BITS)
    return zeros


def _canonical(text: str, doubles: Doubles) -> str:
    try:
        return text if _plainly_canonical(text, doubles) else normalise(text, doubles)
    except ValueError as fault:
        raise ValueError(f"not a JSON document: {fault}") from None


def _proven(
    offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8], shapes: pa.Array, doubles: Doubles
) -> npt.NDArray[np.bool_]:
    kinds = np.asarray(shapes.indices.fill_null(0))
    places = [_nonzero_places(shape, doubles) for shape in shapes.dictionary.to_pylist()]
    width = max((len(each) for each in places if each is not None), default=0)
    good: npt.NDArray[np.bool_] = np.array([each is not None for each in places], np.bool_)[kinds]
    if width == 0:
        return good
    table = np.full((len(places), width), -1, np.int32)
    for row, each in enumerate(places):
        if each:
            table[row, : len(each)] = each
    guarded = np.append(data, np.uint8(0xFF))
    starts = offsets[:-1]
    for column in table.T:
        place = column[kinds]
        good &= guarded[np.where(place < 0, len(data), np.minimum(starts + place, len(data)))] != _ZERO
    return good


@lru_cache(maxsize=8192)
def _nonzero_places(shape: str, doubles: Doubles) -> tuple[int, ...] | None:
    """Return the byte places that must not be ``0`` for a text of this shape to be canonical; ``None`` if unknown. The
    shape is tried with ones instead of zeros, because no rule for numbers forbids ones.
    """
    if "\\" in shape:
        return None
    sample = shape.replace("0", "1")
    try:
        if normalise(sample, doubles) != sample:
            return None
    except ValueError:
        return None
    places: list[int] = []
    by_byte = shape.encode().decode("latin-1")
    for token in _TOKEN.finditer(by_byte):
        text = token.group()
        if text[0] == '"':
            if "0" in text and by_byte[token.end() : token.end() + 1] == ":":
                return None  # digits in a key: their order matters
            continue
        if (number_places := _number_places(text, token.start(), doubles)) is None:
            return None
        places += number_places
    return tuple(places)


def _number_places(text: str, start: int, doubles: Doubles) -> list[int] | None:
    negative = text[0] == "-"
    digits = text.lstrip("-")
    whole, dot, fraction = digits.partition(".")
    if "e" in digits or "E" in digits or len(whole) > _MAX_INT_DIGITS:
        return None
    first = start + negative
    places = [first] if negative or len(whole) > 1 else []
    if dot:
        if len(whole) + len(fraction) > _MAX_EXACT_DIGITS or len(fraction) > _MAX_FRACTION[doubles]:
            return None
        if len(fraction) > 1 or doubles == "old":
            places.append(start + len(text) - 1)
    return places


_PYTHON_FORM = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
_NOT_PYTHON_FORM: dict[Doubles, re.Pattern[str]] = {
    "new": re.compile("[0-9][eE][-+0-9]|[0-9]{16}[.]|[\u2028\u2029]"),
    "old": re.compile("[0-9][eE][-+0-9]|[0-9]{16}[.]|[\u2028\u2029]|[.]0(?![0-9])"),
}


def _plainly_canonical(text: str, doubles: Doubles) -> bool:
    """Return True if Python's C encoder returns the same text and nothing in it is printed differently by TiDB."""
    if text.count("[") + text.count("{") > DEEPEST:
        return False
    try:
        return _PYTHON_FORM(orjson.loads(text)) == text and not _NOT_PYTHON_FORM[doubles].search(text)
    except ValueError:
        return False
