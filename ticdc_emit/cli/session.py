"""Where the work of a command runs: in this process, or on a local Spark with readable errors, which takes about ten
seconds of CPU time to start. A session that this process already has is used as it is.
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
from ticdc_emit.cli.console import step
from ticdc_emit.cli.main import allow_pandas
from ticdc_emit.config import mask_text
from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.testing.java import short_lived_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ticdc_emit.cli.app import Emit, Generate


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
    name: str, *, cores: str = "*", settings: Mapping[str, str] | None = None, short: bool = False
) -> Iterator[SparkSession]:
    """Start Spark for the length of the block, unless it runs. Errors of Spark jobs become :class:`SparkJobError`.
    ``settings``: they override the command's own. ``short``: jobs take seconds, so compiling for them does not pay.
    """
    from ticdc_emit.spark.session import require_pyspark

    allow_pandas()
    require_pyspark()
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    with ExitStack() as stack:
        spark = SparkSession.getActiveSession() or stack.enter_context(
            _started(name, {"spark.master": f"local[{cores}]", **(_SHORT if short else {})}, settings or {}, short)
        )
        try:
            yield spark
        except PySparkException as error:
            raise _readable(str(error)) from None


@contextmanager
def _started(name: str, own: Mapping[str, str], settings: Mapping[str, str], short: bool) -> Iterator[SparkSession]:
    from pyspark.errors import PySparkException

    from ticdc_emit.spark.session import local_session

    options = short_lived_jvm("SPARK_SUBMIT_OPTS") if short else ()
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
            else:
                signals.end_children()
            raise
        spark.stop()


@contextmanager
def _watched_jvm() -> Iterator[None]:
    """Spark's JVM ignores SIGINT, and one that is abandoned while it starts waits forever, so a signal ends it here."""
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
    """Spark prints much while it starts."""
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
    """Return the error that a worker raised, or the first line of Spark's, without the stack traces around it."""
    raised = _RAISED.search(text.rpartition(_TRACEBACK)[2]) if _TRACEBACK in text else None
    if raised is None:
        return SparkJobError(foreign_text(text.strip().partition("\n")[0]))
    ours = raised["kind"] in errors.__all__
    return SparkJobError(raised["text"] if ours else mask_text(raised[0]))


MOST_ROWS_HERE = 500_000
"""Up to this number of row changes, this process is done before Spark would be."""

MOST_BYTES_HERE = 16 * 1024 * 1024
"""The same for files whose rows are not counted yet."""


def runs_here(amount: float | None, most: float, options: Emit | Generate) -> bool:
    """Return whether a command runs in this process. ``amount``: its rows or bytes, ``None`` for a stream."""
    return amount is not None and amount <= most and not options.on_spark and not options.spark


def spark_for(
    stack: ExitStack, name: str, *, short: bool, settings: Mapping[str, str] | None = None, quiet: bool
) -> SparkSession:
    """Start Spark until the stack is left, and show that. ``short``: its jobs take seconds."""
    with step("starting Spark", quiet=quiet):
        return stack.enter_context(local_spark(name, settings=settings, short=short))
