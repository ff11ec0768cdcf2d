"""docs/types.md is true: what a line does not list is refused by name (what it lists: ``test_every_position``)."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from column_samples import COLUMNS, column
from documented_types import LISTED, MAKERS
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.schema.model import TableInfo


def test_the_table_has_every_column_type() -> None:
    assert set(LISTED) == set(COLUMNS)
    assert all(types <= set(MAKERS) for types in LISTED.values())


@pytest.mark.parametrize("mysql", COLUMNS)
def test_refused(mysql: str) -> None:
    column = COLUMNS[mysql]
    for name in set(MAKERS) - LISTED[mysql]:
        array = MAKERS[name](mysql)
        with pytest.raises(TypeError):
            accept(column, array, Rendering())
        image = Image(TableInfo("s", "t", 1, (column,)), {"c": array}, Rendering())
        with pytest.raises(UnsupportedTypeError, match=mysql.partition(" ")[0]) as caught:
            image.values(column)
        assert (caught.value.context["table"], caught.value.context["column"]) == ("s.t", "c")
        assert str(array.type) in str(caught.value), name


@given(st.lists(st.tuples(st.integers(1 - 10**15, 10**15 - 1), st.integers(0, 15)), min_size=1))
def test_a_decimal_number_of_15_digits_comes_back_from_its_double(parts: list[tuple[int, int]]) -> None:
    numbers = [Decimal(digits).scaleb(-scale) for digits, scale in parts]
    target = column("decimal(65,30)")
    as_floats, as_texts = (
        accept(target, pa.array(values), Rendering()) for values in (map(float, numbers), map(str, numbers))
    )
    assert as_floats == as_texts


@given(st.lists(st.integers(1 - 2**53, 2**53 - 1), min_size=1))
def test_a_whole_number_below_2_to_the_53_comes_back_from_its_double(numbers: list[int]) -> None:
    for mysql in ("BIGINT", "DECIMAL"):
        target = COLUMNS[mysql] if mysql == "BIGINT" else column("decimal(20,2)")
        as_floats, as_texts = (
            accept(target, pa.array(values), Rendering()) for values in (map(float, numbers), map(str, numbers))
        )
        assert as_floats == as_texts
