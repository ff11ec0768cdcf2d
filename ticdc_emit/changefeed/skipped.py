"""Where bad rows that a batch left out are written: one file of JSON lines per batch, in the rows' order.

In: lines, from the delivering task that is told of all bad rows of a batch. Out: ``<run>-batch-<id>.jsonl`` in a folder
that fsspec knows. A batch that is run again writes its own file again. Files of other runs stay: every night may begin
at batch 0, and several changefeeds may share the folder. A run goes on for as long as its state does.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ticdc_emit.config.secrets import Secret, foreign_text
from ticdc_emit.errors import DeliveryError, MissingDependencyError

__all__ = ["SkippedFile", "new_run"]


def new_run() -> str:
    """Return a name for a run that begins now. Names are in the order of their runs' beginnings."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True)
class SkippedFile:
    """The file of one batch in the folder ``path``; picklable, connects when it is used.

    Raises :class:`~ticdc_emit.errors.DeliveryError` for what the storage refuses,
    :class:`~ticdc_emit.errors.MissingDependencyError` without fsspec.
    """

    path: Secret[str]
    run: str
    batch_id: int

    def write(self, lines: Iterable[bytes]) -> None:
        """Write the lines in place of what the file held."""

        def write(files: Any, name: str) -> None:
            files.makedirs(name.rpartition("/")[0], exist_ok=True)
            with files.open(name, "wb") as file:
                file.writelines(lines)

        self._use(write, "written")

    def remove(self) -> None:
        """Remove what an earlier attempt at the batch wrote."""

        def remove(files: Any, name: str) -> None:
            if files.exists(name):
                files.rm(name)

        self._use(remove, "removed")

    def _use(self, do: Callable[[Any, str], None], what: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise MissingDependencyError("bad_rows_path needs fsspec", extra="state", package="fsspec") from None
        name = f"{self.run}-batch-{self.batch_id:08d}.jsonl"
        try:
            files, root = fsspec.core.url_to_fs(self.path.reveal())
            do(files, f"{root.rstrip('/')}/{name}")
        except Exception as error:
            raise DeliveryError(
                f"the skipped rows cannot be {what}: {type(error).__name__}: {foreign_text(str(error))}",
                remedy="Give bad_rows_path a folder that every worker and the driver may write to",
                file=name,
            ) from None
