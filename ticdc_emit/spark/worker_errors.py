"""A job that fails because Spark's Python workers lack a package, or have another version of this one.

In: Spark's error on the driver, with the worker's traceback in its text. Out: an error with the package and the remedy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ticdc_emit.errors import MissingDependencyError

__all__ = ["missing_packages_named"]

_MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)'|\[PACKAGE_NOT_INSTALLED\] (\w+)")
"""Python's message, and PySpark's for the packages that it needs itself."""
_OTHER_VERSION = re.compile(
    r"No module named '(ticdc_emit\.[\w.]+)'"
    r"|Can't get attribute '(\w+)' on <module 'ticdc_emit"
    r"|cannot import name '(\w+)' from 'ticdc_emit"
)
"""The package exists, but lacks a part that the driver's version has."""


@contextmanager
def missing_packages_named() -> Iterator[None]:
    """Raise :class:`~ticdc_emit.errors.MissingDependencyError` for a job of the block whose workers lack a package."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        if other := _OTHER_VERSION.search(str(error)):
            lacks = other[1] or other[2] or other[3]
            raise MissingDependencyError(
                f"the Python of Spark's executors has another version of ticdc_emit than the driver (it lacks {lacks})",
                remedy="Ship the driver's environment with spark.archives, or install that version (docs/cluster.md)",
                package="ticdc_emit",
            ) from error
        missing = _MISSING.search(str(error))
        if missing is None:
            raise
        package = (missing[1] or missing[2]).lower()
        raise MissingDependencyError(
            f"the Python of Spark's executors cannot import {package}",
            remedy="Ship this environment to them with spark.archives, or install ticdc-emit there (docs/cluster.md)",
            package=package,
        ) from error
