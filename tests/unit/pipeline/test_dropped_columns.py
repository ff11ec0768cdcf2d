"""Column selectors that drop the primary key, or every column of a table that is made after the start."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit.encoder import Encoder
from ticdc_emit.errors import SchemaError

TS = 450000000262144000


def sent(parameters: str, columns: list[str], *, schema: str, ddl: str = "", **sink: Any) -> dict[str, Any]:
    """Return the message of a row of ``test.t`` in the lineage next."""
    sink["column-selectors"] = [{"matcher": ["test.*"], "columns": columns}]
    made = Encoder(f"memory://t/?protocol={parameters}", schema, changefeed={"sink": sink}, release="next")
    if ddl:
        made.ddl(ddl, TS)
    row: dict[str, Any] = made.encode(
        [{"op": "c", "commit_ts": TS + 1, "after": {"id": 1, "u": 5}}], table="test.t"
    ).to_pylist()[0]
    return row


def without_columns(parameters: str) -> bytes:
    ddl = "create table test.t (id int primary key, u int)"
    return bytes(sent(parameters, ["none"], schema="create database other", ddl=ddl)["value"])


@pytest.mark.parametrize(
    ("parameters", "end"),
    [
        ("debezium&debezium-disable-schema=true", b'"op":"c","before":null,"after":{}}}'),
        ("simple", b'"schemaVersion":450000000262144000}'),
    ],
)
def test_rows_without_columns(parameters: str, end: bytes) -> None:
    assert without_columns(parameters).endswith(end)


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
def test_rows_without_columns_are_refused_where_ticdc_fails(protocol: str) -> None:
    with pytest.raises(SchemaError, match="leave no column"):
        without_columns(protocol)


def test_a_dropped_key_is_hashed_and_in_the_key() -> None:
    schema = "create table test.t (id int primary key, u int not null unique)"
    rule = [{"matcher": ["*.*"], "partition": "index-value"}]
    row = sent("debezium&debezium-disable-schema=true&partition-num=3", ["u"], schema=schema, dispatchers=rule)
    assert (row["partition"], row["key"]) == (0, b'{"payload":{"id":1}}')
