"""What runs around a task in a Python worker of Spark, and what its failures mean.

Memory is kept between batches, and loaded modules are left out of garbage collection.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.spark.functions import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)'|\[PACKAGE_NOT_INSTALLED\] (\w+)")
"""Python's message, and PySpark's for the packages that it needs itself."""
_OTHER_VERSION = re.compile(
    r"No module named '(ticdc_emit\.[\w.]+)'"
    r"|Can't get attribute '(\w+)' on <module 'ticdc_emit"
    r"|cannot import name '(\w+)' from 'ticdc_emit"
)
"""The package exists, but lacks a part that the driver's version has."""


_OTHER_PYTHON = re.compile(r"\[PYTHON_VERSION_MISMATCH\][^:]*: (\S+) than that in driver: (\S+),")


@contextmanager
def missing_packages_named(spark: SparkSession) -> Iterator[None]:
    """Raise ``MissingDependencyError`` for a job whose workers lack a package, or run another Python."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        found = _missing(str(error))
        if found is None:
            raise
        cause, install, package = found
        place = "the Python of Spark's executors"
        remedy = f"Ship the driver's environment with spark.archives, or {install} (docs/operations.md)"
        if is_local(spark):
            place = "the Python that Spark runs here"
            remedy = f"Activate the environment of {sys.executable} before Spark starts, or set PYSPARK_PYTHON to it"
        raise MissingDependencyError(f"{place} {cause}", remedy=remedy, package=package) from error


def _missing(message: str) -> tuple[str, str, str] | None:
    if other := _OTHER_VERSION.search(message):
        lacks = other[1] or other[2] or other[3]
        cause = f"has another version of ticdc_emit than the driver (it lacks {lacks})"
        return cause, "install that version there", "ticdc_emit"
    if missing := _MISSING.search(message):
        package = (missing[1] or missing[2]).lower()
        return f"cannot import {package}", "install ticdc-emit there", package
    if other := _OTHER_PYTHON.search(message):
        return f"is {other[1]}, but the driver's is {other[2]}", "install that version there", "python"
    return None


Step: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
_KEPT_BYTES = 256 * 1024 * 1024
_ARRAY_BYTES = 32 * 1024 * 1024

_done = False


def in_worker(*steps: Step) -> Step:
    """Return the steps, one after the other, as a function for ``mapInArrow``."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # module-level names around the work, because the content of a pickled function is new in every task
        keep_memory()
        batches = map(with_offsets, batches)
        for step in steps:
            batches = step(batches)
        yield from batches
        freeze_gc()

    return run


def with_offsets(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with all offsets that Arrow's kernels read; for everything that gets table rows from Spark.

    Spark 4.1 leaves out those of lists and maps inside lists or maps without items, and the kernels crash.
    """
    if not any(pa.types.is_nested(kind) for kind in batch.schema.types):
        return batch
    return pa.RecordBatch.from_arrays(list(map(_with_offsets, batch.columns)), schema=batch.schema)


def _with_offsets(array: pa.Array) -> pa.Array:
    kind = array.type
    if array.offset:  # a part of an array is not from Spark's stream
        return array
    if pa.types.is_struct(kind):
        own, parts = array.buffers()[:1], [array.field(place) for place in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        items = pa.StructArray.from_arrays([array.keys, array.items], fields=[kind.key_field, kind.item_field])
        own, parts = array.buffers()[:2], [items]
    elif pa.types.is_list(kind):
        own, parts = array.buffers()[:2], [array.values]
    else:
        return array
    whole = [_with_offsets(part) if len(part) else pa.array([], part.type) for part in parts]
    return pa.Array.from_buffers(kind, len(array), own, array.null_count, children=whole)


def keep_memory() -> None:
    """Let glibc keep up to 256 MiB of freed memory, and take arrays of up to 32 MiB from it. Elsewhere: nothing."""
    if not _done:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
        if mallopt is not None:
            mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
            mallopt(_M_MMAP_THRESHOLD, _ARRAY_BYTES)


def freeze_gc() -> None:
    """Exclude the current objects from all later garbage collections, once per process."""
    global _done
    if not _done:
        _done = True
        gc.collect()
        gc.freeze()
