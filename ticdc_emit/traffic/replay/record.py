"""The record of a replay in its ``state_uri``: which history it sends, and how that is cut into slices.

In: the slices' width, the history's bounds and fingerprint, a hash of its tables. Out: a :class:`ReplayRecord`, which a
changefeed saves before its first message. A run that continues compares its history with it, and refuses another one.
The batches have records of their own (``pipeline.state``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ticdc_emit.config import Secret
from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.errors import StateError
from ticdc_emit.pipeline.ddl import DdlStatement
from ticdc_emit.pipeline.plan import Plan
from ticdc_emit.pipeline.state import GREATEST, damaged, object_of

_NAME = "replay.json"
_WHAT = {"slice_ms": "slice", "tables": "schema or other DDL"}


def tables_hash(plan: Plan, ddl: Sequence[DdlStatement]) -> str:
    """Return a hash of the tables' columns and indexes, in all their versions, and of the DDL."""
    hashed = hashlib.sha256(repr(list(ddl)).encode("utf-8", "surrogatepass"))
    for name, table in sorted(plan.tables.items()):
        for since, encoder in zip(table.since, table.encoders, strict=True):
            shape = None if encoder is None else (encoder.table.columns, encoder.table.indexes)
            hashed.update(repr((name, since, shape)).encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()[:32]


@dataclass(frozen=True)
class ReplayRecord:
    """The record of a replay besides those of its batches, kept from its first message on (the ``CommitHooks`` of a
    changefeed).

    ``cut``: how the history is cut. ``first_batch``: the batch id of its first slice. ``is_saved``: whether an earlier
    run has saved it.
    """

    state_uri: Secret[str] | None
    cut: dict[str, Any]
    first_batch: int
    is_saved: bool

    @classmethod
    def find(cls, state_uri: Secret[str] | None, cut: dict[str, Any], first_batch: int) -> ReplayRecord:
        """Compare a history with that of an earlier run; nothing is written.

        ``first_batch``: that of a replay that begins now. Raises :class:`StateError` if the history or its slices
        differ, or the storage fails.
        """
        known = None if state_uri is None else _load(state_uri)
        if known is None:
            return cls(state_uri, cut, first_batch, is_saved=state_uri is None)
        differing = [name for name in cut if known.get(name) != cut[name]]
        if differing:
            sides = (("then", known), ("now", cut))
            what = _WHAT.get(differing[0], "history") if len(differing) == 1 else "history"
            raise StateError(
                f"the replay began with another {what}",
                remedy="Continue with the same source and options, or start again with another state_uri",
                **{f"{side}_{name}": values.get(name) for name in differing for side, values in sides},
            )
        return cls(state_uri, cut, int(known["first_batch"]), is_saved=True)

    def begin(self) -> None:
        """Save the record, unless it is saved already."""
        if self.is_saved:
            return
        storage, path = _located(self.state_uri)
        with _storage_errors():
            storage.makedirs(path.rpartition("/")[0], exist_ok=True)
            storage.pipe_file(f"{path}.tmp", json.dumps({**self.cut, "first_batch": self.first_batch}).encode())
            storage.mv(f"{path}.tmp", path)

    def undo(self) -> None:
        """Remove the record, if this run has saved it."""
        if self.is_saved:
            return
        storage, path = _located(self.state_uri)
        with _storage_errors():
            storage.rm(path)


def _load(state_uri: Secret[str]) -> dict[str, Any] | None:
    storage, path = _located(state_uri)
    with _storage_errors():
        try:
            content = storage.cat_file(path)
        except FileNotFoundError:
            return None
    known = object_of(content, _NAME)
    first_batch = known.get("first_batch")
    if isinstance(first_batch, bool) or not isinstance(first_batch, int) or not 0 <= first_batch <= GREATEST:
        raise damaged(_NAME, f"its field first_batch is {first_batch!r:.60}")
    return known


def _located(state_uri: Secret[str] | None) -> tuple[Any, str]:
    import fsspec  # the changefeed's own store has reported whether it exists

    assert state_uri is not None
    with _storage_errors():
        storage, root = fsspec.core.url_to_fs(state_uri.reveal())
        return storage, f"{root}/{_NAME}"


@contextmanager
def _storage_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the storage's client may raise any type
        raise StateError(
            f"the record of the replay cannot be used: {type(error).__name__}: {foreign_text(str(error))}",
            remedy="Check that the folder of state_uri is there and may be used",
        ) from None
