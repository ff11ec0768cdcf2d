"""Per-batch state: what a replayed micro-batch must see again to send identical bytes.

One small JSON record per batchId, written before the batch sends anything and completed after its last acknowledgement.
A replayed batchId reads its record instead of the clock; the next one starts where the last completed one ended. What
a finished batch was is fixed: a replay with other rows or other DDL is refused. ``changefeed.state_store`` keeps them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ticdc_emit.changes.commits import is_far
from ticdc_emit.errors import ConfigError, StateError
from ticdc_emit.hints import counted

__all__ = ["BatchState", "DdlStatement"]

DdlStatement: TypeAlias = "tuple[int, str, str]"
"""commit_ts, current database, statement."""

_OTHER_SOURCE = "The source does not replay deterministically: check the query, or use another state_uri"


@dataclass(frozen=True)
class BatchState:
    """``build_ts`` is the wall clock in ms (None: commit times); ``watermark``, ``sent_until`` are TSO before the
    batch.

    ``max_commit_ts`` is the greatest TSO of any row before the batch, -1 without one: what the last watermark covers.
    ``ddl`` is every DDL up to and with the batch, in commit order. ``bootstraps`` is the bootstrap schedule before the
    batch (``Bootstraps.state``), None at the beginning. ``end_*`` are set on completion. ``rows`` and ``digest`` say
    what the batch's rows are (``changefeed.digest``), once that is known: after the check of a whole batch, at the
    latest on completion; ``digest`` is None in a record of an earlier release and in a store that has none. ``run`` is
    the name of the run that began with an empty store (``changefeed.skipped``), None in a record of an earlier release.
    """

    batch_id: int
    build_ts: int | None = None
    watermark: int | None = None
    sent_until: int = -1
    ddl: tuple[DdlStatement, ...] = ()
    done: bool = False
    end_watermark: int | None = None
    end_sent_until: int = -1
    rows: int = 0
    bootstraps: dict[str, Any] | None = None
    end_bootstraps: dict[str, Any] | None = None
    max_commit_ts: int = -1
    end_max_commit_ts: int = -1
    digest: str | None = None
    run: str | None = None

    def completed(
        self,
        *,
        watermark: int | None,
        sent_until: int,
        rows: int,
        max_commit_ts: int = -1,
        bootstraps: dict[str, Any] | None = None,
        digest: str | None = None,
    ) -> BatchState:
        """Return the record of the finished batch. What was sent already stays sent: a replay moves no end back.

        Raises :class:`StateError` as :meth:`refuse_other_rows` does.
        """
        self.refuse_other_rows(rows, digest)
        reached = [ts for ts in (watermark, self.end_watermark) if ts is not None]
        return replace(
            self,
            done=True,
            end_watermark=max(reached, default=None),
            end_sent_until=max(sent_until, self.end_sent_until),
            rows=rows,
            end_bootstraps=bootstraps,
            end_max_commit_ts=max(max_commit_ts, self.max_commit_ts, self.end_max_commit_ts),
            digest=digest,
        )

    def checked(self, rows: int, digest: str | None) -> BatchState:
        """Return the record with what the batch's rows are, which no later run of it may change.

        Raises :class:`StateError` as :meth:`refuse_other_rows` does.
        """
        self.refuse_other_rows(rows, digest)
        return self if digest is None else replace(self, rows=rows, digest=digest)

    def next(self, batch_id: int, build_ts: int | None, run: str | None = None) -> BatchState:
        """Return the state in which the batch after this one begins, before any DDL of its own."""
        return BatchState(
            batch_id,
            build_ts,
            self.end_watermark,
            self.end_sent_until,
            self.ddl,
            bootstraps=self.end_bootstraps,
            max_commit_ts=self.end_max_commit_ts,
            run=run or self.run,
        )

    def with_ddl(self, ddl: Iterable[DdlStatement]) -> BatchState:
        """Return the state with further DDL. Known statements may come again; what must have been sent is refused."""
        new = sorted((entry for entry in dict.fromkeys(ddl) if not self._has(entry)), key=lambda entry: entry[0])
        for commit_ts, _, query in new:
            if commit_ts <= self.sent_until:
                raise ConfigError(
                    "a DDL's commit_ts is not above what was sent already",
                    remedy="Give DDL in commit order, before or with the rows that follow it",
                    commit_ts=commit_ts,
                    statement=query,
                )
            if is_far(commit_ts):
                raise ConfigError(
                    "a DDL's commit_ts is a TSO after 2099: its watermark would make all later rows late",
                    remedy="Give TSOs, such as ticdc_emit.tso.compose(milliseconds)",
                    commit_ts=commit_ts,
                    statement=query,
                )
        if not new:  # the same object, by which stores and planners know it
            return self
        return replace(self, ddl=tuple(sorted([*self.ddl, *new], key=lambda entry: entry[0])))

    def _has(self, statement: DdlStatement) -> bool:
        """Return whether the DDL, which is in commit order, has this statement."""
        place = bisect_left(self.ddl, statement[0], key=lambda entry: entry[0])
        while place < len(self.ddl) and self.ddl[place][0] == statement[0]:
            if self.ddl[place] == statement:
                return True
            place += 1
        return False

    def refuse_other_rows(self, rows: int, digest: str | None) -> None:
        """Raise :class:`StateError` if it is known what the batch's rows are, and these are others."""
        if (self.done or self.digest is not None) and self.rows != rows:
            raise StateError(
                f"the replayed batch has {counted(rows, 'row')}, it had {self.rows:,}",
                remedy=_OTHER_SOURCE,
                batch_id=self.batch_id,
            )
        if None not in (digest, self.digest) and self.digest != digest:
            raise StateError(
                f"the replayed batch has as many rows as it had ({rows}), but their messages differ",
                remedy=f"{_OTHER_SOURCE}. Other options of the changefeed change messages too: use those it had",
                batch_id=self.batch_id,
            )

    def refuse_other_ddl(self, ddl: Iterable[DdlStatement]) -> None:
        """Raise :class:`StateError` if the batch is finished and one of the statements was not in it."""
        fresh = [entry for entry in ddl if not self._has(entry)]
        if self.done and fresh:
            commit_ts, _, query = fresh[0]
            raise StateError(
                "the replayed batch has a DDL that it did not have",
                remedy=_OTHER_SOURCE,
                batch_id=self.batch_id,
                commit_ts=commit_ts,
                statement=query,
            )
