"""The verdict on a DDL in a changefeed, and the interface of the lineages that decide it.

``sent``: applied and sent; ``ignored``: applied to the schema, not sent; ``discarded``: neither. If TiCDC itself fails,
a :class:`~ticdc_emit.errors.DdlError` with its error code is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.filters import EVENT_TYPES
from ticdc_emit.errors import DdlError
from ticdc_emit.filtering.event_filters import EventFilters
from ticdc_emit.filtering.keys import KeyRule
from ticdc_emit.filtering.rules import TableRules
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

__all__ = ["KEYLESS", "KIND", "RULES", "START_TS", "Guards", "Result", "Verdict", "failure", "is_rename_of_many"]

Result = Literal["sent", "ignored", "discarded"]

RULES = "rules"
START_TS = "ignore-txn-start-ts"
KEYLESS = "no handle key"
KIND = "not a replicated kind of DDL"

_SYNC_RENAME = "ErrSyncRenameTableFailed"


@dataclass(frozen=True)
class Verdict:
    """The verdict on one event. ``reason``: the option or rule that kept it from being sent; "" if it is sent."""

    event: DdlEvent
    result: Result
    reason: str = ""

    @classmethod
    def sent(cls, event: DdlEvent) -> Verdict:
        return cls(event, "sent")

    @classmethod
    def ignored(cls, event: DdlEvent, reason: str) -> Verdict:
        return cls(event, "ignored", reason)

    @classmethod
    def discarded(cls, event: DdlEvent, reason: str) -> Verdict:
        return cls(event, "discarded", reason)

    @property
    def is_sent(self) -> bool:
        return self.result == "sent"


@dataclass(frozen=True)
class Guards:
    """A changefeed's rules for tables and events."""

    rules: TableRules
    filters: EventFilters
    keys: KeyRule
    start_ts: frozenset[int]
    bdr_mode: bool

    @classmethod
    def of(cls, config: ChangefeedConfig) -> Guards:
        """Raises :class:`~ticdc_emit.errors.ConfigError` for rules that TiCDC refuses at start."""
        return cls(
            TableRules.of(config),
            EventFilters.of(config),
            KeyRule.of(config),
            frozenset(config.filter.ignore_txn_start_ts),
            config.bdr_mode,
        )

    def has(self, info: TableInfo) -> bool:
        """Return whether the rules accept a table."""
        return self.rules.has_table(info.schema, info.name)

    def replicates(self, info: TableInfo) -> bool:
        """Return whether the rules accept a table and it has a key."""
        return self.has(info) and self.keys.allows(info)

    @staticmethod
    def is_replicated_kind(event: DdlEvent) -> bool:
        return event.action in EVENT_TYPES

    def ignored_by(self, event: DdlEvent, info: TableInfo | None) -> str | None:
        """Return the event filter that ignores the event, by the name of ``info`` (``None``: of its database)."""
        text = event.filter_text or event.query
        if info is None:
            return self.filters.ignored_by(event.schema, "", event.action, text)
        return self.filters.ignored_by(info.schema, info.name, event.action, text)


def is_rename_of_many(events: Sequence[DdlEvent]) -> bool:
    """Return whether the events of a statement are those of a RENAME of several tables, which is one job."""
    return len(events) > 1 and all(event.action == "rename table" for event in events)


def failure(event: DdlEvent, message: str, code: str, remedy: str) -> DdlError:
    """Return the error for a DDL at which TiCDC's changefeed fails; the caller raises it."""
    table = f"{event.schema}.{event.table}" if event.table else None
    schema = None if event.table else event.schema
    return DdlError(message, remedy=remedy, statement=event.query, table=table, schema=schema, code=f"CDC:{code}")


def renamed_into(event: DdlEvent) -> DdlError:
    """Return the error for a RENAME from a name that the rules refuse to one that they accept."""
    return failure(
        event,
        "filter.rules include the table's new name, but not its old name: TiCDC's changefeed fails here",
        _SYNC_RENAME,
        "Add the old name to filter.rules",
    )


def with_before(event: DdlEvent, before: TableInfo | None) -> DdlEvent:
    """Return the event with the previous version that the changefeed knows."""
    return event if before is event.pre_table_info else replace(event, pre_table_info=before)
