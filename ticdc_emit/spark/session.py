"""The session: start one in this process, warm it up, register the data source.

It has a JVM for short jobs (``java``), and no warnings that a task or the text of a plan is large: they come from this
library's plans, and users cannot act on them.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticdc_emit.errors import importing
from ticdc_emit.testing.java import batch_jvm, java_env, names_collector, short_lived_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_LOGGERS = ("org.apache.spark.scheduler.DAGScheduler", "org.apache.spark.sql.catalyst.util.SparkStringUtils")
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
    with importing("this needs Spark, but pyspark is not installed", extra="spark"):
        import pyspark  # noqa: F401


def register(spark: SparkSession) -> None:
    """Register ``format("ticdc")`` in a session (docs/rows.md); :class:`MissingDependencyError` before Spark 4.1."""
    with importing('format("ticdc") needs PySpark 4.1', extra="", remedy="Upgrade it, or send with TicdcSink"):
        from ticdc_emit.spark.datasource import TicdcDataSource
    spark.dataSource.register(TicdcDataSource)


def local_session(app: str = "ticdc-emit", **settings: str) -> SparkSession:
    """Return the running Spark session, or start one in this process (``local[*,4]``: a lost task is tried again).

    ``settings`` are Spark's, with ``_`` for ``.`` (``spark_sql_shuffle_partitions="4"``) or as they are
    (``**{"spark.master": "local[2]"}``). A running session applies those that can still change; a new one gets
    :func:`~ticdc_emit.testing.java.batch_jvm`, unless the environment, a ``spark-defaults.conf`` or ``settings`` names
    another garbage collector. Raises :class:`MissingDependencyError` without pyspark or Java.
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
    _log_errors_only(session)
    return session


def _log_errors_only(spark: Any) -> None:
    if hasattr(spark, "_jsparkSession"):  # over Spark Connect the server logs
        log4j = spark._jvm.org.apache.logging.log4j
        for name in _LOGGERS:
            log4j.core.config.Configurator.setLevel(name, log4j.Level.ERROR)


def _jvm_settings(given: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's setting for the JVM, none where the user names a collector: a JVM does not start with two."""
    defaults = _defaults_file()
    named = names_collector(given.get(_EXTRA, "")) or names_collector(defaults) or _DEFAULTS in defaults
    options = () if named else batch_jvm("SPARK_SUBMIT_OPTS")
    return {_DEFAULTS: " ".join(options)} if options else {}


def _defaults_file() -> str:
    import pyspark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    folder = os.environ.get("SPARK_CONF_DIR") or Path(home, "conf")
    try:
        lines = Path(folder, "spark-defaults.conf").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


MOST_WARM_UP_S = 20.0
_NO_FASTER = 0.9
_IN_A_ROW = 3


def warm_up(rehearse: Callable[[], object]) -> None:
    """Call ``rehearse`` until that gets no faster, for at most 20 s.

    Each call has to plan its job, because an optimized plan would skip part of the work.
    """
    best, slower, until = math.inf, 0, time.monotonic() + MOST_WARM_UP_S
    while slower < _IN_A_ROW and time.monotonic() <= until:
        began = time.monotonic()
        rehearse()
        seconds = time.monotonic() - began
        slower = slower + 1 if seconds > best * _NO_FASTER else 0  # one alone may be slow for another reason
        best = min(best, seconds)
