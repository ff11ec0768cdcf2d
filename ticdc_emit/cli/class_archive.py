"""An archive of the classes that Spark loads, with which later JVMs start in about half the CPU time.

In: the Java and the pyspark that a command runs on. Out: JVM options that make the archive or use it. It is the JVM's
own class-data sharing: the JVM writes the file at its end, and one of another Java, or of other jars, it passes over
without an error. The file (about 160 MB) is in ``~/.cache/ticdc-emit/java``, one at a time, under a name that tells
which Java and which Spark it is of. Writing it takes several seconds, once, which nobody gets back on a machine that
is thrown away after a run: so it is made for a person at a terminal, or where ``TICDC_EMIT_CLASS_ARCHIVE=on`` asks for
it; ``off`` switches all of this off.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ticdc_emit.java import java_cache

__all__ = ["VARIABLE", "ClassArchive", "archive_for"]

VARIABLE = "TICDC_EMIT_CLASS_ARCHIVE"
_BASE = Path("lib", "server", "classes.jsa")  # the JVM's own archive, on which another one is built
_PREFIX = "spark-"
_SILENT = "-Xlog:disable"  # an archive that does not fit is told on stdout, among the results


@dataclass(frozen=True)
class ClassArchive:
    """``path``: where the archive is, or will be."""

    path: Path

    @property
    def is_made(self) -> bool:
        """Whether there is one to use."""
        return self.path.is_file()

    @property
    def options(self) -> str:
        """The JVM options to use the archive, or to make it when the JVM ends."""
        if self.is_made:
            return f'"-XX:SharedArchiveFile={self.path}" {_SILENT}'
        return f'"-XX:ArchiveClassesAtExit={self._unfinished}" {_SILENT}'

    def keep(self) -> None:
        """Put what an ended JVM has written in its place, instead of archives for other versions.

        Nothing happens if it wrote none: a full disk makes later starts slow, not wrong.
        """
        with suppress(OSError):
            self._unfinished.rename(self.path)
            for other in self.path.parent.glob(f"{_PREFIX}*"):
                if other != self.path:
                    other.unlink()

    def give_up(self) -> None:
        """Remove what a JVM may have begun to write."""
        with suppress(OSError):
            self._unfinished.unlink()

    @property
    def _unfinished(self) -> Path:
        return self.path.with_suffix(f".{os.getpid()}")


def archive_for(java_home: Path) -> ClassArchive | None:
    """Return the archive of this Java and the installed pyspark, which is there or is to be made; else ``None``."""
    wish = os.environ.get(VARIABLE)
    if wish == "off":
        return None
    try:
        base = (java_home / _BASE).stat()
        release = (java_home / "release").read_bytes()
        folder = java_cache()
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    facts = [str(java_home), release, base.st_size, base.st_mtime_ns, *_spark_facts()]
    name = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    archive = ClassArchive(folder / f"{_PREFIX}{name}.jsa")
    return archive if archive.is_made or wish == "on" or sys.stderr.isatty() else None


def _spark_facts() -> list[object]:
    import pyspark

    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    changed = 0
    with suppress(OSError):
        changed = (home / "jars").stat().st_mtime_ns
    return [pyspark.__version__, str(home), changed]
