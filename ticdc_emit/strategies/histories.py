"""Row changes of one table, rows alone, and whole histories: tables, DDL and transactions in the order of commits. Each
change fits the rows and the table version of its time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from hypothesis import strategies as st

from ticdc_emit.changes.model import Op
from ticdc_emit.config.load import refuse_unknown
from ticdc_emit.database.row_values import unique_keys
from ticdc_emit.database.tables import Database
from ticdc_emit.errors import StrategyError
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.strategies.columns import TableOptions, TableShape, known_names, named_tables, same_name
from ticdc_emit.strategies.ddl import DDL_KINDS, applicable
from ticdc_emit.strategies.failures import observed
from ticdc_emit.strategies.values import values
from ticdc_emit.traffic.history import History
from ticdc_emit.tso import LOGICAL_BITS

if TYPE_CHECKING:
    from typing_extensions import Unpack


Change: TypeAlias = "dict[str, Any]"

FIRST_TSO = 1_700_000_000_000 << LOGICAL_BITS
"""14 November 2023, the first time that strategies draw."""

_YEARS_MS = 10 * 365 * 86_400_000
_OPS = tuple(op.value for op in Op)


def changes(
    table: str | TableInfo,
    *,
    ops: str | Collection[str] = ("insert", "update", "delete"),
    allow_key_updates: bool = True,
    time_zone: str = "UTC",
    allow_zero_dates: bool = True,
) -> st.SearchStrategy[Change]:
    """Return single changes of ``table`` in the generic form; they do not follow from each other.

    ``ops``: some of insert, update and delete. ``allow_key_updates``: also updates that change the handle key. The
    others are those of :func:`~ticdc_emit.strategies.histories`. Raises :class:`~ticdc_emit.errors.StrategyError`.
    """
    kinds = known_names(ops, _OPS, what="operations", argument="ops")
    info = table_of(table, time_zone)
    images = rows(info, time_zone=time_zone, allow_zero_dates=allow_zero_dates)
    return _draw_changes(info, images, sorted(kinds, key=_OPS.index), allow_key_updates)


@st.composite
def _draw_changes(
    draw: st.DrawFn, info: TableInfo, images: st.SearchStrategy[Row], ops: list[str], allow_key_updates: bool
) -> Change:
    op = draw(st.sampled_from(ops))
    commit_ts = FIRST_TSO + draw(st.integers(0, _YEARS_MS << LOGICAL_BITS))
    before = None if op == Op.INSERT else draw(images)
    after = None if op == Op.DELETE else draw(images)
    if before and after and not (allow_key_updates and draw(st.booleans())):
        after |= {column.name: before[column.name] for column in info.whole_handle_key}
    return change(info, op, commit_ts, before, after)


def change(info: TableInfo, op: str, commit_ts: int, before: Row | None, after: Row | None) -> Change:
    return {
        "schema": info.schema, "table": info.name, "op": op, "commit_ts": commit_ts, "before": before, "after": after,
    }  # fmt: skip


Row: TypeAlias = "dict[str, str | None]"


def rows(table: str | TableInfo, *, time_zone: str = "UTC", allow_zero_dates: bool = True) -> st.SearchStrategy[Row]:
    """Return rows of ``table``: the CREATE TABLE of one table, or a version of one from a catalog. They lack virtual
    columns; values are those of :func:`~ticdc_emit.strategies.values`. Raises :class:`~ticdc_emit.errors.StrategyError`
    for SQL that does not make exactly one table, :class:`~ticdc_emit.errors.DdlError`.
    """
    return _rows(table_of(table, time_zone), time_zone, allow_zero_dates)


@lru_cache(maxsize=1024)
def _rows(info: TableInfo, time_zone: str, allow_zero_dates: bool) -> st.SearchStrategy[Row]:
    names = [column.name for column in info.row_columns]
    texts = [values(column, time_zone=time_zone, allow_zero_dates=allow_zero_dates) for column in info.row_columns]
    return st.tuples(*texts).map(lambda row: dict(zip(names, row, strict=True)))


def table_of(table: str | TableInfo, time_zone: str) -> TableInfo:
    """Return the only table that SQL makes; a :class:`TableInfo` is returned as it is."""
    return table if isinstance(table, TableInfo) else _only_table(table, time_zone)


@lru_cache(maxsize=256)
def _only_table(sql: str, time_zone: str) -> TableInfo:
    tables = [info for info in catalog_from_sql(sql, time_zone=time_zone).tables() if not info.is_view]
    if len(tables) != 1:
        raise StrategyError(
            f"the SQL makes {len(tables)} tables, not one",
            remedy="Give one CREATE TABLE, or a TableInfo: catalog_from_sql(sql).table(schema, name)",
            argument="table",
        )
    return tables[0]


_SCHEMAS = ("test", "shop")
_MOST_CHANGES = 6
_DDL_SHARE = 4  # one commit in this many
_LONGEST_PAUSE_MS = 5_000
_PAUSES = st.integers(1, 1 << LOGICAL_BITS + 2) | st.integers(1, _LONGEST_PAUSE_MS).map(lambda ms: ms << LOGICAL_BITS)


class HistoryOptions(TableOptions, total=False):
    max_tables: int
    max_commits: int
    ddl_kinds: str | Collection[str] | None
    allow_key_updates: bool
    allow_deletes: bool
    allow_seq: bool
    time_zone: str
    allow_zero_dates: bool


@dataclass(frozen=True)
class _Arguments:
    schema: str | None
    shape: TableShape
    ddl_kinds: tuple[str, ...] = DDL_KINDS
    max_tables: int = 2
    max_commits: int = 20
    allow_key_updates: bool = True
    allow_deletes: bool = True
    allow_seq: bool = True
    time_zone: str = "UTC"
    allow_zero_dates: bool = True


def histories(schema: str | None = None, **options: Unpack[HistoryOptions]) -> st.SearchStrategy[History]:
    """Return histories (:class:`ticdc_emit.History`) of the tables that ``schema`` makes, or of drawn ones.

    ``schema``: SQL text. Without it, up to ``max_tables`` (default 2) tables, with the other options of
    :func:`~ticdc_emit.strategies.tables`; ``allow_backslashes`` is ``False`` by default. ``max_commits``: transactions
    and statements, default 20. ``ddl_kinds``: some of :data:`~ticdc_emit.strategies.DDL_KINDS`, ``None`` (the default)
    for all, ``()`` for no DDL. ``True`` by default: ``allow_key_updates``; ``allow_deletes``: deletes, and updates of a
    unique key, which TiCDC splits; ``allow_seq``: transactions whose changes have a ``seq``. ``time_zone``,
    ``allow_zero_dates``: as in :func:`~ticdc_emit.strategies.values`. Raises :class:`~ticdc_emit.errors.StrategyError`,
    :class:`~ticdc_emit.errors.DdlError`.
    """
    refuse_unknown("histories", options, HistoryOptions)
    given: dict[str, Any] = {"allow_backslashes": False, **options}
    shape = TableShape.of({name: given.pop(name) for name in TableOptions.__annotations__ if name in given})
    kinds = options.get("ddl_kinds")
    has_none = kinds is not None and not isinstance(kinds, str) and not len(kinds)
    given["ddl_kinds"] = () if has_none else known_names(kinds, DDL_KINDS, what="kinds of DDL", argument="ddl_kinds")
    arguments = _Arguments(schema, shape, **given)
    for name in ("max_tables", "max_commits"):
        if (number := getattr(arguments, name)) < 1:
            raise StrategyError(f"{name}={number!r} is not at least 1", remedy="Give 1 or more", argument=name)
    if schema is not None and not _base_tables(catalog_from_sql(schema, time_zone=arguments.time_zone)):
        raise StrategyError("the schema has no table", remedy="Give CREATE TABLE statements", argument="schema")
    return _draw_history(arguments)


@st.composite
def _draw_history(draw: st.DrawFn, arguments: _Arguments) -> History:
    return observed(lambda: _history_of(draw, arguments))


def _history_of(draw: st.DrawFn, arguments: _Arguments) -> History:
    schema = arguments.schema if arguments.schema is not None else ";\n".join(_draw_tables(draw, arguments))
    writer = _HistoryWriter(draw, arguments, schema)
    for _ in range(draw(st.integers(1, arguments.max_commits))):
        writer.draw_commit()
    return History(schema, writer.rows, tuple(writer.ddl), time_zone=arguments.time_zone)


def _draw_tables(draw: st.DrawFn, arguments: _Arguments) -> list[str]:
    statements: list[str] = []
    names: dict[str, set[str]] = {schema: set() for schema in _SCHEMAS}
    for _ in range(draw(st.integers(1, arguments.max_tables))):
        schema = draw(st.sampled_from(_SCHEMAS))
        name, statement = draw(named_tables(schema, arguments.shape, frozenset(names[schema])))
        names[schema].add(same_name(name))
        statements.append(statement)
    return statements


def _base_tables(catalog: Catalog) -> list[TableInfo]:
    return [info for info in catalog.tables() if not info.is_view]


class _HistoryWriter:
    def __init__(self, draw: st.DrawFn, arguments: _Arguments, schema: str) -> None:
        self._draw = draw
        self._arguments = arguments
        self._fold = Database(catalog_from_sql(schema, time_zone=arguments.time_zone), arguments.time_zone)
        self._commit_ts = FIRST_TSO
        self.rows: list[Change] = []
        self.ddl: list[tuple[int, str]] = []

    def draw_commit(self) -> None:
        self._commit_ts += self._draw(_PAUSES)
        if not (
            self._arguments.ddl_kinds
            and self._draw(st.integers(1, _DDL_SHARE)) == _DDL_SHARE
            and self._draw_statement()
        ):
            self._draw_transaction()

    def _draw_statement(self) -> bool:
        statements = applicable(self._fold.catalog, self._arguments.ddl_kinds, self._arguments.shape)
        if statements is None:
            return False
        query = self._draw(statements)
        self._fold.apply(self._commit_ts, query)
        self.ddl.append((self._commit_ts, query))
        return True

    def _draw_transaction(self) -> None:
        changes: list[Change] = []
        tables: dict[tuple[str, str], _Transaction] = {}
        infos = _base_tables(self._fold.catalog)
        if not self._arguments.shape.allow_keyless:  # TiCDC leaves the rows of others out
            infos = [info for info in infos if info.whole_handle_key] or infos
        for number in range(_MOST_CHANGES):
            if number and not self._draw(st.booleans()):
                break
            info = self._draw(st.sampled_from(infos))
            name = info.schema, info.name
            if name not in tables:
                tables[name] = _Transaction(info, list(self._fold.tables[name].values()))
            drawn = self._draw_change(tables[name])
            if drawn is not None:
                changes.append(drawn)
        if self._arguments.allow_seq and len(changes) > 1 and self._draw(st.booleans()):
            for each, seq in zip(changes, self._draw(st.permutations(range(len(changes)))), strict=True):
                each["seq"] = seq
        for name in tables:
            own = [each for each in changes if (each["schema"], each["table"]) == name]
            if own:
                self._fold.commit(own)
        self.rows += changes

    def _draw_change(self, transaction: _Transaction) -> Change | None:
        """Return a change of a row that the transaction has not changed yet; ``None`` if it is not possible."""
        info, before, after, arguments = transaction.info, None, None, self._arguments
        later = ["update", "delete"] if arguments.allow_deletes else ["update"]
        op = self._draw(st.sampled_from(["insert", *later] if transaction.rows else ["insert"]))
        if op != "insert":
            before = transaction.rows.pop(self._draw(st.integers(0, len(transaction.rows) - 1)))
        if op != "delete":
            drawn = self._draw(rows(info, time_zone=arguments.time_zone, allow_zero_dates=arguments.allow_zero_dates))
            kept = info.whole_handle_key if arguments.allow_deletes else info.splitting_columns
            if (
                before is not None
                and arguments.allow_key_updates
                and arguments.allow_deletes
                and self._draw(st.booleans())
            ):
                kept = ()
            after = transaction.with_free_keys(before, drawn, kept)
            if after is None:
                return None
        return change(info, op, self._commit_ts, before, after)


class _Transaction:
    """One table in one transaction. ``rows``: earlier rows that the transaction has not changed."""

    def __init__(self, info: TableInfo, before: list[Row]) -> None:
        self.info = info
        self.rows = before
        self._keys = unique_keys(info)
        self._unknown: Row = dict.fromkeys(column.name for column in info.columns)
        self._used = {identity for row in before for identity in self._identities(row)}

    def with_free_keys(self, before: Row | None, after: Row, kept: Sequence[Column]) -> Row | None:
        """Return ``after`` with the columns of ``before`` that it must keep; ``None`` if its own keys are taken. A key
        that a row gives up stays taken until the end of the transaction: rows may be sent in any order.
        """
        own = set() if before is None else set(self._identities(before))
        if before is not None:
            keeps = {column.name for column in kept}
            keeps |= {name for key, _ in self._conflicts(after, own) for name in key}
            after = after | {name: before[name] for name in keeps}
        if self._conflicts(after, own):
            return None
        self._used.update(self._identities(after))
        return after

    def _conflicts(self, row: Row, own: set[Any]) -> list[Any]:
        return [identity for identity in self._identities(row) if identity in self._used - own]

    def _identities(self, row: Row) -> list[tuple[tuple[str, ...], tuple[Any, ...]]]:
        """Return the row's values in unique keys, as TiDB compares them, without keys that have a NULL."""
        found = ((key, key.of(row, self._unknown)) for key in self._keys)
        return [(tuple(each.name for each in key.columns), of_row) for key, of_row in found if of_row is not None]
