"""What a replay must find again when it goes on: its history, its schema, and how it was cut.

In: the slices of a run with a ``state_uri``. Out: a record ``replay.json`` beside the changefeed's own, and a refusal
where a later run cuts the history otherwise, or has another one: its batches would not be the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from ticdc_emit.changefeed.record import GREATEST, damaged, object_of
from ticdc_emit.changefeed.state import DdlStatement
from ticdc_emit.config import Secret
from ticdc_emit.config.secrets import mask_text
from ticdc_emit.encode.plan import Plan
from ticdc_emit.errors import StateError

__all__ = ["check_record", "tables_text"]

_NAME = "replay.json"
_WHAT = {"slice_ms": "slice", "tables": "schema or other DDL"}


def tables_text(plan: Plan, ddl: Sequence[DdlStatement]) -> str:
    """Return a hash of the tables' columns and indexes, in all their versions, and of the DDL."""
    hashed = hashlib.sha256(repr(list(ddl)).encode("utf-8", "surrogatepass"))
    for name, table in sorted(plan.tables.items()):
        for since, encoder in zip(table.since, table.encoders, strict=True):
            shape = None if encoder is None else (encoder.table.columns, encoder.table.indexes)
            hashed.update(repr((name, since, shape)).encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()[:32]


def check_record(state_uri: Secret[str] | None, cut: dict[str, Any], first_batch: int) -> int:
    """Keep how a history is cut, or compare it with what an earlier run kept; return the batch id of the first slice.

    ``first_batch``: that of a replay which begins now. Raises :class:`StateError` where the history is cut otherwise or
    is another one, or the storage fails.
    """
    if state_uri is None:
        return first_batch
    known = _load_or_save(state_uri, {**cut, "first_batch": first_batch})
    differing = [name for name in cut if known.get(name) != cut[name]]
    if differing:
        sides = (("then", known), ("now", cut))
        raise StateError(
            f"the replay began with another {_WHAT.get(differing[0], 'history') if len(differing) == 1 else 'history'}",
            remedy="Go on with the same source and options, or begin anew with another state_uri",
            **{f"{side}_{name}": values.get(name) for name in differing for side, values in sides},
        )
    return int(known["first_batch"])


def _load_or_save(state_uri: Secret[str], cut: dict[str, Any]) -> dict[str, Any]:
    import fsspec  # the changefeed's own store has told whether it is there

    try:
        storage, root = fsspec.core.url_to_fs(state_uri.reveal())
        path = f"{root}/{_NAME}"
        if storage.exists(path):
            known = object_of(storage.cat_file(path), _NAME)
            first_batch = known.get("first_batch")
            if isinstance(first_batch, bool) or not isinstance(first_batch, int) or not 0 <= first_batch <= GREATEST:
                raise damaged(_NAME, f"its field first_batch is {first_batch!r:.60}")
            return known
        storage.makedirs(root, exist_ok=True)
        storage.pipe_file(f"{path}.tmp", json.dumps(cut).encode())
        storage.mv(f"{path}.tmp", path)
        return cut
    except StateError:
        raise
    except Exception as error:  # of any type: whatever the storage's client raises
        raise StateError(
            f"the record of the replay cannot be used: {type(error).__name__}: {mask_text(str(error))}",
            remedy="Check that the folder of state_uri is there and may be used",
        ) from None
