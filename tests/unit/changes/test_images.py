"""Before images lean on after images: what differs, what is rendered again, and where errors point."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.changes.images import BeforeImage, Image
from ticdc_emit.columnar.values import Rendering, plain_text
from ticdc_emit.errors import InvalidValueError, MissingColumnError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import ColumnFlag, MySQLType


def _column(kind: MySQLType, flen: int = -1, decimal: int = -1, **more: Any) -> Column:
    charset = "utf8mb4" if kind in (MySQLType.VARCHAR, MySQLType.ENUM) else "binary"
    return Column(2, "c", kind, flen, decimal, charset, charset, **more)


_ID = Column(1, "id", MySQLType.LONG, 11, 0, flags=ColumnFlag.NOT_NULL | ColumnFlag.PRIMARY_KEY)
_DOUBLE = _column(MySQLType.DOUBLE, 22)
_FLOAT = _column(MySQLType.FLOAT, 12)
_VARCHAR = _column(MySQLType.VARCHAR, 9)
_DECIMAL = _column(MySQLType.NEWDECIMAL, 9, 2)
_DATETIME = _column(MySQLType.DATETIME, 19, 0)
_VECTOR = _column(MySQLType.VECTOR_FLOAT32, 1)
_ENUM = _column(MySQLType.ENUM, 1, elems=("a", "b"))


def _pair(column: Column, before: pa.Array, after: pa.Array) -> BeforeImage:
    table = TableInfo("s", "t", 1, (_ID, column))
    ids = pa.array(range(100, 100 + len(after)), pa.int32())
    new = Image(table, {"id": ids, "c": after}, Rendering())
    return BeforeImage(table, {"id": ids, "c": before}, Rendering(), new)


_MANY = 20  # one differing row of so many is rendered alone; most differing: the whole column


@pytest.mark.parametrize(
    ("column", "kind", "old", "new", "texts", "changed"),
    [
        (_DOUBLE, pa.float64(), -0.0, 0.0, ("-0", "0"), False),  # equal numbers, other bytes
        (_FLOAT, pa.float32(), -0.0, 0.0, ("-0", "0"), False),
        (_DOUBLE, pa.float64(), None, 0.0, (None, "0"), True),
        (_DOUBLE, pa.string(), "1.50", "1.5", ("1.5", "1.5"), False),
        (_VARCHAR, pa.string(), "a", "b", ("a", "b"), True),
        (_VARCHAR, pa.large_string(), "a", "b", ("a", "b"), True),
        (_VARCHAR, pa.binary(1), b"a", b"b", ("a", "b"), True),
        (_VARCHAR, pa.dictionary(pa.int32(), pa.string()), "a", None, ("a", None), True),
        (_VARCHAR, pa.string(), "", None, ("", None), True),
        (_DECIMAL, pa.decimal256(50, 3), Decimal("1.500"), Decimal("2.5"), ("1.50", "2.50"), True),
        (_DECIMAL, pa.decimal64(9, 1), Decimal("1.5"), Decimal("2.5"), ("1.50", "2.50"), True),
        (_DECIMAL, pa.string(), "1.5", "1.50", ("1.50", "1.50"), False),
        (_DATETIME, pa.timestamp("s", tz="UTC"), 0, 1, ("1970-01-01 00:00:00", "1970-01-01 00:00:01"), True),
        (_VECTOR, pa.list_(pa.float32()), [1.0], [2.0], ("[1]", "[2]"), True),
        (_VECTOR, pa.list_(pa.float32()), [1.0], [1.0], ("[1]", "[1]"), False),
        (_ENUM, pa.string(), "a", "b", ("1", "2"), True),
        (_ENUM, pa.dictionary(pa.int8(), pa.string()), "a", "b", ("1", "2"), True),
    ],
)
@pytest.mark.parametrize("place", [0, 7, _MANY - 1])
@pytest.mark.parametrize("most", [False, True])
def test_before_image(
    column: Column, kind: pa.DataType, old: Any, new: Any, texts: Any, changed: bool, place: int, most: bool
) -> None:
    differing = (
        [row % 2 == 0 or row < place + 5 for row in range(_MANY)] if most else [r == place for r in range(_MANY)]
    )
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    before, after = pa.array([old if each else new for each in differing], plain), pa.array([new] * _MANY, plain)
    if pa.types.is_dictionary(kind):
        before, after = before.dictionary_encode(), after.dictionary_encode()
    pair = _pair(column, before, after)
    pair.after.check()
    pair.check()
    assert pair.rendered(column, "text", plain_text).to_pylist() == [
        texts[0] if each else texts[1] for each in differing
    ]
    assert pair.after.rendered(column, "text", plain_text).to_pylist() == [texts[1]] * _MANY
    assert pair.changed(column, "text", plain_text).tolist() == [each and changed for each in differing]


def test_types_may_differ_between_the_images() -> None:
    pair = _pair(_DECIMAL, pa.array(["1.5", "2", None]), pa.array([Decimal("1.50"), Decimal(3), None]))
    assert pair.rendered(_DECIMAL, "text", plain_text).to_pylist() == ["1.50", "2.00", None]
    assert pair.changed(_DECIMAL, "text", plain_text).tolist() == [False, True, False]


def test_an_unchanged_column_is_rendered_once() -> None:
    values = pa.array(["a", "b"])
    pair = _pair(_VARCHAR, values, pa.array(["a", "b"]))
    assert pair.differs(_VARCHAR) is None
    assert pair.rendered(_VARCHAR, "text", plain_text) is pair.after.rendered(_VARCHAR, "text", plain_text)
    assert pair.changed(_VARCHAR, "text", plain_text).tolist() == [False, False]


@pytest.mark.parametrize("bad", [[13], list(range(20))], ids=["few", "most"])
def test_errors_of_a_before_image_name_the_row(bad: list[int]) -> None:
    rows = ["too long for it" if row in bad else "x" for row in range(20)]
    pair = _pair(_VARCHAR, pa.array(rows), pa.array(["x"] * 20))
    with pytest.raises(InvalidValueError, match="more than 9") as caught:
        pair.check()
    assert caught.value.context["row"] == {"id": 100 + bad[0]}
    assert (caught.value.context["table"], caught.value.context["column"]) == ("s.t", "c")


def test_a_missing_column_is_named() -> None:
    image = Image(TableInfo("s", "t", 1, (_ID, _VARCHAR)), {"id": pa.array([1])}, Rendering())
    with pytest.raises(MissingColumnError) as caught:
        image.check()
    assert caught.value.context["column"] == "c"


def test_a_row_without_key_is_named_by_its_place() -> None:
    image = Image(TableInfo("s", "t", 1, (_VARCHAR,)), {"c": pa.array(["x", "x" * 10])}, Rendering())
    with pytest.raises(InvalidValueError) as caught:
        image.check()
    assert caught.value.context["row"] == {"position": 1}
