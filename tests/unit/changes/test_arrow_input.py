"""DataFrames, and whatever else has Arrow's C interface, are changes like an Arrow table of the same rows."""

from __future__ import annotations

from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest
from arrow_feeds import sent, values_of_rows

from ticdc_emit import Encoder
from ticdc_emit.changes.arrow_input import changes_table, is_tabular
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import UnsupportedTypeError

TS = 450_000_000_262_144_000
SCHEMA = "create table s.t (id bigint primary key, name varchar(9), kind enum('a','b'))"
URI = "memory://tabular?protocol=canal-json&enable-tidb-extension=true"
OLD, NEW = {"id": 1, "name": "é", "kind": "a"}, {"id": 1, "name": None, "kind": "b"}
ROWS: list[dict[str, Any]] = [
    {"op": "c", "commit_ts": TS, "before": None, "after": OLD},
    {"op": "u", "commit_ts": TS + 1, "before": OLD, "after": NEW},
    {"op": "d", "commit_ts": TS + 2, "before": NEW, "after": None},
]
TABLE = pa.Table.from_pylist(ROWS)


class _Stream:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


class _Array:
    def __arrow_c_array__(self, requested_schema: object | None = None) -> object:
        return TABLE.combine_chunks().to_batches()[0].__arrow_c_array__(requested_schema)


def _pandas() -> Any:
    frame = pandas.DataFrame(ROWS, index=[7, 8, 9])
    return frame.assign(op=frame.op.astype("category"))


def _polars() -> Any:
    return polars.DataFrame(ROWS)


def _polars_with_categories() -> Any:
    return polars.DataFrame(ROWS).with_columns(polars.col("op").cast(polars.Categorical))


_FORMS = [_pandas, _polars, _polars_with_categories, _Stream, _Array, TABLE.to_reader, lambda: TABLE.to_batches()[0]]


@pytest.mark.parametrize("make", _FORMS)
def test_encoder(make: Any) -> None:
    expected = Encoder(URI, SCHEMA).encode(ROWS)
    assert Encoder(URI, SCHEMA).encode(make()).equals(expected)


@pytest.mark.parametrize("make", _FORMS)
def test_arrow_batch(make: Any) -> None:
    expected = Encoder(URI, SCHEMA).encode(ROWS).column("value").to_pylist()
    assert values_of_rows(sent(load_changefeed(URI), SCHEMA, make())[0]) == expected


def test_a_frame_without_rows() -> None:
    empty = pandas.DataFrame({"op": [], "commit_ts": [], "after": []})
    assert Encoder(URI, SCHEMA).encode(empty.astype({"op": "string", "commit_ts": "int64"})).num_rows == 0


@pytest.mark.parametrize("changes", [ROWS, None, 5, "c", {"op": "c"}])
def test_what_is_no_table(changes: Any) -> None:
    assert not is_tabular(changes)
    with pytest.raises(UnsupportedTypeError, match="cannot be read as an Arrow table"):
        changes_table(changes)


def test_values_of_several_types_in_a_column() -> None:
    mixed = pandas.DataFrame({"op": ["c", 1], "commit_ts": [TS, TS], "after": [OLD, OLD]})
    with pytest.raises(UnsupportedTypeError, match="one type"):
        Encoder(URI, SCHEMA).encode(mixed)


def test_a_stream_of_plain_values() -> None:
    with pytest.raises(UnsupportedTypeError, match="cannot be read as an Arrow table"):
        Encoder(URI, SCHEMA).encode(pa.chunked_array([[1, 2]]))
