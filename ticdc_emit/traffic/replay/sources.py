"""Sources of histories: files and tables that Spark reads, with readable errors. CSV and JSON are read as text, because
inferred types would turn ``12345678901234567.89`` into a double.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING
from urllib.parse import unquote
from uuid import uuid4

from ticdc_emit.config.secrets import foreign_text, hides_arguments, mask_text
from ticdc_emit.errors import ConfigError, MissingDependencyError, TicdcEmitError
from ticdc_emit.sql.words import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".orc": "orc"}
FILE_FORMATS = frozenset(_SUFFIXES.values())
"""The formats whose sources are paths of files and folders."""

_FILE_URL = re.compile(r"^file:(//[^/]*)?(?=/)")
_PACKAGES = {
    "delta": "io.delta:delta-spark_2.13:<version> (and spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension)",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-<Spark>_2.13:<version> (and a catalog, "
    "spark.sql.catalog.<name>)",
    "jdbc": "the database's JDBC driver, com.mysql:mysql-connector-j:<version> for MySQL and TiDB",
    "avro": "org.apache.spark:spark-avro_2.13:<Spark>",
}
_ABSENT = re.compile(
    r"DATA_SOURCE_NOT_FOUND|Failed to find the data source|ClassNotFoundException|No suitable driver"
    r"|NoClassDefFoundError|Please deploy the application"
)


def format_of(source: str) -> str | None:
    """Return the format of a source by its name, else by the files of a folder on this machine; ``None`` if unknown."""
    if source.startswith("jdbc:"):
        return "jdbc"
    return _by_suffix(PurePath(source)) or _of_folder(Path(unquote(_FILE_URL.sub("", source))))


def _by_suffix(path: PurePath) -> str | None:
    known = [suffix.lower() for suffix in path.suffixes if suffix.lower() in _SUFFIXES]
    return _SUFFIXES[known[-1]] if known else None


def _of_folder(folder: Path) -> str | None:
    try:
        if not folder.is_dir():
            return None
        if (folder / "_delta_log").is_dir():
            return "delta"
        if next((folder / "metadata").glob("*.metadata.json"), None) is not None:
            return "iceberg"
        data = (path for path in folder.rglob("*") if not any(part[0] in "._" for part in path.parts[-1:]))
        return next(filter(None, (_by_suffix(path) for path in data if path.is_file())), None)
    except OSError:  # a folder that may not be read, a name that no file system has
        return None


@hides_arguments
def read_source(
    spark: SparkSession, source: str, *, format: str | None = None, options: Mapping[str, str] | None = None
) -> DataFrame:
    """Return the rows of a source; no error shows its secrets or those of its options.

    ``source``: a path or pattern; a ``jdbc:`` URL, with ``options={"dbtable": ...}``; without any ``format``, the name
    of a table of Spark's catalog. ``format``: default: by the name, or by the files of a folder on this machine. Raises
    :class:`ConfigError` if it cannot be read, :class:`MissingDependencyError`.
    """
    given = format or format_of(source)
    try:
        rows = _read(spark, source, given, dict(options or {}))
        rows.schema  # noqa: B018 - Spark Connect looks at a source no earlier
        return rows
    except Exception as error:
        if not is_of_spark(error):
            raise
        raise _refused(str(error), source, given, spark.version) from None


def is_of_spark(error: Exception) -> bool:
    """Return whether an error is Spark's, or of its JVM: those have py4j's own type."""
    from pyspark.errors import PySparkException

    is_own = isinstance(error, TicdcEmitError)
    return isinstance(error, PySparkException) or ("java" in str(error).lower() and not is_own)


def _read(spark: SparkSession, source: str, given: str | None, options: dict[str, str]) -> DataFrame:
    if given is None:
        if "/" in source:  # which no name of a table has
            raise unknown_format(source)
        if options:
            raise ConfigError("options need a format", remedy="Give format=", option="format")
        return spark.read.table(source)
    if given == "jdbc":
        return spark.read.format("jdbc").option("url", source).options(**options).load()
    reader = spark.read.format(given)
    if given == "csv":  # as in RFC 4180, an empty field is NULL and "" empty text
        reader = reader.options(header=True, multiLine=True, escape='"', emptyValue="")
        # Spark reads every field that equals its nullValue as NULL, quoted or not, so it is a text that no file has
        reader = reader.option("nullValue", uuid4().hex)
    if given == "json":
        names = spark.read.options(**options).option("primitivesAsString", True).json(source).columns
        # fields read as strings keep a number's digits and a nested object's text
        reader = reader.schema(", ".join(f"{quoted(name)} string" for name in names))
    return reader.options(**options).load(source)


def unknown_format(source: str) -> ConfigError:
    return ConfigError(
        "the format of the source does not follow from its name or its files",
        remedy="Give the format (ticdc-emit: --format), such as parquet, csv, json, delta",
        option="format",
        source=mask_text(source),
    )


def _refused(text: str, source: str, given: str | None, spark: str) -> ConfigError | MissingDependencyError:
    shown = "its JDBC URL" if given == "jdbc" else mask_text(source)
    if _ABSENT.search(text):
        package = _PACKAGES.get(given or "", f"the package of the format {given}")
        return MissingDependencyError(
            f"Spark cannot read {given} here: its package is missing",
            remedy=f"Start Spark {spark} with it (ticdc-emit: --spark name=value): spark.jars.packages={package}",
            format=given,
            source=shown,
        )
    first = next((line for line in text.strip().splitlines() if line.strip()), "")
    remedy = "Check the name, and the format if the name does not tell it"
    return ConfigError(f"the source cannot be read: {foreign_text(first)}", remedy=remedy, format=given, source=shown)
