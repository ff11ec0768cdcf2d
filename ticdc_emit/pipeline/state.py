"""The record of a batch: the state in which it begins, and how far it came; and the same as JSON.

With it a batch that failed is run again as it was, and a replay that is another batch is refused. The JSON has a
checksum: what others have written or changed is refused where it is read (:func:`record_of`).
"""

from __future__ import annotations

import json
import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from ticdc_emit.changes.commit_ts import is_far
from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.errors import ConfigError, StateError
from ticdc_emit.hints import counted
from ticdc_emit.pipeline.plan.ddl import DdlStatement
from ticdc_emit.sql.json_depth import parsed

_OTHER_SOURCE = "The source does not replay deterministically: check the query, or use another state_uri"


@dataclass(frozen=True)
class BatchState:
    """``build_ts``: the wall clock in ms (None: commit times); ``watermark``, ``sent_until``: TSO before the batch.

    ``max_commit_ts``: the TSO up to which all rows were before the batch, or -1; the last watermark covers it. ``ddl``:
    all up to and with the batch, in commit order. ``bootstraps``: the schedule before the batch. ``end_*`` are set on
    completion. ``rows`` and ``digest``: of the batch's rows, after the check of a whole batch, at the latest on
    completion; ``digest`` is None in a store that has none. ``run``: the name of the run that began with an empty
    store.
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

    def complete(
        self,
        *,
        watermark: int | None,
        sent_until: int,
        rows: int,
        max_commit_ts: int = -1,
        bootstraps: dict[str, Any] | None = None,
        digest: str | None = None,
    ) -> BatchState:
        """Return the finished batch's record. A replay moves no end back. Raises ``StateError`` for other rows."""
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
                    remedy="Give DDL in commit order, before or with the rows that follow it. Where a heartbeat was "
                    "faster, start anew with a longer allowed_lateness, another state_uri and another checkpoint",
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
        first, end = (cut(self.ddl, statement[0], key=lambda entry: entry[0]) for cut in (bisect_left, bisect_right))
        return statement in self.ddl[first:end]

    def refuse_other_rows(self, rows: int, digest: str | None) -> None:
        """Raise :class:`StateError` if it is known what the batch's rows are, and these are others."""
        if self.done and self.rows != rows:
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


GREATEST = 2**63 - 1
"""The greatest TSO and the greatest batchId."""

Places: TypeAlias = "list[list[int]]"
"""Ranges [first, end) of statements in the history of DDL (``pipeline.state_store``)."""

_PLACES = "ddl_places"
_CHECKSUM = "crc32"
_NAME = re.compile(r"batch-([0-9]{1,19})\.json")
_REMEDY = "Restore the file from a backup, or start with another state_uri"


def file_name(batch_id: int) -> str:
    return f"batch-{batch_id}.json"


def batch_id_of(name: str) -> int | None:
    """Return whose record a file holds, ``None`` for another file. Raises ``StateError`` for a record of no batch."""
    if not (name.startswith("batch-") and name.endswith(".json")):
        return None
    match = _NAME.fullmatch(name)
    number = int(match[1]) if match else -1
    if not (0 <= number <= GREATEST and name == file_name(number)):
        raise StateError(
            "the state store contains a file that is not a batch's record",
            remedy="Move the file away: records are named batch-0.json, batch-1.json and so on",
            file=name,
        )
    return number


def text_of(state: BatchState, places: Places) -> bytes:
    """Return the content of a batch's file; ``places``: of its DDL in the history."""
    own = {each.name: getattr(state, each.name) for each in fields(state) if each.name != "ddl"}
    return sealed({**own, _PLACES: places})


def sealed(record: dict[str, Any]) -> bytes:
    """Return the content of a file of the store: the record as JSON, with a checksum of that."""
    return json.dumps({**record, _CHECKSUM: _checksum(record)}).encode()


def _checksum(record: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(record).encode())


def object_of(content: bytes, name: str) -> dict[str, Any]:
    """Return the JSON object that a file of the store holds; :class:`StateError` if it holds none, or a changed one."""
    try:
        record = parsed(content)
    except ValueError as fault:  # of JSON, of its depth, or of its encoding
        raise damaged(name, f"it cannot be read as JSON: {fault}") from None
    if not isinstance(record, dict):
        raise damaged(name, "it is not a JSON object")
    if record.pop(_CHECKSUM, None) != _checksum(record):
        raise damaged(name, "its checksum is wrong or missing")
    return record


def record_of(content: bytes, batch_id: int, history: Callable[[Places], tuple[DdlStatement, ...]]) -> BatchState:
    """Return the record in a file; ``StateError`` if it is not as written. ``history``: returns the DDL at places."""
    name = file_name(batch_id)
    record = object_of(content, name)
    places = record.pop(_PLACES, None)
    for field in sorted(record.keys() - {each.name for each in fields(BatchState)}):
        raise damaged(name, f"its field {field!r:.40} is unknown: a newer release may have written it", batch_id)
    if places is None or record.get("batch_id") != batch_id:
        raise damaged(name, f"it is not the record of batch {batch_id}", batch_id)
    return BatchState(ddl=history(places), **record)


def damaged(name: str, what: str, batch_id: int | None = None) -> StateError:
    return StateError(f"the state record cannot be used: {what}", remedy=_REMEDY, file=name, batch_id=batch_id)


STORAGE_REMEDY = "Check that the folder of state_uri is there and may be used, then run the batch again"


@contextmanager
def storage(what: str, remedy: str = STORAGE_REMEDY, batch_id: int | None = None) -> Iterator[None]:
    """Turn what the storage's client raises, of any type, into a masked :class:`StateError`."""
    try:
        yield
    except StateError:
        raise
    except Exception as error:
        raise StateError(
            f"the state store cannot be {what}: {type(error).__name__}: {foreign_text(str(error))}",
            remedy=remedy,
            batch_id=batch_id,
        ) from None
