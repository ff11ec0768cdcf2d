"""``TicdcSink.write`` takes what ``Encoder.encode`` does: no Spark is needed for rows that are in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.delivery.memory import clear, messages
from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.spark import TicdcSink

TS = 450_000_000_262_144_000
URI = "memory://tabular-sink?protocol=canal-json"
SCHEMA = "create table s.t (id bigint unsigned primary key, name varchar(9))"
ROWS = [{"op": "c", "commit_ts": TS + n, "after": {"id": n + 1, "name": "é"}} for n in range(3)]


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    clear("tabular-sink")


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, pa.Table.from_pylist])
def test_rows_of_this_process(make: Any) -> None:
    report = TicdcSink(URI, SCHEMA).write(make(ROWS))
    assert report.rows == 3
    sent = sorted(message.value or b"" for message in messages("tabular-sink"))
    assert sent == sorted(Encoder(URI, SCHEMA).encode(ROWS).column("value").to_pylist())


@pytest.mark.parametrize("given", [None, ROWS, "rows.csv"])
def test_what_is_not_a_table(given: Any) -> None:
    with pytest.raises(UnsupportedTypeError, match="cannot be read as an Arrow table"):
        TicdcSink(URI, SCHEMA).write(given)
