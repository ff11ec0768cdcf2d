"""The TiDB of an emulator: tables with their rows, a clock, and what was committed, up to :data:`MOST_BYTES`, for any
number of changefeeds. Only the clock is thread-safe: the emulator holds its lock.
"""

from __future__ import annotations

import copy
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.changes.model import Op
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.database.row_values import typed_changes
from ticdc_emit.database.session import DEFAULT_SQL_MODE, Session, StatementResult
from ticdc_emit.database.tables import Database, Rows, Tables, handle_of
from ticdc_emit.database.transaction import Transaction
from ticdc_emit.emulator.call_lock import check_caller
from ticdc_emit.errors import ChangefeedStateError, ConfigError, StatementError, TicdcEmitError
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.plan.ddl import DdlStatement, catalog_for
from ticdc_emit.schema.catalog import Catalog, current_database
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.nodes.statements import CreateDatabase, UseDatabase
from ticdc_emit.sql.script import ScriptStatement, parse_ddl, schema_statements, script_statements
from ticdc_emit.sql.words import quoted
from ticdc_emit.traffic.history import rows_to_arrow
from ticdc_emit.tso import compose

MOST_BYTES = 64 * 1024 * 1024
"""Of commits."""

_OVERHEAD = 14 * 1024  # bytes of memory of a commit beside its values, measured
_MOST_ROWS = 10_000  # of one batch, where a changefeed catches up


