"""What a worker does around a task: once before its first one, with the rows, and with errors."""

from __future__ import annotations

import ctypes
import gc
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PythonException

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.spark import worker as module
from ticdc_emit.spark.worker import missing_packages_named, with_offsets

MIB = 1024 * 1024


@pytest.fixture
def set_options(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return what the worker sets in a C library that takes options."""
    found: list[tuple[int, int]] = []

    class Library:
        mallopt: Callable[[int, int], None] = staticmethod(lambda option, value: found.append((option, value)))

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library)
    monkeypatch.setattr(module, "_done", False)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    return found


def test_freed_memory_is_kept_from_the_first_task_on(set_options: list[tuple[int, int]]) -> None:
    batch = pa.record_batch({"n": [1, 2]})
    work = module.in_worker(lambda batches: (each.slice(1) for each in batches), lambda batches: batches)
    assert list(work(iter([batch]))) == [batch.slice(1)]
    assert set_options == [(-1, 256 * MIB), (-3, 32 * MIB)]
    assert list(work(iter([batch]))) == [batch.slice(1)]
    assert len(set_options) == 2


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_done", False)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    module.keep_memory()


_LACKS_THE_PACKAGE = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "pyspark/serializers.py", line 461, in loads
    return cloudpickle.loads(obj, encoding=encoding)
ModuleNotFoundError: No module named 'ticdc_emit'
"""
_LACKS_PYARROW = "[PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed; however, it was not found."
_OTHER_PYTHON = (
    "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.13 than that in driver: 3.11, "
    "PySpark cannot run with different minor versions."
)
CLUSTER, HERE = "yarn", "local[2]"


def session(master: str) -> Any:
    return SimpleNamespace(conf={"spark.master": master})


@pytest.mark.parametrize(
    ("text", "cause", "package"),
    [
        (_LACKS_THE_PACKAGE, "cannot import ticdc_emit", "ticdc_emit"),
        (_LACKS_PYARROW, "cannot import pyarrow", "pyarrow"),
        (_OTHER_PYTHON, "is 3.13, but the driver's is 3.11", "python"),
        (
            "ModuleNotFoundError: No module named 'ticdc_emit.pipeline.encode.bad_rows'",
            "has another version of ticdc_emit than the driver (it lacks ticdc_emit.pipeline.encode.bad_rows)",
            "ticdc_emit",
        ),
        (
            "AttributeError: Can't get attribute 'Sift' on <module 'ticdc_emit.pipeline' from '/x.py'>",
            "has another version of ticdc_emit than the driver (it lacks Sift)",
            "ticdc_emit",
        ),
        (
            "ImportError: cannot import name 'sift' from 'ticdc_emit.pipeline' (/x.py)",
            "has another version of ticdc_emit than the driver (it lacks sift)",
            "ticdc_emit",
        ),
    ],
)
@pytest.mark.parametrize(
    ("master", "place", "remedy"),
    [
        (CLUSTER, "the Python of Spark's executors", r"spark\.archives"),
        (HERE, "the Python that Spark runs here", "^Activate the environment of .* or set PYSPARK_PYTHON"),
    ],
)
def test_what_workers_lack_is_named(text: str, cause: str, package: str, master: str, place: str, remedy: str) -> None:
    with pytest.raises(MissingDependencyError) as error, missing_packages_named(session(master)):
        raise PythonException(text)
    assert error.value.message == f"{place} {cause}"
    assert error.value.package == package
    assert re.search(remedy, error.value.remedy)


def test_other_errors_stay() -> None:
    with pytest.raises(PythonException, match="ValueError"), missing_packages_named(session(HERE)):
        raise PythonException("ValueError: no module of mine")


def _offsets(array: pa.Array) -> list[int]:
    """Return the bytes of the offsets of an array and of those in it."""
    kind = array.type
    if pa.types.is_struct(kind):
        return [size for place in range(kind.num_fields) for size in _offsets(array.field(place))]
    inner = [array.keys, array.items] if pa.types.is_map(kind) else [array.values] if pa.types.is_list(kind) else []
    own = [array.buffers()[1].size] if inner or pa.types.is_string(kind) else []
    return own + [size for part in inner for size in _offsets(part)]


def test_lists_without_items_get_the_offsets_that_spark_leaves_out() -> None:
    nothing = pa.py_buffer(b"")
    text = pa.Array.from_buffers(pa.string(), 0, [None, nothing, nothing])
    number = pa.Array.from_buffers(pa.int32(), 0, [None, nothing])
    kind = pa.map_(pa.string(), pa.int32())
    entries = pa.StructArray.from_arrays([text, number], fields=[kind.key_field, kind.item_field])
    empty_map = pa.Array.from_buffers(kind, 0, [None, nothing], children=[entries])
    two = pa.py_buffer(bytes(12))  # the offsets of two empty lists
    valid = pa.py_buffer(b"\x01")
    lists = pa.Array.from_buffers(pa.list_(kind), 2, [valid, two], 1, children=[empty_map])
    maps = pa.Array.from_buffers(kind, 2, [None, two], children=[entries])
    ids = pa.array([1, 2])
    batch = pa.record_batch({"id": ids, "after": pa.StructArray.from_arrays([ids, lists, maps], ["id", "l", "m"])})
    mended = with_offsets(batch)
    assert mended == batch
    assert mended.schema == batch.schema
    assert mended.column("after").to_pylist() == [{"id": 1, "l": [], "m": []}, {"id": 2, "l": None, "m": []}]
    assert min(_offsets(mended.column("after"))) >= 4


def test_values_stay_as_they_are() -> None:
    rows = [{"a": [{"m": [("k", ["x", None]), ("l", [])]}], "b": None}, None, {"a": None, "b": [[]]}]
    entry = pa.struct({"m": pa.map_(pa.string(), pa.list_(pa.string()))})
    kind = pa.struct({"a": pa.list_(entry), "b": pa.list_(pa.list_(pa.int8()))})
    batch = pa.record_batch({"x": pa.array(rows, kind)})
    assert with_offsets(batch).column("x").to_pylist() == rows
    assert with_offsets(batch[1:]).column("x").to_pylist() == rows[1:]
    assert with_offsets(batch[:0]).num_rows == 0
