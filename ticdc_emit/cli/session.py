"""A local Spark for the commands that need one, with readable errors.

In: the environment, and the user's Spark settings. Out: the session of :func:`ticdc_emit.spark.local_session`, quiet,
with its files in a temporary folder, stopped when the command ends. A session that this process already has is used as
it is.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticdc_emit import errors
from ticdc_emit.cli import signals
from ticdc_emit.cli.class_archive import archive_for
from ticdc_emit.cli.console import step
from ticdc_emit.config import mask_text
from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.java import find_java, short_lived_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SHORT_ROWS", "SparkJobError", "local_spark"]

_TRACEBACK = "Traceback (most recent call last):"
_RAISED = re.compile(r"^(?:[\w.]*\.)?(?P<kind>[A-Z]\w+): (?P<text>.+)$", re.MULTILINE)

SHORT_ROWS = 100_000
"""A job of up to this number of row changes is short."""

_JVM_OPTIONS = "spark.driver.extraJavaOptions"
_SHORT = {  # less Java code is generated and compiled, and later stages are not planned again
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
}


class SparkJobError(TicdcEmitError, RuntimeError):
    """A Spark job failed. The message is that of the worker's error, or of Spark's own."""


@contextmanager
def local_spark(
    name: str, *, cores: str = "*", settings: Mapping[str, str] | None = None, short: bool = False, quiet: bool = False
) -> Iterator[SparkSession]:
    """Start Spark for the length of the block, unless it runs. Errors of Spark jobs become :class:`SparkJobError`.

    ``settings``: further settings of a Spark that is started here, by full name; they override the command's own.
    ``short``: the block's jobs take seconds, so compiling for them does not pay. ``quiet``: show no progress. Raises
    :class:`~ticdc_emit.errors.MissingDependencyError` without pyspark or Java.
    """
    from ticdc_emit.spark.session import require_pyspark

    require_pyspark()
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    with ExitStack() as stack:
        spark = SparkSession.getActiveSession() or stack.enter_context(
            _started(
                name, {"spark.master": f"local[{cores}]", **(_SHORT if short else {})}, settings or {}, short, quiet
            )
        )
        try:
            yield spark
        except PySparkException as error:
            raise _readable(str(error)) from None


@contextmanager
def _started(
    name: str, own: Mapping[str, str], settings: Mapping[str, str], short: bool, quiet: bool
) -> Iterator[SparkSession]:
    from pyspark.errors import PySparkException

    from ticdc_emit.spark.session import local_session

    archive = None if _JVM_OPTIONS in settings else archive_for(find_java().parent.parent)
    options = [*(short_lived_jvm("SPARK_SUBMIT_OPTS") if short else ()), *([archive.options] if archive else ())]
    with tempfile.TemporaryDirectory(prefix="ticdc-emit-", ignore_cleanup_errors=True) as folder:
        log = Path(folder, "spark.log")
        try:
            with _stderr_to(log), _watched_jvm():
                spark = local_session(
                    f"ticdc-emit {name}",
                    **{
                        **own,
                        _JVM_OPTIONS: " ".join(options),
                        "spark.sql.warehouse.dir": f"{folder}/warehouse",
                        "spark.local.dir": folder,
                        **settings,
                    },
                )
        except (PySparkException, OSError) as error:
            raise SparkJobError(f"Spark did not start: {_last_lines(log) or error}") from None
        signals.raise_on_signals()  # Spark handles SIGINT by cancelling jobs; here all of Spark has to end
        spark.sparkContext.setLogLevel("OFF")
        logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL)
        try:
            yield spark
        except BaseException:
            if signals.received() is None:
                spark.stop()
                _ended_jvm().kill()  # if it ended by itself, it would write the archive first
            else:
                signals.end_children()
            if archive is not None:
                archive.give_up()
            raise
        spark.stop()
        if archive is not None and not archive.is_made:
            with step("keeping Spark's classes for faster starts (once; Ctrl-C skips it)", quiet=quiet):
                _ended_jvm().wait()
                archive.keep()


def _ended_jvm() -> subprocess.Popen[bytes]:
    """Ask the JVM of a stopped session to end, and return its process. A later session starts a JVM of its own."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    jvm: subprocess.Popen[bytes] = gateway.proc
    if jvm.stdin is not None:
        jvm.stdin.close()
    return jvm


@contextmanager
def _watched_jvm() -> Iterator[None]:
    """If a signal ends the command, also end the JVM that starts in the block, even before it answers.

    Spark's JVM ignores SIGINT, and a JVM that is abandoned while it starts waits forever.
    """
    from pyspark import java_gateway

    class Watched(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            with signals.held():
                super().__init__(*arguments, **options)
                signals.watch(self)

    started_by = java_gateway.Popen
    java_gateway.Popen = Watched
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, signals.Interrupted):
            raise
        signals.raise_interrupted(signal.SIGINT)  # raised by the handler that Spark installed
    finally:
        java_gateway.Popen = started_by


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Give processes that start in the block ``log`` as their stderr, because Spark prints much while it starts."""
    sys.stderr.flush()
    terminal = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)


def _last_lines(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.exists() else []
    return foreign_text(" / ".join(lines[-3:]))


def _readable(text: str) -> SparkJobError:
    """Return the error that a worker raised, without the stack traces around it; else the first line of Spark's
    error.
    """
    raised = _RAISED.search(text.rpartition(_TRACEBACK)[2]) if _TRACEBACK in text else None
    if raised is None:
        return SparkJobError(foreign_text(text.strip().partition("\n")[0]))
    ours = raised["kind"] in errors.__all__
    return SparkJobError(raised["text"] if ours else mask_text(raised[0]))
