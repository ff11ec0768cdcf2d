"""The content of Open Protocol messages, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ticdc_emit.decode.events import RowOp

__all__ = ["OpenColumn", "OpenDdl", "OpenMessage", "OpenRow", "OpenWatermark"]

_BINARY, _UNSIGNED = 1, 128


class OpenColumn(NamedTuple):
    """A column in a message: its MySQL type code, its flags, and whether it belongs to the handle key."""

    type: int
    flags: int
    is_handle_key: bool

    @property
    def is_binary(self) -> bool:
        """Whether the column's charset is ``binary``, which is also that of numbers."""
        return bool(self.flags & _BINARY)

    @property
    def is_unsigned(self) -> bool:
        return bool(self.flags & _UNSIGNED)


class OpenRow(NamedTuple):
    """A row change. ``data`` is the row after the change (for a delete: before it). ``old`` is the row before an
    update, with only the changed columns under ``only-output-updated-columns``. Both have the message's JSON values;
    ``columns`` describes their columns.

    ``op``: an update without ``old`` is an ``insert``, because nothing distinguishes them. ``row_id``: the row's
    handle, 0 if it is not an integer or unknown; ``partition``: the id of its partition. ``handle_key_only``: the
    message was too large and has only the handle key's columns; ``claim_check``: the same, and the location of the
    whole message.
    """

    schema: str
    table: str
    op: RowOp
    commit_ts: int
    data: Mapping[str, Any]
    old: Mapping[str, Any] | None
    columns: Mapping[str, OpenColumn]
    row_id: int = 0
    partition: int | None = None
    handle_key_only: bool = False
    claim_check: str | None = None


@dataclass(frozen=True, slots=True)
class OpenDdl:
    """A statement; ``action`` is TiDB's number of its kind, ``table`` "" for a database."""

    schema: str
    table: str
    query: str
    action: int
    commit_ts: int


@dataclass(frozen=True, slots=True)
class OpenWatermark:
    """Everything up to ``commit_ts`` has been sent to this partition."""

    commit_ts: int


OpenMessage: TypeAlias = "OpenRow | OpenDdl | OpenWatermark"
