"""A mistyped name is answered with the known one that it is most like; one name is as good as a list of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.errors import ConfigError, InvalidValueError
from ticdc_emit.hints import closest, counted, did_you_mean, names, values, whole_number

_DISPATCHERS = ("default", "table", "ts", "index-value", "rowid", "columns")


@pytest.mark.parametrize(
    ("name", "found"),
    [("index_value", "index-value"), ("INDEX-VALUES", "index-value"), ("tabel", "table"), ("zebra", None), ("", None)],
)
def test_the_closest_name(name: str, found: str | None) -> None:
    assert closest(name, _DISPATCHERS) == found


def test_things_are_counted() -> None:
    assert [counted(count, "row") for count in (0, 1, 2, 1000)] == ["0 rows", "1 row", "2 rows", "1,000 rows"]
    assert [counted(count, "retry", "retries") for count in (1, 2)] == ["1 retry", "2 retries"]


def test_the_question() -> None:
    assert did_you_mean("bnak", ["bank", "shop"]) == "Did you mean bank? "
    assert did_you_mean("zebra", ["bank", "shop"]) == ""
    assert did_you_mean("enable-old-value", ["output-old-value"], likeness=0.8) == ""
    assert did_you_mean("a" * 10_000_000, ["a" * 200]) == f"Did you mean {'a' * 200}? "


@pytest.mark.parametrize("form", [lambda rows: rows, pa.Table.from_pylist], ids=["rows", "arrow"])
def test_a_column_of_an_image_is_answered_with_the_one_that_was_meant(form: Callable[[Any], Any]) -> None:
    encoder = Encoder("memory://x?protocol=canal-json", "create table c.d (id int primary key, town varchar(9))")
    with pytest.raises(InvalidValueError, match="that the table never had") as refused:
        encoder.encode(form([{"op": "c", "commit_ts": 450_000_000_262_144_000, "after": {"id": 1, "twon": "Bern"}}]))
    assert (refused.value.context["column"], refused.value.remedy[:19]) == ("twon", "Did you mean town? ")


def test_one_name_is_not_its_letters() -> None:
    assert names("id") == ("id",)
    assert names(["id", "name"]) == names(each for each in ("id", "name")) == ("id", "name")
    assert names("") == ("",)
    assert names(()) == ()
    assert (values("12"), values(12), values(None), values(range(2))) == (("12",), (12,), (None,), (0, 1))


@pytest.mark.parametrize("given", [None, 5, [5], ["id", None]])
def test_what_is_no_name(given: Any) -> None:
    with pytest.raises(ConfigError, match="is not a name") as refused:
        names(given, "keys")
    assert refused.value.option == "keys"


def test_a_number_may_be_text() -> None:
    assert [whole_number(each) for each in (3, "3", " 3 ", "x", "", None, 3.0)] == [3, 3, 3, None, None, None, None]
