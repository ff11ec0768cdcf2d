"""A session: SQL statements in, committed transactions and DDL out.

In: a change script, or one statement after the other, over the rows of a :class:`~ticdc_emit.database.tables.Database`,
and a clock. Out: for each statement a :class:`StatementResult` with what it committed. Without BEGIN each statement is
a transaction; DDL commits the open one. A statement that fails changes nothing, and the transaction stays open.

A comment before a statement may give what a history knows and SQL does not::

    /* ticdc-emit: commit_ts=449577000000000000 start_ts=449576999999999999 seq=1 */ INSERT INTO t VALUES (1)

``commit_ts`` and ``start_ts`` are TSOs of the transaction that the statement commits, ``seq`` the order of its row
changes inside the transaction; with ``unchanged=1`` an UPDATE also writes rows that it does not change, as two UPDATE
of one transaction may do. Rule source: pingcap/tidb ``pkg/executor/simple.go``, ``pkg/session/session.go``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from ticdc_emit.columnar.assignment import STRICT, SqlRules
from ticdc_emit.database.expressions import Scope, SessionValues, value_of
from ticdc_emit.database.insert import insert
from ticdc_emit.database.refusals import unsupported
from ticdc_emit.database.statement import RunningStatement
from ticdc_emit.database.tables import Database
from ticdc_emit.database.transaction import AppliedDdl, OpenTransaction, Transaction
from ticdc_emit.database.update import delete, update
from ticdc_emit.errors import (
    DdlError,
    InvalidValueError,
    SchemaError,
    StateError,
    StatementError,
    UnsupportedStatementError,
)
from ticdc_emit.schema.catalog import current_database
from ticdc_emit.schema.defaults import time_zone_of
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.sql import nodes
from ticdc_emit.sql.evaluation.values import Kind, Value
from ticdc_emit.sql.lexer import sql_mode_of
from ticdc_emit.sql.nodes.base import every_node
from ticdc_emit.sql.script import ScriptStatement, parse_change, parse_ddl, place_in, script_statements
from ticdc_emit.tso import LOGICAL_BITS, MAX_LONG_TSO, physical_ms

UNKNOWN_DATABASE, NO_SAVEPOINT, NOT_SUPPORTED = 1049, 1305, 1235

StatementKind: TypeAlias = Literal[
    "insert", "replace", "update", "delete", "begin", "commit", "rollback", "savepoint", "ddl", "use", "set", "skipped"
]

DEFAULT_SQL_MODE = (
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION"
)
"""TiDB's."""
DEFAULT_START = 1_704_067_200_000 << LOGICAL_BITS
"""The beginning of 2024, as of generated traffic."""

_CHANGES = frozenset(
    {
        *("INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT"),
        *("RELEASE", "SET", "SELECT", "TABLE", "VALUES", ""),
    }
)
_SKIPPED = frozenset({"SHOW", "DESCRIBE", "DESC", "EXPLAIN", "ANALYZE", "FLUSH"})
_DDL = frozenset({"CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE", "RECOVER", "FLASHBACK", "ADMIN", "OPTIMIZE"})
_SIDE_EFFECTS = frozenset({"NEXTVAL", "SETVAL", "LASTVAL"})
_HARMLESS = frozenset(
    """
    names transaction transaction_isolation tx_isolation wait_timeout interactive_timeout net_read_timeout
    net_write_timeout lock_wait_timeout innodb_lock_wait_timeout max_execution_time unique_checks sql_notes
    sql_quote_show_create character_set_client character_set_results character_set_connection sql_safe_updates
    sql_select_limit
    """.split()  # noqa: SIM905 (a table of words)
)
_CHARSETS = frozenset({"character_set_client", "character_set_results", "character_set_connection"})
_COLLATION, _CONNECTION_COLLATION = "collation_connection", "utf8mb4_bin"
_TRUE, _FALSE = frozenset({"1", "ON", "TRUE"}), frozenset({"0", "OFF", "FALSE"})
_DIRECTIVE = re.compile(r"/\*\s*ticdc-emit:(.*?)\*/", re.DOTALL)
_FACT = re.compile(r"(\w+)=(-?\d+)")
_FACTS = frozenset({"commit_ts", "start_ts", "seq", "unchanged"})
_ALIASES = {"TRADITIONAL": ("STRICT_TRANS_TABLES", "NO_ZERO_DATE", "NO_ZERO_IN_DATE", "ERROR_FOR_DIVISION_BY_ZERO")}


