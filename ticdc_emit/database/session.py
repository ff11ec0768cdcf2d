"""A session: SQL statements in, committed transactions and DDL out.

Without BEGIN each statement is a transaction; DDL commits the open one. A statement that fails changes nothing, and the
transaction stays open. A comment before a statement may give what a history knows and SQL does not::

    /* ticdc-emit: commit_ts=449577000000000000 start_ts=449576999999999999 seq=1 */ INSERT INTO t VALUES (1)

``seq`` is the order of its row changes inside the transaction; with ``unchanged=1`` an UPDATE also writes rows that it
does not change. Rule source: pingcap/tidb ``pkg/executor/simple.go``, ``pkg/session/session.go``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from ticdc_emit.columnar.assignment import (
    BEYOND_RANGE,
    IN_GAP,
    NOT_NULL,
    STRICT,
    TOO_LONG,
    WRONG_DATA,
    WRONG_VALUE,
    SqlRules,
)
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.database.expressions import DIVISION_BY_ZERO, Scope, SessionValues, unsupported, value_of
from ticdc_emit.database.insert import NO_DEFAULT, insert
from ticdc_emit.database.statement import RunningStatement
from ticdc_emit.database.tables import Database
from ticdc_emit.database.transaction import AppliedDdl, OpenTransaction, Transaction
from ticdc_emit.database.update import delete, insert_or_update, update
from ticdc_emit.errors import (
    DdlError,
    InvalidValueError,
    SchemaError,
    StateError,
    StatementError,
    TicdcEmitError,
    UnsupportedStatementError,
)
from ticdc_emit.schema.catalog import current_database
from ticdc_emit.schema.defaults import time_zone_of
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.sql import nodes
from ticdc_emit.sql.evaluation.values import OUT_OF_RANGE, TRUNCATED, Kind, Value
from ticdc_emit.sql.lexer import reading_mode, sql_mode_of
from ticdc_emit.sql.nodes.base import every_node, with_children
from ticdc_emit.sql.script import SKIPPED, ScriptStatement, parse_change, parse_ddl, place_in, script_statements
from ticdc_emit.sql.types import MySQLType
from ticdc_emit.tso import LOGICAL_BITS, MAX_LONG_TSO, physical_ms

UNKNOWN_DATABASE, NO_SAVEPOINT, NOT_SUPPORTED, UNKNOWN_ZONE = 1049, 1305, 1235, 1298
_OF_VALUES = {WRONG_DATA, BEYOND_RANGE, WRONG_VALUE, TOO_LONG, TRUNCATED, OUT_OF_RANGE, DIVISION_BY_ZERO, IN_GAP}
_OF_STRICT_MODE = {NOT_NULL, NO_DEFAULT, *_OF_VALUES}  # outside of it TiDB changes the value instead

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
_DDL = frozenset({"CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE", "RECOVER", "FLASHBACK", "ADMIN"})
_COMMITS = re.compile(r"LOCK|UNLOCK|GRANT|REVOKE|(?:CREATE|ALTER|DROP|RENAME) (?:USER|ROLE)")
"""Kinds of statements without effect that commit the open transaction."""
_SIDE_EFFECTS = frozenset({"NEXTVAL", "SETVAL", "LASTVAL"})
_NEEDED = {
    **dict.fromkeys(("auto_increment_increment", "auto_increment_offset"), "1"),
    **dict.fromkeys(("character_set_database", "character_set_server"), "utf8mb4"),
    **dict.fromkeys(("collation_database", "collation_server", "default_collation_for_utf8mb4"), "utf8mb4_bin"),
    **dict.fromkeys(("insert_id", "last_insert_id", "identity", "tidb_snapshot"), ""),
    **dict.fromkeys(("tidb_check_mb4_value_in_utf8", "tidb_enable_foreign_key", "tidb_enable_clustered_index"), "1"),
    **dict.fromkeys(("tidb_enable_check_constraint", "default_week_format", "timestamp"), "0"),
    "div_precision_increment": "4",
    "explicit_defaults_for_timestamp": "1",
    "lc_time_names": "en_us",
}
"""Variables on which rows depend, and the only value with which statements run here."""
_NEEDED_GLOBALLY = frozenset({"tidb_enable_check_constraint", "tidb_enable_foreign_key"})
_KEPT = frozenset({"sql_mode", "foreign_key_checks", "time_zone", "names", "collation_connection"})
_CHARSETS = frozenset({"character_set_client", "character_set_results", "character_set_connection"})
_COLLATION = "utf8mb4_bin"
MOST_FAILURES = 10
_NAMES_IN = re.compile(r"\w+")
_TABLES_IN = re.compile(
    r"\b(?:into|update|from|table|exists|view|ignore|insert|replace)\s+"
    r"(?!(?:into|table|if|not|exists|ignore|from)\b)(?:`?\w+`?\.)?`?(\w+)"
)
_FOLLOWING = frozenset({1146, 1451, 1452})  # an unknown table, a foreign key: perhaps by the error before
_NAMES = frozenset({"utf8mb4", "utf8", "utf8mb3", "latin1", "binary", "default"})
"""Character sets of SET NAMES with which TiDB reads a file's UTF-8 as it is."""
_OFFSETS = dt.timedelta(hours=-12, minutes=-59), dt.timedelta(hours=14)
_TRUE, _FALSE = frozenset({"1", "ON", "TRUE"}), frozenset({"0", "OFF", "FALSE"})
_DIRECTIVE = re.compile(r"/\*\s*ticdc-emit:(.*?)\*/", re.DOTALL)
_FACT = re.compile(r"(\w+)=(-?\d+)")
_FACTS = frozenset({"commit_ts", "start_ts", "seq", "unchanged"})
_MOMENT = re.compile(r"(?!0000-00)\d.*\d")
_ALIASES = {"TRADITIONAL": ("STRICT_TRANS_TABLES", "NO_ZERO_DATE", "NO_ZERO_IN_DATE", "ERROR_FOR_DIVISION_BY_ZERO")}


