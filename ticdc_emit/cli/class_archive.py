"""An archive of the classes that Spark loads, which halves the CPU time of later JVM starts.

In: the Java and the pyspark that a command runs on. Out: JVM options that make the archive or use it. It is the JVM's
own class-data sharing: the JVM writes the file when it ends, and ignores a file of another Java or of other jars. There
is one file (about 160 MB) in ``~/.cache/ticdc-emit/java``; its name identifies the Java and the Spark. Writing it takes
several seconds, which does not pay on a machine that is discarded after one run. So it is written only if stderr is a
terminal or ``TICDC_EMIT_CLASS_ARCHIVE`` is ``on``. With ``off``, no archive is written or used.
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
_SILENT = "-Xlog:disable"  # otherwise the JVM reports an archive that does not fit on stdout, among the results


@dataclass(frozen=True)
class ClassArchive:
    """``path``: the file, which may not exist yet."""

    path: Path

    @property
    def is_made(self) -> bool:
        """Whether the file exists."""
        return self.path.is_file()

    @property
    def options(self) -> str:
        """The JVM options that use the archive, or write it when the JVM ends."""
        if self.is_made:
            return f'"-XX:SharedArchiveFile={self.path}" {_SILENT}'
        return f'"-XX:ArchiveClassesAtExit={self._unfinished}" {_SILENT}'

    def keep(self) -> None:
        """Move what the ended JVM wrote to its final place, and delete archives of other versions.

        Does nothing if the JVM wrote no file: with a full disk, later starts are slow, not wrong.
        """
        with suppress(OSError):
            self._unfinished.rename(self.path)
            for other in self.path.parent.glob(f"{_PREFIX}*"):
                if other != self.path:
                    other.unlink()

    def give_up(self) -> None:
        """Delete a file that the JVM may have begun to write."""
        with suppress(OSError):
            self._unfinished.unlink()

    @property
    def _unfinished(self) -> Path:
        return self.path.with_suffix(f".{os.getpid()}")


def archive_for(java_home: Path) -> ClassArchive | None:
    """Return the archive for this Java and the installed pyspark, existing or to be written; ``None`` for no
    archive.
    """
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
