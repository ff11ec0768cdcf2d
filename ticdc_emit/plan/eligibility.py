"""Which tables TiCDC replicates: those with a handle key, or with ``force-replicate`` all of them.

A handle key is a primary key, or a unique key over columns that are NOT NULL. Rows and DDL of other tables never reach
a sink. In: the catalog's histories and the events of DDL. Out: the same without what TiCDC leaves out.

Rule sources: pingcap/tiflow ``cdc/model/schema_storage.go`` (ExistTableUniqueColumn) and ``cdc/puller/ddl_puller.go``;
pingcap/ticdc ``filter.go``.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ticdc_emit.config import ChangefeedConfig, Profile
from ticdc_emit.errors import DdlError
from ticdc_emit.plan.tables import TableHistory, Unreplicated
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

__all__ = ["Eligibility", "KeylessTableWarning", "warn_keyless"]

logger = logging.getLogger(__name__)

_DROP = "drop table"


class KeylessTableWarning(UserWarning):
    """Tables of a changefeed without a handle key: their rows and DDL are left out, as TiCDC does it."""


@dataclass(frozen=True)
class Eligibility:
    """What a changefeed replicates. ``histories``: the catalog's, with every version of every table."""

    forced: bool
    profile: Profile
    histories: Mapping[tuple[str, str], TableHistory]

    @classmethod
    def of(cls, config: ChangefeedConfig, histories: Mapping[tuple[str, str], TableHistory]) -> Eligibility:
        return cls(config.force_replicate, config.profile, histories)

    def replicated(self) -> dict[tuple[str, str], TableHistory]:
        """Return the histories, with ``None`` for each version that is not replicated."""
        if self.forced:
            return dict(self.histories)
        return {
            key: [(since, info if info is None or self._is_seen(info) else None) for since, info in history]
            for key, history in self.histories.items()
        }

    def unreplicated(self) -> Unreplicated:
        """Return the tables with versions that are not replicated, and when these are valid."""
        found: dict[tuple[str, str], tuple[tuple[int, int | None], ...]] = {}
        for key, history in self.replicated().items():
            given, left = list(self.histories[key]), list(history)
            ends = [since for since, _ in given[1:]] + [None]
            spans = tuple(
                (since, end)
                for (since, info), (_, kept), end in zip(given, left, ends, strict=True)
                if info is not None and kept is None
            )
            if spans:
                found[key] = spans
        return found

    def tables(self) -> list[tuple[str, str]]:
        """Return the tables with a version that is replicated, and views."""
        return [key for key, history in self.replicated().items() if any(info is not None for _, info in history)]

    def events(self, events: Iterable[DdlEvent]) -> list[DdlEvent]:
        """Return the DDL that TiCDC sends.

        Raises :class:`DdlError` for a statement that takes a table's handle key away, at which TiCDC fails.
        """
        return [event for event in events if self.forced or self._is_sent(event)]

    def _is_sent(self, event: DdlEvent) -> bool:
        info, before = event.table_info, event.pre_table_info
        if info is None or info.is_view:
            return True
        is_drop = event.action == _DROP
        if self.profile.keyless_tables == "unseen":
            return self._is_seen(info) and (is_drop or self._has_key(info))
        if is_drop or self._has_key(info):
            return True
        if before is not None and before.id == info.id and self._has_key(before):
            raise DdlError(
                "the statement takes away the table's only handle key, at which TiCDC's changefeed fails",
                remedy="Keep a primary key or a unique key over NOT NULL columns, or set force-replicate = true",
                statement=event.query,
                table=info.full_name,
            )
        return False

    def _is_seen(self, info: TableInfo) -> bool:
        """Return whether rows of this version are replicated; a table may be judged by its first version alone."""
        if self.profile.keyless_tables == "unseen":
            return info.is_view or self._first_had_key.get(info.id, True)
        return info.is_view or self._has_key(info)

    @cached_property
    def _first_had_key(self) -> dict[int, bool]:
        versions = [(since, info) for history in self.histories.values() for since, info in history if info is not None]
        found: dict[int, bool] = {}
        for _, info in sorted(versions, key=lambda version: version[0]):
            found.setdefault(info.id, self._has_key(info))
        return found

    def _has_key(self, info: TableInfo) -> bool:
        return bool(info.whole_handle_key) or (self.profile.virtual_keys == "accepted" and _has_virtual_key(info))


def _has_virtual_key(info: TableInfo) -> bool:
    nullable = {column.name: column.nullable for column in info.columns}
    return any(index.unique and not any(nullable.get(name, True) for name in index.columns) for index in info.indexes)


def warn_keyless(tables: Iterable[tuple[str, str]], stacklevel: int) -> None:
    """Warn that tables are not replicated, once for all of them; it is logged too."""
    names = ", ".join(f"{schema}.{name}" for schema, name in tables)
    message = (
        f"Tables without a primary key or a unique key over NOT NULL columns are left out, as TiCDC does it: {names}. "
        "Add a key, or set force-replicate = true"
    )
    logger.info(message)
    warnings.warn(message, KeylessTableWarning, stacklevel=stacklevel + 1)