class Clock:
    """TSOs, each above all before: the wall clock's, or one more than the last. Thread-safe. ``now``: ms since 1970."""

    def __init__(self, now: Callable[[], int] | None = None) -> None:
        self._lock = threading.Lock()
        self._now = now or (lambda: time.time_ns() // 1_000_000)
        self.last = 0

    def __call__(self) -> int:
        with self._lock:
            self.last = max(self.last + 1, compose(self._now()))
            return self.last

    def advance(self, commit_ts: int) -> None:
        """Go on from a TSO that was given from outside."""
        with self._lock:
            self.last = max(self.last, commit_ts)


@dataclass(frozen=True)
class Commits:
    """What was committed after the TSO ``start``, up to ``end``: row changes in the generic form, and DDL."""

    start: int
    end: int
    rows: pa.Table | None = None
    ddl: tuple[DdlStatement, ...] = ()

    @property
    def row_count(self) -> int:
        return 0 if self.rows is None else int(self.rows.num_rows)

    @property
    def nbytes(self) -> int:
        return _OVERHEAD + (0 if self.rows is None else int(self.rows.nbytes))

    @property
    def stamps(self) -> list[int]:
        own = {commit_ts for commit_ts, _, _ in self.ddl}
        if self.rows is not None:
            own.update(pc.unique(self.rows.column("commit_ts")).to_pylist())
        return sorted(own)

    def between(self, start: int, end: int) -> Commits:
        if start <= self.start and end >= self.end:
            return self
        rows = None if self.rows is None else _due(self.rows, start, end)
        ddl = tuple(statement for statement in self.ddl if start < statement[0] <= end)
        return Commits(max(self.start, start), min(self.end, end), rows, ddl)

    def batch(self) -> ArrowBatch:
        statements = [(commit_ts, query, schema) for commit_ts, schema, query in self.ddl]
        rows = {} if self.rows is None or not self.rows.num_rows else {"": self.rows.to_batches()}
        return ArrowBatch(rows, ddl=statements)


def _due(rows: Any, start: int, end: int) -> Any:
    """Return the rows of a table or batch after the TSO ``start``, up to ``end``."""
    stamps = rows.column("commit_ts")
    return rows.filter(pc.and_(pc.greater(stamps, start), pc.less_equal(stamps, end)))


def joined(commits: Iterable[Commits]) -> Iterator[Commits]:
    """Yield consecutive commits as fewer ones."""
    waiting: list[Commits] = []
    for each in commits:
        if waiting and sum(one.row_count for one in waiting) + each.row_count > _MOST_ROWS:
            yield _one(waiting)
            waiting = []
        waiting.append(each)
    if waiting:
        yield _one(waiting)


def _one(commits: Sequence[Commits]) -> Commits:
    tables = [each.rows for each in commits if each.rows is not None]
    rows = pa.concat_tables(tables, promote_options="default") if tables else None
    ddl = tuple(statement for each in commits for statement in each.ddl)
    return Commits(commits[0].start, commits[-1].end, rows, ddl)


class Source:
    """``schema``: SQL text of the tables at the start, which are empty. ``now``: ms, by default the wall clock's."""

    def __init__(
        self, config: ChangefeedConfig, schema: str, *, now: Callable[[], int] | None, most_bytes: int
    ) -> None:
        self.clock = Clock(now)
        self._schema, self._sql_mode = schema, config.sql_mode
        self._time_zone = config.time_zone
        self._most_bytes = most_bytes
        self._start = _without_history(catalog_for(config, schema))
        self._log: deque[Commits] = deque()
        self.retained_bytes = 0
        self._base = copy.deepcopy(self._start)
        self.begins = self.clock()
        """The TSO after which the log begins, at which the tables are those of the base."""
        self._database = Database(copy.deepcopy(self._start), self._time_zone, checks=True)

    @property
    def tables(self) -> Tables:
        """The rows of all tables in canonical text."""
        return self._database.tables

    @property
    def catalog(self) -> Catalog:
        """The tables' current versions; not to be changed."""
        return self._database.catalog

    @property
    def end(self) -> int:
        """The TSO of the last commit, or that at which the log begins."""
        return self._log[-1].end if self._log else self.begins

    # -- changes ------------------------------------------------------------------------------------------------------

    def run(self, script: str, database: str | None) -> tuple[list[StatementResult], Commits, TicdcEmitError | None]:
        """Execute a change script; return its results, what it committed, and the error at which it ended.
        ``database``: the current one; by default that of all tables. What comes before the error stays committed.
        """
        for statement in script_statements(script, self._sql_mode):
            if _GIVEN_TIME.search(script, statement.start, statement.first):
                raise ConfigError(
                    "a comment of the script gives a commit_ts, which the server's clock gives",
                    remedy="Leave the comment out",
                    option="sql",
                    statement=statement.text,
                )
        start = self.clock.last
        session = Session(self._database, clock=self.clock, sql_mode=self._sql_mode or DEFAULT_SQL_MODE)
        if database is not None:
            session.execute(f"USE {quoted(database)}")
        results: list[StatementResult] = []
        failure: TicdcEmitError | None = None
        try:
            for result in session.run(script, before=check_caller):
                results.append(result)
            if session.in_transaction:
                failure = StatementError(
                    "the script begins a transaction and does not commit it, so its changes were rolled back",
                    remedy="Add COMMIT, or leave BEGIN out",
                )
        except TicdcEmitError as error:
            failure = error
        finally:
            session.rollback()
        rows: list[Mapping[str, Any]] = []
        ddl: list[DdlStatement] = []
        for item in (item for result in results for item in result.committed):
            if isinstance(item, Transaction):
                rows += item.changes
            elif item.events:
                ddl.append((item.commit_ts, item.schema, item.query))
        commits = Commits(start, self.clock.last, rows_to_arrow(rows) if rows else None, tuple(ddl))
        return results, self._logged(commits), failure

    def take_generated(
        self, changes: Mapping[str, Sequence[pa.RecordBatch]], until: int, ddl: Sequence[tuple[int, str]] = ()
    ) -> Commits:
        """Commit generated typed changes and DDL up to a TSO, each at its commit_ts; those of rows that SQL changed
        fit.
        """
        start = begin = self._log[-1].end if self._log else self.begins
        database = current_database(None, self.catalog)
        taken: list[Mapping[str, Any]] = []
        for commit_ts, query in [*ddl, (until, "")]:
            due_now = [
                change
                for name, batches in changes.items()
                for batch in batches
                if (rows := _due(batch, begin, commit_ts)).num_rows
                for change in generic_changes(self.catalog.table(*name.split(".", 1)), rows, self._database.rendering)
            ]
            for change in sorted(due_now, key=itemgetter("commit_ts")):
                info = self.catalog.table(change["schema"], change["table"])
                fitting = fitted(change, info, self._database.rows(info))
                if fitting is not None:
                    self._database.take([fitting])
                    taken.append(fitting)
            if query:
                self._database.apply(commit_ts, query, schema=database)
            begin = commit_ts
        self.clock.advance(until)
        statements = tuple((commit_ts, database, query) for commit_ts, query in ddl)
        return self._logged(Commits(start, until, rows_to_arrow(taken) if taken else None, statements))

    def has_definition_of_start(self, names: Iterable[str]) -> bool:
        """Return whether tables, by ``schema.name``, have the definitions that they had at the start."""
        was, now = ({info.full_name: info for info in catalog.tables()} for catalog in (self._start, self.catalog))
        return all(name in was and name in now and _same(was[name], now[name]) for name in names)

    # -- reset --------------------------------------------------------------------------------------------------------

    def reset(self) -> Commits:
        """Empty the tables by DDL, or create all anew if one has another definition; return the DDL. Ids go on."""
        start = self.clock.last
        database = current_database(None, self._start)
        ddl: list[DdlStatement] = []
        for query in list(self._resetting()):
            node = parse_ddl(query, self._sql_mode)
            if isinstance(node, UseDatabase):
                database = node.name
                continue
            commit_ts = self.clock()
            if self._database.apply(commit_ts, query, schema=database):  # not by SQL: foreign keys do not matter
                ddl.append((commit_ts, database, query))
        self._database = Database(_without_history(self.catalog), self._time_zone, checks=True)
        return self._logged(Commits(start, self.clock(), ddl=tuple(ddl)))

    def begin_log(self) -> None:
        """Forget what was committed so far: a changefeed starts at the present from now on."""
        self._base, self.begins = copy.deepcopy(self.catalog), self.end  # the clock may be ahead: others ask it
        self._log.clear()
        self.retained_bytes = 0

    def _resetting(self) -> Iterator[str]:
        was = {(info.schema.lower(), info.name.lower()): info for info in self._start.tables()}
        now = {(info.schema.lower(), info.name.lower()): info for info in self.catalog.tables()}
        databases = {name.lower(): name for name in self._start.databases()}
        existing = {name.lower() for name in self.catalog.databases()}
        is_as_before = all(key in now and _same(info, now[key]) for key, info in was.items())
        yield from (
            f"DROP DATABASE {quoted(name)}" for name in self.catalog.databases() if name.lower() not in databases
        )
        script = () if is_as_before else tuple(schema_statements(self._schema, self._sql_mode))
        created = {statement: name.lower() for statement in script if (name := self._created_database(statement))}
        absent = (key for key in databases if key not in existing and key not in created.values())
        yield from (f"CREATE DATABASE {quoted(databases[key])}" for key in absent)
        dropped = [info for key, info in now.items() if key[0] in databases and not (is_as_before and key in was)]
        for info in sorted(dropped, key=lambda each: not each.is_view):
            kind = "VIEW" if info.is_view else "TABLE"
            yield f"DROP {kind} {quoted(info.schema)}.{quoted(info.name)}"
        if is_as_before:
            filled = (name for name, rows in self.tables.items() if rows and (name[0].lower(), name[1].lower()) in was)
            yield from (f"TRUNCATE TABLE {quoted(schema)}.{quoted(name)}" for schema, name in list(filled))
        yield from (statement.text for statement in script if created.get(statement) not in existing)

    def _created_database(self, statement: ScriptStatement) -> str | None:
        node = parse_ddl(statement.text, self._sql_mode) if statement.word == "CREATE" else None
        return node.name if isinstance(node, CreateDatabase) else None

    # -- the log ------------------------------------------------------------------------------------------------------

    def after(self, checkpoint: int) -> Iterator[Commits]:
        """Yield the commits after a TSO; :class:`~ticdc_emit.errors.ChangefeedStateError` for one before the log."""
        self.check_start(checkpoint)
        yield from joined(each.between(checkpoint, each.end) for each in list(self._log) if each.end > checkpoint)

    def check_start(self, checkpoint: int) -> None:
        """Raise :class:`~ticdc_emit.errors.ChangefeedStateError` if the changes after a TSO are not kept any more."""
        if checkpoint < self.begins:
            raise ChangefeedStateError(
                f"fail to create or maintain changefeed because start-ts {checkpoint} is earlier than or equal to GC "
                f"safepoint at {self.begins}",
                remedy="Start later: changes are kept from there on",
                checkpoint_ts=checkpoint,
                code="CDC:ErrStartTsBeforeGC",
            )

    def last_commits(self, transactions: int) -> int:
        """Return the TSO before the last so many transactions and statements."""
        stamps: list[int] = []
        for commits in reversed(self._log):
            stamps += reversed(commits.stamps)
            if len(stamps) >= transactions:
                return stamps[transactions - 1] - 1
        return stamps[-1] - 1 if stamps else self.end

    def catalog_at(self, checkpoint: int) -> Catalog:
        """Return the tables as they were at a TSO of the log, without earlier versions."""
        catalog = copy.deepcopy(self._base)
        for commits in self._log:
            for commit_ts, schema, query in commits.ddl:
                if commit_ts <= checkpoint:
                    catalog.apply(query, schema=schema, commit_ts=commit_ts)
        return _without_history(catalog)

    def _logged(self, commits: Commits) -> Commits:
        self._log.append(commits)
        self.retained_bytes += commits.nbytes
        while self.retained_bytes > self._most_bytes and len(self._log) > 1:
            oldest = self._log.popleft()
            self.retained_bytes -= oldest.nbytes
            for commit_ts, schema, query in oldest.ddl:
                self._base.apply(query, schema=schema, commit_ts=commit_ts)
            self.begins = oldest.end
        return commits


_GIVEN_TIME = re.compile(r"/\*\s*ticdc-emit:[^*]*(commit_ts|start_ts)\s*=")


def _same(was: TableInfo, now: TableInfo) -> bool:
    """Return whether a table is as it was, apart from the ids and times that TRUNCATE changes."""
    parts = [part.name for part in now.partitions]
    if parts != [part.name for part in was.partitions]:
        return False
    return replace(now, id=was.id, version=was.version, update_ts=was.update_ts, partitions=was.partitions) == was


def _without_history(catalog: Catalog) -> Catalog:
    pruned = copy.deepcopy(catalog)
    pruned.rename(lambda schema, name: (schema, name))
    return pruned


# -- generated changes, made to fit the rows that the tables have ------------------------------------------------------

_KEPT = frozenset(ATTRIBUTES) - {"checksum"}  # which is that of the generated image


def generic_changes(info: TableInfo, batch: pa.RecordBatch, how: Rendering) -> Iterator[dict[str, Any]]:
    """Yield the changes of a table in the generic form, in their order."""
    names = [name for name in batch.schema.names if name in _KEPT]
    kept = zip(*(batch.column(name).to_pylist() for name in names), strict=True) if names else [()] * batch.num_rows
    for change, values in zip(typed_changes(batch, info, how), kept, strict=True):
        yield {**change, **dict(zip(names, values, strict=True))}


def fitted(change: Mapping[str, Any], info: TableInfo, rows: Rows) -> dict[str, Any] | None:
    """Return a change as the table's rows allow it, ``None`` for no change; without a handle key it stays as it is."""
    if not info.whole_handle_key:
        return dict(change)
    op = Op.parse(change["op"])
    before, after = change["before"], change["after"]
    was = None if op is Op.INSERT else rows.get(handle_of(info, before))
    if op is Op.DELETE:
        return None if was is None else {**change, "before": was}
    target = handle_of(info, after)
    moves = was is not None and target != handle_of(info, before)
    other = rows.get(target) if was is None or moves else None
    if moves and other is not None:
        return None  # another row has the key already
    known = was if was is not None else other
    if known is None:
        return {**change, "op": Op.INSERT.value, "before": None}
    return None if known == after else {**change, "op": Op.UPDATE.value, "before": known}
