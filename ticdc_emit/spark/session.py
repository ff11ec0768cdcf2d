"""The session: start one in this process, read its settings, warm it up, and leave out warnings that help nobody.

In: Spark's settings, or a session. Out: a session with a JVM for short jobs (``java``) and without the warnings that a
task or the text of a plan is large: they come from this library's plans, and users cannot act on them. In a user's own
session they are left out for the length of a block only, and nothing else of its logging changes. Over Spark Connect
the server logs, and that stays as it is.
"""

from __future__ import annotations

import math
import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticdc_emit.errors import importing
from ticdc_emit.testing.java import batch_jvm, java_env, names_collector, short_lived_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LOGGERS = ("org.apache.spark.scheduler.DAGScheduler", "org.apache.spark.sql.catalyst.util.SparkStringUtils")

_blocks: Counter[str] = Counter()
_lock = threading.Lock()


@contextmanager
def without_size_warnings(spark: SparkSession) -> Iterator[None]:
    """Let :data:`LOGGERS` log only errors in the block, in all threads; then restore them."""
    logging = _log4j(spark)
    if logging is None:
        yield
        return
    quieted = [name for name in LOGGERS if _enter(logging, name)]
    try:
        yield
    finally:
        for name in quieted:
            _leave(logging, name)


def quiet_for_good(spark: SparkSession) -> None:
    """Let :data:`LOGGERS` log only errors, in a session that the library started."""
    logging = _log4j(spark)
    for name in LOGGERS if logging is not None else ():
        _set_level(logging, name)


def _enter(logging: Any, name: str) -> bool:
    """Quieten a logger, unless the user has set its level; blocks may overlap."""
    with _lock:
        if not _blocks[name]:
            if _context(logging).getConfiguration().getLoggers().containsKey(name):
                return False
            _set_level(logging, name)
        _blocks[name] += 1
        return True


def _leave(logging: Any, name: str) -> None:
    with _lock:
        _blocks[name] -= 1
        if not _blocks[name]:
            context = _context(logging)
            context.getConfiguration().removeLogger(name)
            context.updateLoggers()


def _log4j(spark: SparkSession) -> Any:
    jvm = getattr(spark, "_jvm", None) if hasattr(spark, "_jsparkSession") else None
    if jvm is None:
        return None
    from py4j.java_gateway import JavaClass

    package = jvm.org.apache.logging.log4j
    return package if isinstance(package.core.config.Configurator, JavaClass) else None


def _context(logging: Any) -> Any:
    return logging.LogManager.getContext(False)


def _set_level(logging: Any, name: str) -> None:
    logging.core.config.Configurator.setLevel(name, logging.Level.ERROR)


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


def conf_is_true(spark: SparkSession, setting: str) -> bool:
    """Return whether a setting of Spark's that is off by default is on; as Spark does, read it whatever its case."""
    return str(spark.conf.get(setting, "false")).strip().lower() == "true"


def is_local(spark: SparkSession) -> bool:
    """Return whether the tasks of a session run on the driver's machine, in its JVM."""
    return re.fullmatch(r"local(\[.*\])?", spark.conf.get("spark.master", "") or "") is not None


def register(spark: SparkSession) -> None:
    """Register ``format("ticdc")`` in a session (docs/datasource.md)."""
    from ticdc_emit.spark.datasource import TicdcDataSource

    spark.dataSource.register(TicdcDataSource)


def local_session(app: str = "ticdc-emit", **settings: str) -> SparkSession:
    """Return the running Spark session, or start one in this process (``local[*,4]``: a lost task is tried again).

    ``settings`` are Spark's, with ``_`` for ``.`` (``spark_sql_shuffle_partitions="4"``) or spelt as they are
    (``**{"spark.master": "local[2]"}``). A running session applies those that can still change. A session that starts
    here gets :func:`~ticdc_emit.testing.java.batch_jvm` as ``spark.driver.defaultJavaOptions``, unless the environment,
    a ``spark-defaults.conf`` or ``spark.driver.extraJavaOptions`` of ``settings`` names another garbage collector.
    Raises :class:`MissingDependencyError` without pyspark or Java.
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

    Each call has to plan its Spark job, because a plan that Spark has already optimized would skip part of the work.
    """
    best, slower, until = math.inf, 0, time.monotonic() + MOST_WARM_UP_S
    while slower < _IN_A_ROW and time.monotonic() <= until:
        began = time.monotonic()
        rehearse()
        seconds = time.monotonic() - began
        slower = slower + 1 if seconds > best * _NO_FASTER else 0  # one alone may be slow for another reason
        best = min(best, seconds)
