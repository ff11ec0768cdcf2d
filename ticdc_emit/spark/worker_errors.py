"""A job that fails because Spark's Python workers lack a package, as an error with a remedy.

In: what Spark raises on the driver, with the worker's traceback in its text. Out: the package's name and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ticdc_emit.errors import MissingDependencyError

__all__ = ["missing_packages_named"]

_MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)|\[PACKAGE_NOT_INSTALLED\] (\w+)")
"""As Python says it, and as PySpark does of what it needs itself."""


@contextmanager
def missing_packages_named() -> Iterator[None]:
    """Raise :class:`~ticdc_emit.errors.MissingDependencyError` for a job of the block whose workers lack a package."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        missing = _MISSING.search(str(error))
        if missing is None:
            raise
        package = (missing[1] or missing[2]).lower()
        raise MissingDependencyError(
            f"the Python of Spark's executors cannot import {package}",
            remedy="Ship this environment to them with spark.archives, or install ticdc-emit there (docs/cluster.md)",
            package=package,
        ) from error
