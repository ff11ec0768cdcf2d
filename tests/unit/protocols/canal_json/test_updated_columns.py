"""What ``only-output-updated-columns`` takes for a change: numbers in classic, their texts in next."""

from __future__ import annotations

import json

import pytest

from ticdc_emit import Encoder

SCHEMA = "create table shop.t (id int primary key, f float, d double, v vector(1), n int)"
BEFORE = {"id": 1, "f": 0.0, "d": -0.0, "v": "[0]", "n": 1}
AFTER = {"id": 1, "f": -0.0, "d": 0.0, "v": "[-0]", "n": 2}


@pytest.mark.parametrize(
    ("release", "old"), [("classic", {"n": "1"}), ("next", {"f": "0", "d": "-0", "v": "[0]", "n": "1"})]
)
def test_zeros_of_two_signs(release: str, old: dict[str, str]) -> None:
    uri = "memory://t/?protocol=canal-json&enable-tidb-extension=true&only-output-updated-columns=true"
    made = Encoder(uri, SCHEMA, release=release)
    change = {"op": "u", "commit_ts": 450000000000000000, "before": BEFORE, "after": AFTER}
    (message,) = made.encode([change]).to_pylist()
    assert json.loads(message["value"])["old"] == [old]
