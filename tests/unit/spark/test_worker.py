"""What a worker does around a task: once before its first one, with the rows, and with errors."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PythonException

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.spark import worker as module
from ticdc_emit.spark.worker import count_rows, missing_packages_named, total_rows

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


def _batches(*sizes: int) -> list[pa.RecordBatch]:
    return [pa.record_batch({"n": list(range(size))}) for size in sizes]


def test_rows_are_noted_behind_each_batch(tmp_path: Path) -> None:
    batches = _batches(3, 4)
    reading = count_rows(iter(batches), str(tmp_path))
    assert next(reading) is batches[0]
    assert total_rows(tmp_path) == 0
    assert next(reading) is batches[1]
    assert total_rows(tmp_path) == 3
    assert list(reading) == []
    (tmp_path / "another process").write_text("5\n")
    assert total_rows(tmp_path) == 12
    assert list(count_rows(iter(batches), None)) == batches


_LACKS_THE_PACKAGE = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "pyspark/serializers.py", line 461, in loads
    return cloudpickle.loads(obj, encoding=encoding)
ModuleNotFoundError: No module named 'ticdc_emit'
"""
_LACKS_PYARROW = "[PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed; however, it was not found."


@pytest.mark.parametrize(("text", "package"), [(_LACKS_THE_PACKAGE, "ticdc_emit"), (_LACKS_PYARROW, "pyarrow")])
def test_the_package_is_named(text: str, package: str) -> None:
    named = f"cannot import {package} "
    with pytest.raises(MissingDependencyError, match=named) as error, missing_packages_named():
        raise PythonException(text)
    assert error.value.package == package
    assert "spark.archives" in error.value.remedy


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("ModuleNotFoundError: No module named 'ticdc_emit.pipeline.bad_rows'", "ticdc_emit.pipeline.bad_rows"),
        ("AttributeError: Can't get attribute 'Sift' on <module 'ticdc_emit.pipeline' from '/x.py'>", "Sift"),
        ("ImportError: cannot import name 'sift' from 'ticdc_emit.pipeline' (/x.py)", "sift"),
    ],
)
def test_another_version_of_this_package_is_told_from_none(text: str, lacks: str) -> None:
    named = rf"another version of ticdc_emit than the driver \(it lacks {lacks}\)"
    with pytest.raises(MissingDependencyError, match=named), missing_packages_named():
        raise PythonException(text)


def test_other_errors_stay() -> None:
    with pytest.raises(PythonException, match="ValueError"), missing_packages_named():
        raise PythonException("ValueError: no module of mine")
