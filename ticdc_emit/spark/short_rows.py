"""Short rows go to Python's workers without Spark's measure of each.

Spark ends an Arrow batch at 10,000 rows or at 64 MiB. To know the second, it measures the batch after every row, which
takes a tenth of a changefeed's CPU time. Where rows are short, their number is bound enough. So for typed DataFrames
of tables that have not many columns, and no long ones (TEXT, BLOB, ...), the limit of bytes is lifted for the
changefeed's own jobs. A row that is longer than :data:`LONGEST` all the same ends the job, before any message is sent;
the batch then runs again with the limit, and so does every later one. Spark logs the failed job, so a warning says that
this is as it should be.

The limit is lifted by a property of the job and not in the session, so jobs of other threads keep theirs, and a value
that the user has set counts. Over Spark Connect there are no such properties, and rows are measured.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from ticdc_emit.schema.model import TableInfo
from ticdc_emit.spark.frame import in_pairs
from ticdc_emit.sql.types import BLOB_TYPES, MySQLType
from ticdc_emit.sql.words import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField

__all__ = ["LONGEST", "RowLengths", "are_short", "refusing_long"]

logger = logging.getLogger(__name__)

LONGEST = 16 * 1024
"""Bytes of text and binary values of a row's images."""

_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_UNLIMITED = str((1 << 31) - 1)
_MOST_ROWS = 10_000
_MOST_FIELDS = 100
_LONG_TYPES = {*BLOB_TYPES, MySQLType.GEOMETRY, MySQLType.VECTOR_FLOAT32} - {MySQLType.TINY_BLOB}
_MARK = "ticdc_emit: a row is long, so the batch runs again and Spark measures its rows"
_Made = TypeVar("_Made", covariant=True)


class _Job(Protocol[_Made]):
    def __call__(self, *, checks_length: bool) -> _Made: ...


class RowLengths:
    """What one sink knows of the rows that it is given: whether a long one has been among them."""

    def __init__(self) -> None:
        self._long = False

    def run(self, session: SparkSession, job: _Job[_Made]) -> _Made:
        """Return what ``job`` returns, without the limit of bytes if it can be lifted and meets no long row.

        ``checks_length`` says whether it must look for one.
        """
        from pyspark.errors import PySparkException

        if not self._long and _can_lift(session):
            try:
                with _lifted(session):
                    return job(checks_length=True)
            except PySparkException as error:
                if _MARK not in str(error):
                    raise
                self._long = True
                logger.warning(
                    "a row has more than %d bytes of text or binary data, so Spark's last job failed before it sent "
                    "anything. This is expected. The batch runs again, and Spark measures this sink's rows from now on",
                    LONGEST,
                )
        return job(checks_length=False)


def are_short(df: DataFrame, versions: Iterable[TableInfo]) -> bool:
    """Return whether the rows of a typed DataFrame are short, as far as types tell: JSON and VARCHAR may be long.

    Rows of many fields are not. The test of :func:`refusing_long` would be too much for Spark's optimizer, which moves
    it below the projection that makes the images: each text in it becomes a copy of its image with all its fields.
    """
    fields = [field for _, field in _fields(df)]
    return (
        len(fields) <= _MOST_FIELDS
        and not any(column.type in _LONG_TYPES for table in versions for column in table)
        and all(
            type(field.dataType).__name__ not in ("ArrayType", "MapType", "StructType", "VariantType")
            for field in fields
        )
    )


def refusing_long(df: DataFrame) -> DataFrame:
    """Return the rows of a typed DataFrame; a job that meets one of more than :data:`LONGEST` bytes fails."""
    lengths = [
        f"coalesce(octet_length({quoted(image, field.name)}), 0)"
        for image, field in _fields(df)
        if field.dataType.typeName() in ("string", "binary")
    ]
    if not lengths:
        return df
    # as text, because each function of a Column takes a dozen calls into the JVM
    length = in_pairs(lambda one, other: f"({one} + {other})", lengths)
    return df.filter(f"if({length} > {LONGEST}, cast(raise_error('{_MARK}') as boolean), true)")


def _fields(df: DataFrame) -> Iterator[tuple[str, StructField]]:
    """Yield the fields of the images, each with the name of its image."""
    return ((name, field) for name in ("before", "after") if name in df.columns for field in df.schema[name].dataType)


def _can_lift(session: SparkSession) -> bool:
    rows = int(session.conf.get(_ROWS, str(_MOST_ROWS)) or 0)
    return 0 < rows <= _MOST_ROWS and hasattr(session, "_jsparkSession")


@contextmanager
def _lifted(session: SparkSession) -> Iterator[None]:
    context = session.sparkContext
    before = context.getLocalProperty(_BYTES)
    context.setLocalProperty(_BYTES, _UNLIMITED)
    try:
        yield
    finally:
        context.setLocalProperty(_BYTES, before)
