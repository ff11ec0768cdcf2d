"""A local Spark session on this interpreter.

In: nothing but the environment. Out: a ``SparkSession`` in UTC, on loopback, on a Java that :mod:`ticdc_emit.java`
finds, whose workers run this interpreter. By default, Spark starts the first ``python3`` on the PATH, which lacks this
environment's packages unless it is activated.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.java import batch_jvm, java_env, names_collector, short_lived_jvm
from ticdc_emit.spark.logs import quiet_for_good

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["is_on", "local_session", "register", "require_pyspark"]

_SETTINGS = {
    "spark.master": "local[*,4]",  # four attempts per task; plain local has one
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_DEFAULTS = "spark.driver.defaultJavaOptions"
_EXTRA = "spark.driver.extraJavaOptions"


def require_pyspark() -> None:
    """Raise :class:`MissingDependencyError` unless pyspark can be imported."""
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("this needs Spark, but pyspark is not installed", extra="spark") from error


def is_on(spark: SparkSession, setting: str) -> bool:
    """Return whether a setting of Spark's that is off by default is on; as Spark does, read it whatever its case."""
    return str(spark.conf.get(setting, "false")).strip().lower() == "true"


def register(spark: SparkSession) -> None:
    """Register ``format("ticdc")`` in a session (docs/datasource.md)."""
    from ticdc_emit.spark.datasource import TicdcDataSource

    spark.dataSource.register(TicdcDataSource)


def local_session(app: str = "ticdc-emit", **settings: str) -> SparkSession:
    """Return the running Spark session, or start one in this process (``local[*,4]``: a lost task is tried again).

    ``settings`` are Spark's, with ``_`` for ``.`` (``spark_sql_shuffle_partitions="4"``) or spelt as they are
    (``**{"spark.master": "local[2]"}``). A running session applies those that can still change. A session that starts
    here gets :func:`~ticdc_emit.java.batch_jvm` as ``spark.driver.defaultJavaOptions``, unless the environment, a
    ``spark-defaults.conf`` or ``spark.driver.extraJavaOptions`` of ``settings`` names another garbage collector. Raises
    :class:`MissingDependencyError` without pyspark or Java.
    """
    require_pyspark()
    from pyspark.sql import SparkSession

    given = {name if "." in name else name.replace("_", "."): value for name, value in settings.items()}
    running = SparkSession.getActiveSession()
    if running is not None:
        for name, value in given.items():
            if running.conf.isModifiable(name):
                running.conf.set(name, value)
        return running
    os.environ.update(java_env())
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", " ".join(short_lived_jvm()))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName(app)
    for name, value in {**_SETTINGS, **_jvm_settings(given), **given}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    quiet_for_good(session)
    return session


def _jvm_settings(given: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's setting for the JVM, none where the user names a collector: a JVM does not start with two."""
    defaults = _defaults_file()
    named = names_collector(given.get(_EXTRA, "")) or names_collector(defaults) or _DEFAULTS in defaults
    options = () if named else batch_jvm("SPARK_SUBMIT_OPTS")
    return {_DEFAULTS: " ".join(options)} if options else {}


def _defaults_file() -> str:
    """Return the settings in the ``spark-defaults.conf`` that Spark will read, empty without one."""
    import pyspark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    folder = os.environ.get("SPARK_CONF_DIR") or Path(home, "conf")
    try:
        lines = Path(folder, "spark-defaults.conf").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))