@dataclass(frozen=True)
class StatementResult:
    """``kind``: ``skipped`` for a statement that changes no row, as SELECT. ``last_insert_id``: the first number of
    AUTO_INCREMENT. ``committed``: transactions and DDL in order.
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

    ``clock``: returns the TSO of the next statement, above all before: its NOW() and commit_ts; by default a
    :class:`StatementClock` from ``start`` on. ``schema``: the current database, by default that of all tables, else
    ``test``. ``sql_mode``: by default TiDB's. The time zone is the database's until the session sets another one.
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
        self._set_time_zone("SYSTEM")
        self._values = SessionValues(dt.datetime.now(dt.timezone.utc))
        self._values.database = schema or current_database(None, database.catalog)
        self._transaction: OpenTransaction | None = None
        self._savepoints: dict[str, int] = {}
        self._autocommit = True
        self._collation = _COLLATION
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

    def run(
        self, script: str, failures: list[TicdcEmitError] | None = None, before: Callable[[], object] = lambda: None
    ) -> Iterator[StatementResult]:
        """Execute the statements of a script one by one, and yield what each did; ``before`` is called before each.

        ``failures``: gets the errors instead, without those that depend on one before, and the statements after them
        are executed too. Raises ``StatementError`` for a failure in TiDB, ``UnsupportedStatementError`` and
        ``DdlError``; their ``place`` is a line and column.
        """
        named = set[str]()
        for statement in script_statements(script, self._sql_mode):
            try:
                with _placed(script, statement):
                    before()
                    result = self._run(statement, _facts(script[statement.start : statement.first]))
            except TicdcEmitError as error:
                if failures is None:
                    raise
                number = error.context.get("number")
                follows = number in _FOLLOWING or not named.isdisjoint(_NAMES_IN.findall(statement.text.lower()))
                if not failures or not follows or isinstance(error, UnsupportedStatementError):
                    failures.append(error)
                named.update(_TABLES_IN.findall(statement.text.lower()))
                if len(failures) == MOST_FAILURES or number == UNKNOWN_DATABASE:
                    return
            else:
                yield result

    def apply(self, query: str, commit_ts: int, *, schema: str | None = None) -> tuple[DdlEvent, ...]:
        """Apply DDL that comes from elsewhere; ``commit_ts`` is a TSO, ``schema`` by default the current database.
        Raises ``StateError`` while a transaction is open, and what DDL in :meth:`run` does.
        """
        if self._transaction is not None:
            raise StateError("a transaction is open", remedy="Commit it, or roll it back, first")
        database = self._values.database if schema is None else schema
        return self.database.apply_statement(query, commit_ts, schema=database, sql_mode=reading_mode(self._sql_mode))

    def continue_at(self, start: int) -> None:
        """Let the default clock go on at a TSO above all before it."""
        if isinstance(self._clock, StatementClock):
            self._stamp(start)
            self._clock = StatementClock(start)

    def rollback(self) -> None:
        if self._transaction is not None:
            self._transaction.rollback()
        self._end()

    # -- one statement ---------------------------------------------------------------------------------------

    def _run(self, statement: ScriptStatement, facts: Mapping[str, int]) -> StatementResult:
        text, word = statement.text, statement.word
        now = facts.get("commit_ts") or self._clock()
        self._values.now = dt.datetime.fromtimestamp(physical_ms(now) / 1000, self._zone)
        kind = word if word in ("LOCK", "UNLOCK") else statement.without_effect()
        if kind:
            if word not in ("LOCK", "UNLOCK") and (skipped := SKIPPED.get(None)) is not None:
                skipped[kind] += 1
            committed = self._commit(now, facts) if _COMMITS.match(kind) else ()
            return StatementResult(text, "skipped", committed=committed)
        if word in _CHANGES:
            return self._change(_parsed(text, self._sql_mode), text, now, facts)
        if word == "USE":
            return self._use(text)
        if word in _DDL:
            lead = statement.first - statement.start  # its facts are not part of what TiCDC sends
            return self._ddl(_DIRECTIVE.sub("", text[:lead]).lstrip() + text[lead:], now, facts)
        raise unsupported(
            f"{word or 'this statement'}", "Leave it out, or write the changes as INSERT, UPDATE and DELETE"
        )

    def _change(self, node: nodes.ChangeStatement, text: str, now: int, facts: Mapping[str, int]) -> StatementResult:
        if self._collation != _COLLATION and isinstance(node, nodes.Update | nodes.Delete):
            raise unsupported(f"a condition under collation_connection {self._collation}", f"Set it to {_COLLATION}")
        match node:
            case nodes.Insert() | nodes.Update() | nodes.Delete():
                return self._change_rows(node, text, now, facts)
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

    def _change_rows(
        self, node: nodes.Insert | nodes.Update | nodes.Delete, text: str, now: int, facts: Mapping[str, int]
    ) -> StatementResult:
        word: StatementKind = "update" if isinstance(node, nodes.Update) else "delete"
        first_id = None
        with self._statement(now, facts) as running:
            if isinstance(node, nodes.Insert):
                word = "replace" if node.word == "REPLACE" else "insert"
                count, first_id = insert_or_update(node, running) if node.duplicate else insert(node, running)
            else:
                count = update(node, running) if isinstance(node, nodes.Update) else delete(node, running)
        if first_id is not None:
            self._values.last_insert_id = first_id
        committed = self._commit(now, facts) if self._is_implicit else ()
        return StatementResult(text, word, count, first_id, committed)

    @contextmanager
    def _statement(self, now: int, facts: Mapping[str, int]) -> Iterator[RunningStatement]:
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
                self._rendering,
                self._rules,
                keeps_zero=self._keeps_zero,
                checks_foreign_keys=self._checks_foreign_keys,
                seq=facts.get("seq"),
                writes_unchanged=bool(facts.get("unchanged")),
            )
        except BaseException as error:
            transaction.rollback(length)
            if self._is_implicit:
                self._end()
            if not self._is_strict and isinstance(error, StatementError) and error.number in _OF_STRICT_MODE:
                raise unsupported(
                    f"a value that does not fit ({error.message}), outside of strict SQL mode,",
                    "Set sql_mode to STRICT_TRANS_TABLES, or give a value that fits",
                ) from None
            raise

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

    def _commit(self, now: int, facts: Mapping[str, int]) -> tuple[Transaction, ...]:
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
        schema = self._values.database
        committed: tuple[Transaction | AppliedDdl, ...] = self._commit(now, {})
        if committed:
            now = facts.get("commit_ts", 0) + 1 if "commit_ts" in facts else self._clock()
        if self._rendering.session_zone != self._rendering.zone:
            _refuse_timestamp_defaults(parse_ddl(text, self._sql_mode), self._rendering)
        try:
            events = self.database.apply_statement(text, now, schema=schema, sql_mode=self._sql_mode)
        except DdlError as fault:
            if "number" in fault.context:
                raise StatementError(fault.message, remedy=fault.remedy, **fault.context) from None
            raise
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

    def _constant(self, variable: nodes.Variable) -> nodes.Constant | nodes.SystemVariable:
        value = self._known(variable.value)
        if isinstance(value, nodes.Constant | nodes.SystemVariable):
            return value
        return _constant_of(value_of(Scope(self._values).bind(value), None, self._values), variable.name)

    def _known(self, node: Any) -> Any:
        match node:
            case nodes.SystemVariable():
                return self._system_value(node)
            case nodes.UserVariable(name):
                return self._values.variables.get(name.lower(), nodes.Constant("null"))
            case nodes.Subquery(nodes.Select(fields=(field,), tables=None, where=None)):
                return self._known(field.value)
        return with_children(node, self._known)

    def _system_value(self, variable: nodes.SystemVariable) -> nodes.Constant | nodes.SystemVariable:
        """Return a variable, which dumps set again; itself if it is not known, so that no row may depend on it."""
        name, is_global = variable.name, variable.scope == "GLOBAL"
        switches = {
            "autocommit": self._autocommit,
            "foreign_key_checks": self._checks_foreign_keys,
            "unique_checks": True,
            "sql_notes": True,
        }
        if name in switches:
            return nodes.Constant("integer", str(int(is_global or switches[name])))
        texts = {
            **dict.fromkeys(_CHARSETS, "utf8mb4"),
            "sql_mode": DEFAULT_SQL_MODE if is_global else self._sql_mode,
            "time_zone": "SYSTEM" if is_global else self._zone_name,
            "collation_connection": self._collation,
        }
        return nodes.Constant("string", texts[name]) if name in texts else replace(variable, scope="")

    def _set_system(self, variable: nodes.Variable) -> None:
        name, value = variable.name.lower(), variable.value
        if name not in (_NEEDED_GLOBALLY if variable.scope == "GLOBAL" else _KEPT | _NEEDED.keys()):
            return
        if value is not None and not isinstance(value, nodes.ColumnName | nodes.Constant):
            value = self._constant(variable)
            variable = replace(variable, value=value)
        if name == "sql_mode":
            self._set_sql_mode(DEFAULT_SQL_MODE if value is None else _text(variable))
        elif name == "foreign_key_checks":
            self._checks_foreign_keys = _switch(variable)
        elif name == "time_zone":
            self._set_time_zone("SYSTEM" if value is None else _text(variable))
        elif name == "collation_connection":
            self._collation = _COLLATION if value is None else _text(variable).lower()
        elif name == "names":
            if value is not None and _text(variable).lower() not in _NAMES:
                raise unsupported(f"SET NAMES {_text(variable)}", "Use utf8mb4")
        elif value is not None and value != nodes.SystemVariable(name):
            text = _text(variable).lower()
            if {"on": "1", "off": "0"}.get(text, text) != _NEEDED[name]:
                raise unsupported(f"SET {name} to {text!r}", "Leave it out, and write the values themselves")

    def _set_time_zone(self, name: str) -> None:
        shared = self.database.rendering
        try:
            zone = time_zone_of(shared.zone if name.upper() == "SYSTEM" else name)
            if isinstance(zone, dt.timezone) and not _OFFSETS[0] <= zone.utcoffset(None) <= _OFFSETS[1]:
                raise ValueError
        except ValueError:
            remedy = "Use an IANA name such as Asia/Shanghai, or +08:00"
            raise StatementError(
                f"Unknown or incorrect time zone: {name!r}", remedy=remedy, number=UNKNOWN_ZONE
            ) from None
        self._zone_name, self._zone = name, zone
        own = "" if name.upper() == "SYSTEM" else name
        self._rendering = Rendering(shared.zone, switches=shared.switches, session_zone=own)

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
    try:
        yield
    except (StatementError, UnsupportedStatementError, SchemaError, InvalidValueError) as error:
        offset = statement.start + (error.context.get("position") or 0)
        context = {"statement": statement.text, **error.context, "place": place_in(script, offset)}
        raise type(error)(error.message, remedy=error.remedy, **context) from None
    except (MemoryError, pa.ArrowCapacityError):
        remedy = "Write it as several statements, of fewer or smaller rows"
        place = place_in(script, statement.start)
        raise UnsupportedStatementError(
            "the memory does not suffice for the statement", remedy=remedy, statement=statement.text, place=place
        ) from None


def _parsed(text: str, sql_mode: str) -> nodes.ChangeStatement:
    try:
        return parse_change(text, sql_mode, joins_rows=True)
    except DdlError as error:
        context = {name: value for name, value in error.context.items() if name == "position"}
        raise UnsupportedStatementError(error.message, remedy=error.remedy, **context) from None


def _check_query(query: object) -> None:
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


def _refuse_timestamp_defaults(statement: object, rendering: Rendering) -> None:
    """Refuse a default in the session's time zone: the statement's text is sent, and read in the changefeed's."""
    for node in every_node(statement):
        is_column = isinstance(node, nodes.ColumnDef) and node.type.type is MySQLType.TIMESTAMP
        if (is_column or isinstance(node, nodes.SetColumnDefault)) and any(
            isinstance(each, nodes.Literal) and _MOMENT.match(str(each.value)) for each in every_node(node)
        ):
            raise unsupported(
                f"a DEFAULT of TIMESTAMP in the time zone {rendering.session_zone}",
                f"Write it in the changefeed's, {rendering.zone}, after SET time_zone = 'SYSTEM'",
            )


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
