"""Suppress Spark's warnings about this library's plans, which users cannot act on.

In: a Spark session. Out: for the length of a block, or for good in a session that the library starts, no warning that a
task or the text of a plan is large. Nothing else of the session's logging changes. Over Spark Connect the server logs,
which is not changed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LOGGERS", "quiet_for_good", "without_size_warnings"]

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
    """Return the JVM's package of log4j 2; ``None`` over Spark Connect, or if Spark logs in another way."""
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