@dataclass(frozen=True)
class StatementResult:
    """What one statement did. ``kind``: ``skipped`` for a statement that changes no row, as SELECT; it has no result.

    ``last_insert_id``: the first number that AUTO_INCREMENT gave it. ``committed``: the transactions and DDL that it
    committed, in order.
    """

    statement: str
    kind: StatementKind
    affected_rows: int = 0
    last_insert_id: int | None = None
    committed: tuple[Transaction | AppliedDdl, ...] = ()


class StatementClock:
    """The default clock: ``start`` (a TSO) for the first statement, and ``pause_ms`` more for each further one."""

    def __init__(self, start: int = DEFAULT_START, pause_ms: int = 1000) -> None:
        self._next = start
        self._pause = pause_ms << LOGICAL_BITS

    def __call__(self) -> int:
        now = self._next
        self._next += self._pause
        return now

    def reach(self, tso: int) -> None:
        """Return only later moments than ``tso``."""
        if self._next <= tso:
            self._next = tso + self._pause


class Session:
    """One connection to a database: executes statements, and keeps the transaction that is open.

    ``clock``: returns the TSO of the next statement, above all before it. That is NOW() and the commit_ts of what the
    statement commits; by default a :class:`StatementClock` from ``start`` on. ``schema``: the current database, by
    default that of all tables, else ``test``. ``sql_mode``: the session's, by default TiDB's. The session's time zone
    is the database's.
    """

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], int] | None = None,
        start: int = DEFAULT_START,
        schema: str | None = None,
        sql_mode: str = DEFAULT_SQL_MODE,
    ) -> None:
        self.database = database
        self._clock = clock or StatementClock(start)
        self._zone = time_zone_of(database.rendering.zone)
        self._values = SessionValues(dt.datetime.now(dt.timezone.utc))
        self._values.database = schema or current_database(None, database.catalog)
        self._transaction: OpenTransaction | None = None
        self._savepoints: dict[str, int] = {}
        self._autocommit = True
        self._checks_foreign_keys = True
        self._is_implicit = True
        self._last_commit = 0
        self._sql_mode, self._is_strict, self._keeps_zero, self._rules = sql_mode, True, False, STRICT
        self._set_sql_mode(sql_mode)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open: BEGIN, or a change with ``autocommit = 0``, without COMMIT so far."""
        return self._transaction is not None

    def execute(self, script: str) -> list[StatementResult]:
        """Execute the statements of a script. Raises what :meth:`run` does; what comes before the error is done."""
        return list(self.run(script))

    def run(self, script: str, before: Callable[[], object] = lambda: None) -> Iterator[StatementResult]:
        """Execute the statements of a script one by one, and yield what each did; ``before`` is called before each.

        Raises :class:`~ticdc_emit.errors.StatementError` for a statement that fails in TiDB,
        :class:`~ticdc_emit.errors.UnsupportedStatementError` for one that is not executed here, and
        :class:`~ticdc_emit.errors.DdlError` for DDL that cannot be applied; their ``place`` is a line and column.
        """
        for statement in script_statements(script, self._sql_mode):
            with _placed(script, statement):
                before()
                result = self._run(statement, _facts(script[statement.start : statement.first]))
            yield result

    def apply(self, query: str, commit_ts: int, *, schema: str | None = None) -> tuple[DdlEvent, ...]:
        """Apply DDL that comes from elsewhere; ``commit_ts`` is a TSO, ``schema`` by default the current database.

        Raises :class:`~ticdc_emit.errors.StateError` while a transaction is open, and what DDL in :meth:`run` does.
        """
        if self._transaction is not None:
            raise StateError("a transaction is open", remedy="Commit it, or roll it back, first")
        database = self._values.database if schema is None else schema
        return self.database.apply_statement(query, commit_ts, schema=database, sql_mode=self._sql_mode)

    def continue_at(self, start: int) -> None:
        """Let the default clock go on at a TSO above all before it."""
        if isinstance(self._clock, StatementClock):
            self._stamp(start)
            self._clock = StatementClock(start)

    def rollback(self) -> None:
        """Take back the open transaction, if there is one."""
        if self._transaction is not None:
            self._transaction.rollback()
        self._end()

    # -- one statement ---------------------------------------------------------------------------------------

    def _run(self, statement: ScriptStatement, facts: Mapping[str, int]) -> StatementResult:
        text, word = statement.text, statement.word
        now = facts.get("commit_ts") or self._clock()
        self._values.now = self._time_of(now)
        if word in _CHANGES:
            return self._change(_parsed(text, self._sql_mode), text, now, facts)
        if word == "USE":
            return self._use(text)
        if word in ("LOCK", "UNLOCK"):
            return StatementResult(text, "skipped", committed=self._commit(now, facts))
        if word in _SKIPPED:
            if word == "EXPLAIN" and re.search(r"\bANALYZE\b", text, re.IGNORECASE):
                raise unsupported("EXPLAIN ANALYZE")
            return StatementResult(text, "skipped")
        if word in _DDL:
            return self._ddl(text, now, facts)
        raise unsupported(
            f"{word or 'this statement'}", "Leave it out, or write the changes as INSERT, UPDATE and DELETE"
        )

    def _change(self, node: nodes.ChangeStatement, text: str, now: int, facts: Mapping[str, int]) -> StatementResult:
        match node:
            case nodes.Insert():
                word: StatementKind = "replace" if node.word == "REPLACE" else "insert"
                with self._statement(now, facts) as running:
                    inserted = insert(node, running)
                if inserted.last_insert_id is not None:
                    self._values.last_insert_id = inserted.last_insert_id
                committed = self._autocommitted(now, facts)
                return StatementResult(text, word, inserted.affected_rows, inserted.last_insert_id, committed)
            case nodes.Update():
                with self._statement(now, facts) as running:
                    count = update(node, running)
                return StatementResult(text, "update", count, committed=self._autocommitted(now, facts))
            case nodes.Delete():
                with self._statement(now, facts) as running:
                    count = delete(node, running)
                return StatementResult(text, "delete", count, committed=self._autocommitted(now, facts))
            case nodes.Begin():
                return self._begin(node, text, now, facts)
            case nodes.Commit():
                _refuse_completion(node.completion, "COMMIT")
                return StatementResult(text, "commit", committed=self._commit(now, facts))
            case nodes.Rollback(savepoint):
                _refuse_completion(node.completion, "ROLLBACK")
                if savepoint:
                    self._to_savepoint(savepoint)
                else:
                    self.rollback()
                return StatementResult(text, "rollback")
            case nodes.Savepoint():
                return self._savepoint(node, text)
            case nodes.SetStatement():
                return self._set(node, text, now, facts)
            case _:
                _check_query(node)
                return StatementResult(text, "skipped")

    @contextmanager
    def _statement(self, now: int, facts: Mapping[str, int]) -> Iterator[RunningStatement]:
        """Give what a statement that changes rows works on; take back its changes if it fails."""
        if self._transaction is None:
            self._transaction = OpenTransaction(facts.get("start_ts") or now - 1)
            self._is_implicit = self._autocommit
        transaction = self._transaction
        length = len(transaction)
        try:
            yield RunningStatement(
                self.database,
                transaction,
                self._values,
                rules=self._rules,
                keeps_zero=self._keeps_zero,
                checks_foreign_keys=self._checks_foreign_keys,
                seq=facts.get("seq"),
                writes_unchanged=bool(facts.get("unchanged")),
            )
        except BaseException as error:
            transaction.rollback(length)
            if self._is_implicit:
                self._end()
            if isinstance(error, StatementError) and not self._is_strict:
                raise unsupported(
                    f"a value that does not fit ({error.message}), outside of strict SQL mode,",
                    "Set sql_mode to STRICT_TRANS_TABLES, or give a value that fits",
                ) from None
            raise

    def _time_of(self, tso: int) -> dt.datetime:
        return dt.datetime.fromtimestamp(physical_ms(tso) / 1000, self._zone)

    # -- transactions ----------------------------------------------------------------------------------------

    def _begin(self, node: nodes.Begin, text: str, now: int, facts: Mapping[str, int]) -> StatementResult:
        if node.mode == "READ ONLY":
            raise StatementError(
                "START TRANSACTION READ ONLY is not supported", remedy="Write START TRANSACTION", number=NOT_SUPPORTED
            )
        if node.mode not in ("", "PESSIMISTIC", "OPTIMISTIC", "READ WRITE", "WITH CONSISTENT SNAPSHOT"):
            raise unsupported(f"START TRANSACTION {node.mode}", "Write START TRANSACTION")
        committed = self._commit(now, {})
        self._transaction = OpenTransaction(facts.get("start_ts") or now)
        self._is_implicit = False
        return StatementResult(text, "begin", committed=committed)

    def _autocommitted(self, now: int, facts: Mapping[str, int]) -> tuple[Transaction, ...]:
        return self._commit(now, facts) if self._is_implicit else ()

    def _commit(self, now: int, facts: Mapping[str, int]) -> tuple[Transaction, ...]:
        """Commit the open transaction; return it if it changes a row."""
        transaction = self._transaction
        if transaction is None:
            return ()
        if "start_ts" in facts:
            transaction.start_ts = facts["start_ts"]
        if transaction.start_ts >= now:
            transaction.start_ts = now - 1
        committed = transaction.commit(now)
        if committed.changes:
            self._stamp(now)
        self._end()
        return (committed,) if committed.changes else ()

    def _stamp(self, commit_ts: int) -> None:
        """Check that a commit_ts is above all before it."""
        if not 0 < commit_ts <= MAX_LONG_TSO:
            raise InvalidValueError(f"commit_ts {commit_ts} is not a TSO", remedy="Give a TSO, as TiCDC prints it")
        if commit_ts < self._last_commit:
            raise InvalidValueError(
                f"commit_ts {commit_ts} is below {self._last_commit}, which is committed",
                remedy="Give the statements in the order of their commit_ts",
            )
        self._last_commit = commit_ts
        if isinstance(self._clock, StatementClock):
            self._clock.reach(commit_ts)

    def _end(self) -> None:
        self._transaction = None
        self._savepoints.clear()

    def _savepoint(self, node: nodes.Savepoint, text: str) -> StatementResult:
        name = node.name.lower()
        if node.releases:
            if name not in self._savepoints:
                raise _no_savepoint(node.name)
            self._keep_savepoints(before=name)
        elif self._transaction is not None:
            self._savepoints.pop(name, None)
            self._savepoints[name] = len(self._transaction)
        return StatementResult(text, "savepoint")

    def _to_savepoint(self, name: str) -> None:
        length = self._savepoints.get(name.lower())
        if length is None or self._transaction is None:
            raise _no_savepoint(name)
        self._transaction.rollback(length)
        self._keep_savepoints(before=name.lower())
        self._savepoints[name.lower()] = length

    def _keep_savepoints(self, *, before: str) -> None:
        names = list(self._savepoints)
        for name in names[names.index(before) :]:
            del self._savepoints[name]

    # -- DDL -------------------------------------------------------------------------------------------------

    def _use(self, text: str) -> StatementResult:
        node = parse_ddl(text, self._sql_mode)
        assert isinstance(node, nodes.UseDatabase)
        known = {name.lower(): name for name in self.database.catalog.databases()}
        if node.name.lower() not in known:
            raise StatementError(f"Unknown database '{node.name}'", remedy="Create it first", number=UNKNOWN_DATABASE)
        self._values.database = known[node.name.lower()]
        return StatementResult(text, "use")

    def _ddl(self, text: str, now: int, facts: Mapping[str, int]) -> StatementResult:
        committed: tuple[Transaction | AppliedDdl, ...] = self._commit(now, {})
        if committed:
            now = facts.get("commit_ts", 0) + 1 if "commit_ts" in facts else self._clock()
        schema = self._values.database
        events = self.database.apply_statement(text, now, schema=schema, sql_mode=self._sql_mode)
        self._stamp(now)
        return StatementResult(text, "ddl", committed=(*committed, AppliedDdl(now, text, schema, events)))

    # -- SET -------------------------------------------------------------------------------------------------

    def _set(self, node: nodes.SetStatement, text: str, now: int, facts: Mapping[str, int]) -> StatementResult:
        committed: tuple[Transaction, ...] = ()
        for variable in node.variables:
            if variable.scope == "@":
                self._values.variables[variable.name.lower()] = self._constant(variable)
            elif variable.name.lower() == "autocommit":
                self._autocommit = _switch(variable)
                if self._autocommit:
                    committed += self._commit(now, facts)
            else:
                self._set_system(variable)
        return StatementResult(text, "set", committed=committed)

    def _constant(self, variable: nodes.Variable) -> nodes.Constant:
        assert variable.value is not None
        if isinstance(variable.value, nodes.SystemVariable):
            return self._system_value(variable.value.name.lower())
        value = value_of(Scope(self._values).bind(variable.value), None, self._values)
        return _constant_of(value, variable.name)

    def _system_value(self, name: str) -> nodes.Constant:
        """Return a variable of the session, which dumps keep in a user variable and set again."""
        switches = {
            "autocommit": self._autocommit,
            "foreign_key_checks": self._checks_foreign_keys,
            "unique_checks": True,
            "sql_notes": True,
        }
        if name in switches:
            return nodes.Constant("integer", str(int(switches[name])))
        texts = {"sql_mode": self._sql_mode, "time_zone": self.database.rendering.zone}
        if name in texts or name in _CHARSETS:
            return nodes.Constant("string", texts.get(name, "utf8mb4"))
        if name == _COLLATION:
            return nodes.Constant("string", _CONNECTION_COLLATION)
        raise unsupported(f"@@{name}", "Leave it out")

    def _set_system(self, variable: nodes.Variable) -> None:
        name, value = variable.name.lower(), variable.value
        if isinstance(value, nodes.UserVariable):
            value = self._values.variables.get(value.name.lower(), nodes.Constant("null"))
            variable = replace(variable, value=value)
        if variable.scope == "GLOBAL":
            raise unsupported(f"SET GLOBAL {name}", "Leave it out")
        if name == "sql_mode":
            self._set_sql_mode(DEFAULT_SQL_MODE if value is None else _text(variable))
        elif name == "foreign_key_checks":
            self._checks_foreign_keys = _switch(variable)
        elif name == "time_zone":
            wanted = "UTC" if value is None else _text(variable)
            if wanted.upper() != "SYSTEM" and not _same_zone(wanted, self.database.rendering.zone):
                raise unsupported(
                    f"SET time_zone to {wanted!r}", f"Give the changefeed's time zone, {self.database.rendering.zone}"
                )
        elif name == _COLLATION:
            if _text(variable).lower() != _CONNECTION_COLLATION:
                raise unsupported(f"SET {name} to {_text(variable)!r}", f"Use {_CONNECTION_COLLATION}")
        elif name == "names" and value is not None and _text(variable).lower() not in ("utf8mb4", "utf8", "default"):
            raise unsupported(f"SET NAMES {_text(variable)}", "Use utf8mb4")
        elif name not in _HARMLESS:
            raise unsupported(f"SET {name}", "Leave it out")

    def _set_sql_mode(self, text: str) -> None:
        sql_mode_of(text)  # refuses unknown names
        names = {part.strip().upper() for part in text.split(",")}
        names = names.union(*(_ALIASES.get(name, ()) for name in names))
        was, becomes = (sql_mode_of(mode).no_backslash_escapes for mode in (self._sql_mode, text))
        if was != becomes:
            raise unsupported("SET sql_mode to or from NO_BACKSLASH_ESCAPES", "Give the mode to the session")
        self._sql_mode = text
        self._is_strict = bool(names & {"STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"})
        self._rules = SqlRules("NO_ZERO_DATE" not in names, "NO_ZERO_IN_DATE" not in names)
        self._keeps_zero = "NO_AUTO_VALUE_ON_ZERO" in names
        self._values.divisions_fail = "ERROR_FOR_DIVISION_BY_ZERO" in names


def _facts(comments: str) -> dict[str, int]:
    """Return what the comments before a statement give."""
    facts: dict[str, int] = {}
    for found in _DIRECTIVE.finditer(comments):
        given = dict(_FACT.findall(found[1]))
        unknown = sorted(set(given) - _FACTS)
        if unknown or not given:
            raise unsupported(
                f"the comment {found[0]}", f"Give {', '.join(sorted(_FACTS))}, each as name=number, with blanks between"
            )
        facts |= {name: int(number) for name, number in given.items()}
    return facts


@contextmanager
def _placed(script: str, statement: ScriptStatement) -> Iterator[None]:
    """Give errors the statement, and its place in the script."""
    try:
        yield
    except (StatementError, UnsupportedStatementError, SchemaError, InvalidValueError) as error:
        offset = statement.start + (error.context.get("position") or 0)
        context = {"statement": statement.text, **error.context, "place": place_in(script, offset)}
        raise type(error)(error.message, remedy=error.remedy, **context) from None


def _parsed(text: str, sql_mode: str) -> nodes.ChangeStatement:
    try:
        return parse_change(text, sql_mode)
    except DdlError as error:
        context = {name: value for name, value in error.context.items() if name == "position"}
        raise UnsupportedStatementError(error.message, remedy=error.remedy, **context) from None


def _check_query(query: object) -> None:
    """Refuse a query that does more than to read."""
    for node in every_node(query):
        if isinstance(node, nodes.Assignment):
            raise unsupported("a SELECT that assigns to a variable", "Use SET")
        if isinstance(node, nodes.Call) and node.name.upper() in _SIDE_EFFECTS:
            raise unsupported(f"{node.name.upper()}()", "Write the value itself")
        if isinstance(node, nodes.Call) and node.name.upper() == "LAST_INSERT_ID" and node.arguments:
            raise unsupported("LAST_INSERT_ID() of a value", "Write the value itself")


def _refuse_completion(completion: str, word: str) -> None:
    if completion not in ("", "WORK"):
        raise unsupported(f"{word} {completion}", f"Write {word}")


def _no_savepoint(name: str) -> StatementError:
    return StatementError(
        f"SAVEPOINT {name} does not exist", remedy="Set it in the same transaction", number=NO_SAVEPOINT
    )


def _text(variable: nodes.Variable) -> str:
    value = variable.value
    if isinstance(value, nodes.Constant) and value.value is not None:
        return str(value.value)
    if isinstance(value, nodes.Constant) and value.kind in ("true", "false"):
        return value.kind
    if isinstance(value, nodes.ColumnName) and len(value.parts) == 1:
        return value.parts[0]
    raise unsupported(f"SET {variable.name} to a value that is not a constant", "Write the value itself")


def _switch(variable: nodes.Variable) -> bool:
    text = "1" if variable.value is None else _text(variable).upper()
    if text not in _TRUE | _FALSE:
        raise unsupported(f"SET {variable.name} = {text}", "Set it to 0 or 1")
    return text in _TRUE


def _same_zone(one: str, other: str) -> bool:
    try:
        zones = [time_zone_of(name) for name in (one, other)]
    except ValueError:
        return False
    moments = [dt.datetime(2024, month, 1, tzinfo=dt.timezone.utc) for month in (1, 7)]
    offsets = [[moment.astimezone(zone).utcoffset() for moment in moments] for zone in zones]
    is_fixed = [isinstance(zone, dt.timezone) for zone in zones]
    return one == other or (offsets[0] == offsets[1] and all(is_fixed))


def _constant_of(value: Value, name: str) -> nodes.Constant:
    data = value.data
    item: Any = data.as_py()
    if item is None:
        return nodes.Constant("null")
    if value.kind is Kind.INT:
        return nodes.Constant("integer", str(int(item)))
    if value.kind is Kind.DECIMAL:
        return nodes.Constant("decimal", format(item, "f"))
    if value.kind is Kind.REAL:
        return nodes.Constant("float", item)
    if value.kind is Kind.TEXT and pa.types.is_string(data.type):
        return nodes.Constant("string", item)
    raise unsupported(f"the variable @{name} with {value.kind.value}", "Write the value itself")
