"""docs/types.md is true: every listed Arrow type is accepted, every other common one refused by name."""

from __future__ import annotations

import pytest
from column_samples import COLUMNS
from documented_types import LISTED, MAKERS

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.schema.model import TableInfo


def test_the_table_has_every_column_type() -> None:
    assert set(LISTED) == set(COLUMNS)
    assert all(types <= set(MAKERS) for types in LISTED.values())


@pytest.mark.parametrize("mysql", COLUMNS)
def test_accepted(mysql: str) -> None:
    for name in LISTED[mysql]:
        array = MAKERS[name](mysql)
        assert len(accept(COLUMNS[mysql], array, Rendering("Asia/Shanghai"))) == 1, name


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
