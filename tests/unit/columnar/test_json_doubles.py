"""The two forms of doubles in JSON values, and that each is its own canonical form, by whichever way it is checked."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from ticdc_emit.columnar.json_text import canonical_json
from ticdc_emit.sql.json_document import Doubles, content_of, normalise, printed


@pytest.mark.parametrize(
    ("given", "new", "old"),
    [
        ("15000000000.0", "15000000000.0", "15000000000"),
        ("15000000000", "15000000000", "15000000000"),
        ("1e15", "1e15", "1000000000000000"),
        ("1e20", "1e20", "100000000000000000000"),
        ("1e21", "1e21", "1e+21"),
        ("123456789012345678901234", "1.2345678901234569e23", "1.2345678901234569e+23"),
        ("0.000001", "0.000001", "0.000001"),
        ("0.0000001", "0.0000001", "1e-7"),
        ("1.5e-16", "1.5e-16", "1.5e-16"),
        ("-0.0", "-0.0", "-0"),
        ('{"b": [1.0, -2.50], "a": 1e27}', '{"a": 1e27, "b": [1.0, -2.5]}', '{"a": 1e+27, "b": [1, -2.5]}'),
    ],
)
def test_both_forms(given: str, new: str, old: str) -> None:
    assert (normalise(given), normalise(given, "old")) == (new, old)
    assert (normalise(new), normalise(old, "old")) == (new, old)


def _number(chance: random.Random) -> str:
    return chance.choice(
        [
            str(chance.randrange(10 ** chance.randrange(1, 25))),
            repr(chance.uniform(-1, 1) * 10 ** chance.randrange(-20, 25)),
            f"{chance.randrange(1000)}.{chance.randrange(10**7):0{chance.randrange(1, 9)}d}",
            f"0.{'0' * chance.randrange(12)}{chance.randrange(10)}",
            f"{chance.randrange(10)}e{chance.randrange(-25, 25)}",
            f"-{chance.randrange(10)}.{chance.randrange(3)}",
            f"{chance.randrange(10**16)}.{chance.randrange(10)}",
        ]
    )


@pytest.mark.parametrize("doubles", ["new", "old"])
@pytest.mark.parametrize("rows", [3, 60, 3_000])
def test_a_column_is_checked_as_its_texts_one_by_one(doubles: Doubles, rows: int) -> None:
    chance = random.Random(rows)
    documents = [f'{{"a": {_number(chance)}, "b": ["1.0", {_number(chance)}]}}' for _ in range(rows)]
    few_shapes = [f"{chance.randrange(3)}.{chance.randrange(10**6):0{digits}d}" for digits in (6, 7) for _ in documents]
    for texts in (documents, few_shapes, [f"{chance.randrange(9)}.{chance.randrange(3)}" for _ in documents]):
        canonical = [normalise(text, doubles) for text in texts]
        assert canonical_json(pa.array(texts), doubles).to_pylist() == canonical
        assert canonical_json(pa.array(canonical), doubles).to_pylist() == canonical


def test_a_part_of_a_document_keeps_the_text_of_its_doubles() -> None:
    assert printed(content_of('{"a": 1e+27, "b": [1.0, 10, 1e27, "1e+27"]}')) == (
        '{"a": 1e+27, "b": [1.0, 10, 1e27, "1e+27"]}'
    )
