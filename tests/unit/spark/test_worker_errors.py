"""A package that executors lack is named, with what to do; other errors of a job stay as they are."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PythonException

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.spark.worker import missing_packages_named

_WORKER = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "pyspark/serializers.py", line 461, in loads
    return cloudpickle.loads(obj, encoding=encoding)
ModuleNotFoundError: No module named 'ticdc_emit'
"""


_PYSPARK = "PySparkImportError: [PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed; however, it was not found."


@pytest.mark.parametrize(("text", "package"), [(_WORKER, "ticdc_emit"), (_PYSPARK, "pyarrow")])
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
