"""Errors on their way from a task to the driver: the same class and fields come back, and nothing else does."""

from __future__ import annotations

import importlib
import json
import pkgutil
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import ticdc_emit
from ticdc_emit.errors import DeliveryError, InvalidValueError, SchemaError, TicdcEmitError
from ticdc_emit.pipeline.encode.bad_rows import BadRow, BadRows
from ticdc_emit.pipeline.encode.error_json import _KINDS, error_as_json, error_from_json

ON_THE_DRIVER_ONLY = {"cli"}  # folders whose errors no task meets
OF_READERS = "ticdc_emit.protocols.events"
VALUES: list[Any] = [
    None,
    True,
    -5,
    2**70,
    -(10**5000),
    1.5,
    "text",
    "\ud800",
    b"\x00\xff",
    Decimal("1.50"),
    Decimal("NaN").copy_negate(),
    {"id": 7, "name": b"a", "nested": {"a": [1, (2, "3")]}},
    {1: "a number"},
    [1, ["a"], {}],
    (),
]


def copied(error: TicdcEmitError) -> TicdcEmitError:
    return error_from_json(error_as_json(error))


@pytest.mark.parametrize("kind", _KINDS.values())
def test_every_error_comes_back_with_its_place(kind: type[TicdcEmitError]) -> None:
    error = kind("the cause", remedy="Do this", table="test.t", row={"id": 1})
    copy = copied(error)
    assert type(copy) is kind
    assert (copy.message, copy.remedy, copy.context) == (error.message, error.remedy, error.context)
    assert str(copy) == str(error)


def test_every_error_that_a_task_may_meet_is_known() -> None:
    pytest.importorskip("pyspark")
    for module in pkgutil.walk_packages(ticdc_emit.__path__, "ticdc_emit."):
        if module.name.split(".")[1] not in {*ON_THE_DRIVER_ONLY, "__main__"}:
            importlib.import_module(module.name)

    def below(kind: type[TicdcEmitError]) -> set[type[TicdcEmitError]]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    own = {kind for kind in below(TicdcEmitError) if kind.__module__.startswith("ticdc_emit.")}
    met = {
        kind
        for kind in own
        if kind.__module__.split(".")[1] not in ON_THE_DRIVER_ONLY and kind.__module__ != OF_READERS
    }
    assert met == set(_KINDS.values())


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_of_the_place_comes_back(value: Any) -> None:
    copy = copied(InvalidValueError("no", value={"in": value})).context["value"]["in"]
    assert type(copy) is type(value)
    if isinstance(value, int) and value < -(2**63):
        assert copy == value
    else:
        assert repr(copy) == repr(value)


def test_other_values_come_back_as_the_nearest_plain_one() -> None:
    copy = copied(InvalidValueError("no", count=np.int64(7), kind=_Other()))
    assert copy.context == {"count": 7, "kind": "other"}


def test_an_error_of_the_callers_own_comes_back_as_the_one_that_it_extends() -> None:
    class OwnError(SchemaError):
        pass

    assert type(copied(OwnError("no", table="s.t"))) is SchemaError


def test_bad_rows_come_back() -> None:
    error = InvalidValueError("no", table="s.t", row={"id": Decimal(1)})
    row = BadRow("s", "t", "u", 5, {"id": Decimal(1)}, "n", "no", "InvalidValueError", 3, b"\x00\x01")
    error.bad_rows = BadRows({"s.t": 2}, (row, BadRow("s", "t", None, None, {}, None, "x", "y")))
    copy = copied(error)
    assert copy.bad_rows == error.bad_rows
    assert copy.bad_rows.first[0].order == b"\x00\x01"
    assert copy.bad_rows.first[0].position == 3
    assert str(copy) == str(error)


WHOLE = json.loads(error_as_json(InvalidValueError("no", remedy="Do", table="s.t")))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"cos\nsystem\n(S'true'\ntR.",
        b"\x80\x04\x95",
        b"[]",
        b"5",
        b"[" * 100_000,
        {"error": "SystemExit"},
        {"error": "os.system"},
        {"error": ["InvalidValueError"]},
        {"message": 5},
        {"remedy": None},
        {"context": 5},
        {"context": {"object": [["message", "twice"]]}},
        {"context": {"object": [[5, "a"]]}},
        {"context": {"os.system": "true"}},
        {"context": {"object": [["a", {"decimal": "x"}]]}},
        {"bad_rows": 5},
        {"bad_rows": [{"object": []}, [[1]]]},
    ],
    ids=lambda content: str(content)[:40],
)
def test_what_is_no_error_of_this_library_is_refused(content: Any) -> None:
    with pytest.raises(DeliveryError, match="cannot be read") as refused:
        error_from_json(content if isinstance(content, bytes) else json.dumps({**WHOLE, **content}).encode())
    assert refused.value.remedy


def test_a_field_that_is_missing_is_refused() -> None:
    for name in WHOLE:
        with pytest.raises(DeliveryError):
            error_from_json(json.dumps({key: value for key, value in WHOLE.items() if key != name}).encode())


class _Other:
    def __str__(self) -> str:
        return "other"
