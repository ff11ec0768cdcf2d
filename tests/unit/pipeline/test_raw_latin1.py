"""Text of latin1 columns is bytes that TiDB does not check: what each protocol makes of those that are not UTF-8."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.columnar.escape import EASYJSON, GO_STD, JSONITER, JsonWriter, escape_bytes
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.encoder import Encoder
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.schema.catalog import catalog_from_sql

TS = 450000000000000000
TABLE = "create table t (a varchar(9) charset latin1 primary key, v varchar(3) charset latin1, u varchar(3))"


def encoded(protocol: str, *rows: dict[str, Any]) -> list[bytes]:
    changes = [{"op": "c", "commit_ts": TS + place, "after": row} for place, row in enumerate(rows)]
    values: list[bytes] = (
        Encoder(f"kafka://h:1/t?protocol={protocol}", TABLE).encode(changes).column("value").to_pylist()
    )
    return values


@pytest.mark.parametrize("first", ["x", b"x", b"\xfe", bytearray(b"y"), None])
def test_text_and_bytes_mix_in_one_column(first: Any) -> None:
    values = encoded("canal-json", {"a": "k", "v": first, "u": None}, {"a": "l", "v": b"\xff", "u": None})
    assert rb'"v":"\ufffd"' in values[1]


def test_lengths_are_characters_and_a_byte_that_is_none_is_one() -> None:
    encoded("canal-json", {"a": "k", "v": "äöü", "u": None}, {"a": "l", "v": b"\xff\xc3\xa4\xff", "u": None})
    with pytest.raises(InvalidValueError, match="more than 3"):
        encoded("canal-json", {"a": b"\xff", "v": b"\xff\xff\xff\xff", "u": None})


def test_other_character_sets_are_checked() -> None:
    with pytest.raises(InvalidValueError, match="not valid UTF-8"):
        encoded("canal-json", {"a": "k", "v": "x", "u": b"\xff"})
    column = catalog_from_sql("create table t (a char(9) charset ascii)").table("test", "t").column("a")
    with pytest.raises(ValueRefused, match="not valid UTF-8"):
        accept(column, pa.array([b"\xff"]), Rendering())


@pytest.mark.parametrize(
    ("writer", "escaped"),
    [
        (EASYJSON, rb"\u003c\ufffd\u0008\ufffd\ufffd"),
        (GO_STD, rb"\u003c\ufffd\b\ufffd\ufffd"),
        (JSONITER, b"<\xff\\u0008\xc3\xff"),
    ],
)
def test_each_writer(writer: JsonWriter, escaped: bytes) -> None:
    column = catalog_from_sql(TABLE).table("test", "t").column("v")
    raw = accept(column, pa.array([b"\xc3", b"\xa4", None, b"<\xff", b"\x08\xc3\xff", b"ok"], pa.binary()), Rendering())
    shown = escape_bytes(raw, writer).view(pa.binary()).to_pylist()
    assert (shown[3] + shown[4], shown[2], shown[5]) == (escaped, None, b"ok")
    assert shown[:2] == ([b"\xc3", b"\xa4"] if writer is JSONITER else [rb"\ufffd"] * 2)
