"""What a changefeed replicates of a catalog: its DDL, and which versions of which tables have rows.

A version of a known table that a discarded DDL made is ignored: rows keep the previous one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.errors import DdlError
from ticdc_emit.routing.ddl_classic import SnapshotDdlFilter
from ticdc_emit.routing.ddl_next import StoreDdlFilter
from ticdc_emit.routing.filter_rules import KEYLESS, KIND, RULES, START_TS, FilterRules, Verdict
from ticdc_emit.routing.table_routes import TableRoutes, TargetOwners
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import MAX_TSO

TableHistory: TypeAlias = Iterable[tuple[int, "TableInfo | None"]]
"""Versions of one table name: (commit_ts from which it applies, the schema; ``None`` once dropped), ascending."""


class LeftOut(NamedTuple):
    """Rows with since < commit_ts <= until (``None``: no end) are left out, and why.

    ``columns``: columns added by a discarded DDL. Rows may have them, and no row is left out.
    """

    since: int
    until: int | None
    reason: str
    columns: frozenset[str] = frozenset()

    def covers(self, commit_ts: npt.NDArray[np.uint64] | np.uint64) -> Any:
        """Return whether the span has a commit_ts, for one as for an array."""
        until = MAX_TSO if self.until is None else self.until
        return (commit_ts > np.uint64(self.since)) & (commit_ts <= np.uint64(until))


Unreplicated: TypeAlias = Mapping[tuple[str, str], tuple[LeftOut, ...]]
"""The time spans in which a table's rows are left out, by table name."""


class Replication:
    """Follows a changefeed's DDL."""

    def __init__(self, config: ChangefeedConfig, schemas: Iterable[str], tables: Sequence[TableInfo]) -> None:
        self._rules = FilterRules.of(config)
        self._targets = TargetOwners(TableRoutes.of(config))
        self._keyless_is_final = config.release.filtering.keyless_tables == "unseen"
        self._ddl_filter: SnapshotDdlFilter | StoreDdlFilter
        if config.release.filtering.judged_ddl == "by-snapshot":
            self._ddl_filter = SnapshotDdlFilter(self._rules, schemas, tables)
        else:
            self._ddl_filter = StoreDdlFilter(self._rules, tables)
        self._targets.begin(
            info for info in tables if not info.is_view and self._rules.has(info) and self._rules.allows_key(info)
        )
        self._accepted: dict[tuple[str, str], bool] = {}  # by name: one table may have thousands of versions
        self._fates: dict[tuple[int, int, str], str] = {}
        self._instead: dict[tuple[int, int, str], TableInfo] = {}

    @classmethod
    def of(cls, config: ChangefeedConfig, catalog: Catalog) -> Replication:
        """Return the replication of a changefeed that starts with the catalog's current state."""
        return cls(config, catalog.databases(), catalog.tables())

    def verdicts(self, events: Sequence[DdlEvent], commit_ts: int, bdr_role: str = "") -> list[Verdict]:
        """Return the verdicts on the next statement, whose transaction begins one tick before its ``commit_ts``.

        ``bdr_role``: ``primary``, ``secondary`` or "". Raises ``DdlError`` if TiCDC's changefeed fails,
        ``TableRouteError``.
        """
        found = self._ddl_filter.verdicts(events, commit_ts - 1, bdr_role)
        self._targets.follow(found)
        for verdict in found:
            self._remember(verdict)
        return found

    def _remember(self, verdict: Verdict) -> None:
        if verdict.result == "discarded":
            for other in verdict.event.others:
                self._as_before(other, verdict.reason)
        info, before = verdict.event.table_info, verdict.event.pre_table_info
        if info is None or verdict.event.action in ("drop table", "drop view"):
            return
        if verdict.result == "discarded" and verdict.reason in (KIND, START_TS):
            if verdict.event.action == "rename table":
                self._as_before(info, verdict.reason)
                return
            if verdict.event.action == "exchange partition":
                raise _not_exchanged(verdict.event, info)
            same = before is not None and before.id == info.id
            self._fates[_version(info)] = _SKIPPED if same else verdict.reason
        elif verdict.event.action == "exchange partition" and verdict.reason == RULES:
            if self._ddl_filter.knows(info) and self._rules.has(info):
                raise _not_exchanged(verdict.event, info)
        elif not self._ddl_filter.knows(info) and self._rules.has(info):
            self._fates[_version(info)] = KEYLESS if self._keyless_is_final else RULES

    def _as_before(self, info: TableInfo, reason: str) -> None:
        """Replace a job's version by the one that the changefeed knows under its id, if it did not apply the job."""
        known = None if reason == KIND else self._ddl_filter.table_of_rows(info)
        if known is None:
            self._fates[_version(info)] = reason
        elif known is not info:
            self._instead[_version(info)] = known

    def histories(
        self, histories: Mapping[tuple[str, str], TableHistory]
    ) -> tuple[dict[tuple[str, str], TableHistory], Unreplicated]:
        """Return a catalog's histories, ``None`` for versions that are left out, and their spans with reasons."""
        replicated: dict[tuple[str, str], TableHistory] = {}
        left_out: dict[tuple[str, str], tuple[LeftOut, ...]] = {}
        for key, history in histories.items():
            replicated_as = [
                (since, None if info is None else self._instead.get(_version(info), info)) for since, info in history
            ]
            versions = [(since, info, self._fate(info)) for since, info in replicated_as]
            unused = _columns(info for _, info, fate in versions if fate == _SKIPPED)
            versions = [each for each in versions if each[2] != _SKIPPED]
            unused -= _columns(info for _, info, _ in versions)
            replicated[key] = [(since, info if fate is None else None) for since, info, fate in versions]
            ends = [since for since, _, _ in versions[1:]] + [None]
            spans = tuple(
                LeftOut(since, end, fate)
                for (since, _, fate), end in zip(versions, ends, strict=True)
                if fate is not None
            )
            if unused:
                spans += (LeftOut(0, 0, START_TS, unused),)
            if spans:
                left_out[key] = spans
        return replicated, left_out

    def _fate(self, info: TableInfo | None) -> str | None:
        if info is None:
            return None
        special = self._fates.get(_version(info))
        if special is not None:
            return special
        name = info.schema, info.name
        if name not in self._accepted:
            self._accepted[name] = self._rules.has(info)
        if not self._accepted[name]:
            return RULES
        if info.is_view:
            return None
        if self._keyless_is_final:
            return None if self._ddl_filter.knows(info) else KEYLESS
        return None if self._rules.allows_key(info) else KEYLESS


def _not_exchanged(event: DdlEvent, info: TableInfo) -> DdlError:
    return DdlError(
        "rows after a discarded EXCHANGE PARTITION are not supported: TiCDC takes them for those of the other table",
        remedy="Let filter.rules and filter.ignore-txn-start-ts keep both tables and the statement, or neither table",
        statement=event.query,
        table=info.full_name,
    )


def _columns(infos: Iterable[TableInfo | None]) -> frozenset[str]:
    return frozenset(column.name for info in infos if info is not None for column in info.columns)


_SKIPPED = "the version before it holds"


def _version(info: TableInfo) -> tuple[int, int, str]:
    return info.id, info.version, info.full_name
