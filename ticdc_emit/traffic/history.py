"""A history: tables, the changes of their rows and columns, and the final tables, which are folded from the rows and
never from messages.
"""

from __future__ import annotations

import copy
import datetime as dt
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from ticdc_emit.changes.attributes import ATTRIBUTES, ROW_KEY
from ticdc_emit.changes.commit_ts import commit_ts_of
from ticdc_emit.changes.model import Op
from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig
from ticdc_emit.config.load import LoadOptions, config_of, refuse_unknown
from ticdc_emit.config.secrets import hides_arguments
from ticdc_emit.database.session import DEFAULT_START
from ticdc_emit.database.tables import Tables
from ticdc_emit.delivery.base import Message, Sink
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.delivery.storage_files import MemoryFilesSink
from ticdc_emit.errors import ConfigError, HistoryError, InvalidValueError, MissingColumnError, shown
from ticdc_emit.hints import counted, did_you_mean
from ticdc_emit.pipeline.arrange.python_rows import require_mapping
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.registry.base import SchemaRegistry
from ticdc_emit.routing.table_routes import TableRoutes
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql, current_database
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.nodes.statements import CreateTable
from ticdc_emit.sql.script import parse_ddl, schema_statements
from ticdc_emit.sql.types import WHOLE_TYPES
from ticdc_emit.storage.folder import MemoryFolder
from ticdc_emit.traffic.change_scripts import Ddl, run_script, script_of
from ticdc_emit.traffic.expected_tables import TableFold, shown_tables
from ticdc_emit.traffic.json_objects import VERSION, Json, Members, encoded, json_line
from ticdc_emit.tso import tso_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


_MOST_SHOWN = 100
_ROW_REMEDY = "Give each row as {'schema': ..., 'table': ..., 'op': ..., 'commit_ts': ..., 'before': ..., 'after': ...}"

_IMAGE = pa.map_(pa.string(), pa.string())
_FIELDS = {
    "schema": pa.string(),
    "table": pa.string(),
    "op": pa.string(),
    "commit_ts": pa.int64(),
    "seq": pa.int64(),
    **ATTRIBUTES,
    "before": _IMAGE,
    "after": _IMAGE,
}
_DDL_MEMBERS = ("commit_ts", "query", "schema")
_ALWAYS = ("schema", "table", "op", "commit_ts", "before", "after")
_IMAGES = ("before", "after")
_REFUSALS = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)  # of Arrow, for values of another type


@dataclass(frozen=True, repr=False)
class History:
    """``schema``: SQL text of the tables before the first row. ``rows``: changes in the generic form, in any order.

    A row is a mapping with ``schema``, ``table``, ``op``, ``commit_ts`` (TSO), ``before``, ``after`` and optionally
    ``seq``, ``start_ts``, ``physical_table_id`` and ``checksum`` (``changes.integrity``). Values are canonical text or
    ``None``; integer columns also take an int. ``ddl``: (commit_ts, statement), or with the current database as a
    third, by default that of all tables; a row with the same commit_ts comes before it. ``time_zone``: the
    changefeed's, for TIMESTAMP. ``begins_empty``: no table has rows before its first change; ``False`` allows updates
    and deletes of such rows. The methods raise the :class:`~ticdc_emit.errors.RowError` family.
    """

    schema: str
    rows: Sequence[Mapping[str, Any]] = ()
    ddl: tuple[Ddl, ...] = ()
    time_zone: str = field(default="UTC", kw_only=True)
    begins_empty: bool = field(default=True, kw_only=True)

    def __repr__(self) -> str:
        """Show a small history as an expression that makes it, in SQL where it can be, and a summary of a large one."""
        if len(self.rows) > _MOST_SHOWN:
            tables = sorted({f"{row['schema']}.{row['table']}" for row in self.rows})
            counts = f"{counted(len(self.rows), 'row')}, {counted(len(self.ddl), 'statement')}"
            return f"<History of {', '.join(tables)}: {counts}>"
        try:
            shown = f"History.from_sql({_block(self.to_sql())}, schema={_block(self._used_schema())}"
        except Exception:  # SQL does not tell everything, and what is wrong is shown as well
            rows = "".join(f"    {row!r},\n" for row in self.rows)
            ddl = f", ddl={self.ddl!r}" if self.ddl else ""
            shown = f"History({_block(self.schema)}, [\n{rows}]{ddl}"
        zone = "" if self.time_zone == "UTC" else f", time_zone={self.time_zone!r}"
        return f"{shown}{zone}{'' if self.begins_empty else ', begins_empty=False'})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # of Hypothesis and IPython
        printer.text("History(...)" if cycle else repr(self))

    def _used_schema(self) -> str:
        """Return the schema without the tables that neither a row nor a statement names."""
        queries = " ".join([*(row["table"] for row in self.rows), *(query for _, query, *_ in self.ddl)])
        used = [
            text
            for text, node in tables_of(self.schema)
            if node is None or re.search(rf"(?<!\w){re.escape(node.table.name)}(?!\w)", queries, re.IGNORECASE)
        ]
        schema = ";\n".join(used)
        same = current_database(None, catalog_from_sql(schema)) == current_database(None, self._catalog)
        return schema if same else self.schema  # DDL without a database is of the one that all tables are in

    def to_dict(self) -> dict[str, Any]:
        """Return the history for JSON: ``version`` (1), ``schema``, ``rows``, ``ddl`` (objects with ``commit_ts``,
        ``query`` and perhaps ``schema``), ``time_zone`` and ``begins_empty``. The ``row_key`` of a row is base64.
        """
        rows = [
            {**row, ROW_KEY: encoded(row[ROW_KEY])} if isinstance(row.get(ROW_KEY), bytes) else row for row in self.rows
        ]
        return {
            "version": VERSION,
            "schema": self.schema,
            "rows": rows,
            "ddl": [dict(zip(_DDL_MEMBERS, statement, strict=False)) for statement in self.ddl],
            "time_zone": self.time_zone,
            "begins_empty": self.begins_empty,
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as one line of JSON in ASCII. Raises :class:`~ticdc_emit.errors.JsonError`. A TSO is a
        number of up to 64 bits: read it as such, not as a double.
        """
        return json_line(self.to_dict(), what="the history")

    @classmethod
    def from_json(cls, data: Json) -> History:
        """Return the history of :meth:`to_json`. ``data``: text or object. Rows are checked when they are used. Raises
        :class:`~ticdc_emit.errors.JsonError`.
        """
        members = Members.of(data, "a history")
        history = cls(
            members.get("schema", str),
            [
                {name: row.binary(name) if name == ROW_KEY else row.value(name) for name in row.names()}
                for row in members.objects("rows", "a row")
            ],
            tuple(_statement_of(each) for each in members.objects("ddl", "a statement")),
            time_zone=members.get("time_zone", str),
            begins_empty=members.get("begins_empty", bool),
        )
        members.finish()
        return history

    @classmethod
    def from_sql(
        cls, sql: str, *, schema: str = "", start: int | dt.datetime | None = None, time_zone: str = "UTC"
    ) -> History:
        """Return what the statements of a change script do (docs/change-scripts.md), over empty tables.

        ``sql``: INSERT, REPLACE, UPDATE, DELETE, transactions and DDL of TiDB. ``schema``: DDL of tables that exist
        before; other than the script's, it is not sent. ``start``: a TSO or an aware datetime, the time of the first
        statement, by default the beginning of 2024; each further one is a second later. Raises
        :class:`~ticdc_emit.errors.StatementError` for what fails in TiDB,
        :class:`~ticdc_emit.errors.UnsupportedStatementError` for what is not executed here, and
        :class:`~ticdc_emit.errors.DdlError`; their ``others`` are independent errors of the script.
        """
        catalog = catalog_from_sql(schema, time_zone=time_zone)
        rows, ddl = run_script(sql, catalog, time_zone, DEFAULT_START if start is None else tso_of(start, "start"))
        return cls(schema, rows, tuple(ddl), time_zone=time_zone)

    def to_sql(self) -> str:
        """Return a change script that makes this history of its schema: ``from_sql(script, schema=self.schema)``.
        Raises :class:`~ticdc_emit.errors.HistoryError` for what SQL does not tell: rows that were there before, rows of
        a table without a key, checksums, ids of partitions.
        """
        if not self.begins_empty:
            raise HistoryError(
                "the history does not have the rows that were there before it",
                remedy="Give them as inserts, and begins_empty=True",
            )
        return script_of(self._checked_rows(), self.ddl, self.catalog())

    def catalog(self, *, config: ChangefeedConfig | None = None, at_end: bool = False) -> Catalog:
        """Return the tables before the first row and statement, or, ``at_end``, those after the last one. Raises
        :class:`~ticdc_emit.errors.DdlError`. ``config``: a changefeed with table routing, for the names that its
        messages show.
        """
        catalog = copy.deepcopy(self._versions if at_end else self._catalog)
        if config is not None:
            TableRoutes.of(config).rename(catalog)
        return catalog

    @cached_property
    def _catalog(self) -> Catalog:
        return catalog_from_sql(self.schema, time_zone=self.time_zone)

    def tables(self, *, protocol: str | None = None, config: ChangefeedConfig | None = None) -> Tables:
        """Return the tables after the last row and statement, by (schema, table): rows by handle key.

        ``protocol``: give ENUM, SET and binary values as its messages show them (docs/testing.md), in text.
        ``config``: a changefeed with table routing, for the names of messages. Raises
        :class:`~ticdc_emit.errors.HistoryError` for a change that does not fit the rows before it (``begins_empty``),
        :class:`~ticdc_emit.errors.ConfigError`, and :class:`~ticdc_emit.errors.SchemaError` if the history does not
        determine a statement's effect on rows (DEFAULT CURRENT_TIMESTAMP for existing rows, DROP PARTITION, another
        kind of type).
        """
        fold = TableFold(self.catalog(), self.time_zone, checks=True, begins_empty=self.begins_empty)
        tables = fold.follow(self._checked_rows(), self.ddl)
        if protocol is not None:
            tables = shown_tables(tables, fold.catalog.table, protocol)
        routes = TableRoutes() if config is None else TableRoutes.of(config)
        return {routes.target(*name): rows for name, rows in tables.items()}

    def keys(self, *, config: ChangefeedConfig | None = None) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return the columns of each final table's handle key, ``()`` for none; ``config``: as for :meth:`tables`.
        Raises :class:`~ticdc_emit.errors.DdlError`.
        """
        routes = TableRoutes() if config is None else TableRoutes.of(config)
        tables = (info for info in self._versions.tables() if not info.is_view)
        return {routes.target(info.schema, info.name): info.handle_key_names for info in tables}

    @cached_property
    def _versions(self) -> Catalog:
        catalog = self.catalog()
        database = current_database(None, catalog)
        for commit_ts, query, *schema in sorted(self.ddl, key=lambda statement: statement[0]):
            catalog.apply(query, schema=schema[0] if schema else database, commit_ts=commit_ts)
        return catalog

    def _checked_rows(self) -> list[Mapping[str, Any]]:
        return canonical_rows(self.rows, self.table_at)

    def table_at(self, schema: str, name: str, commit_ts: int) -> TableInfo:
        """Return the version of a table that rows with this ``commit_ts`` (TSO) have. Raises
        :class:`~ticdc_emit.errors.UnknownTableError`.
        """
        return self._versions.at(schema, name, commit_ts - 1)

    def to_arrow(self) -> pa.Table:
        """Return the rows as one Arrow table in the generic form, without DDL."""
        return rows_to_arrow(self._checked_rows())

    @hides_arguments
    def messages(
        self,
        sink_uri: str | ChangefeedConfig,
        *,
        changefeed: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        watermark_interval: float | None = None,
        registry: SchemaRegistry | None = None,
        **options: Unpack[LoadOptions],
    ) -> list[Message]:
        """Return the history as a changefeed sends it: rows, DDL, BOOTSTRAP and watermarks, by topic-partition.

        The arguments are those of :func:`~ticdc_emit.load_changefeed`, or its result; nothing is sent there, and every
        topic has ``partition-num`` partitions. ``watermark_interval``: seconds of commit time. Raises
        :class:`~ticdc_emit.errors.ConfigError` for another time zone, and for options together with a loaded
        configuration; else the family of :class:`~ticdc_emit.errors.TicdcEmitError`.
        """
        refuse_unknown("messages", options, LoadOptions)
        own = registry is not None
        config = config_of(sink_uri, changefeed, options, own_registry=own, time_zone=self.time_zone)
        self._require_zone(config)
        store = f"history-{uuid4()}"
        partitions = config.kafka.partition_num or DEFAULT_PARTITION_NUM
        sink = MemorySink(store, config.codec.max_message_bytes, new_partitions=partitions)
        try:
            self._send(config, sink, RunOptions(watermark_interval=watermark_interval), registry)
            return messages(store)
        finally:
            clear(store)

    @hides_arguments
    def files(
        self,
        sink_uri: str | ChangefeedConfig,
        *,
        changefeed: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        **options: Unpack[LoadOptions],
    ) -> MemoryFolder:
        """Return the files of a changefeed with a storage sink: ``contents`` by path, and ``writes`` in their order.
        Arguments and errors are those of :meth:`messages`; nothing is written where the URI leads.
        """
        refuse_unknown("files", options, LoadOptions)
        config = config_of(sink_uri, changefeed, options, time_zone=self.time_zone)
        self._require_zone(config)
        if not config.sink_uri.stored:
            raise ConfigError(
                f"the sink of {config.sink_uri.scheme}:// has no files",
                remedy="Give file://, s3://, gcs://, azblob:// or noop://, with protocol=csv or canal-json",
                option="sink-uri",
            )
        sink = MemoryFilesSink.of(config)
        self._send(config, sink, RunOptions())
        return sink.kept

    def _send(
        self, config: ChangefeedConfig, sink: Sink, options: RunOptions, registry: SchemaRegistry | None = None
    ) -> None:
        feed = Changefeed(config, sink, self._catalog, ddl=self.ddl, registry=registry, options=options)
        feed.run(ArrowBatch(self.to_arrow()), 0, final=True)

    def _require_zone(self, config: ChangefeedConfig) -> None:
        if config.time_zone != self.time_zone:
            raise ConfigError(
                f"the changefeed's time zone is {config.time_zone}, the history's {self.time_zone}",
                remedy="Load the changefeed with the history's time_zone",
                option="time_zone",
            )


def tables_of(schema: str) -> list[tuple[str, CreateTable | None]]:
    """Return the statements of a schema that are DDL, each with its tree if it creates a table."""
    found = ((each.text, parse_ddl(each.text)) for each in schema_statements(schema))
    return [(text, node if isinstance(node, CreateTable) else None) for text, node in found]


def _block(text: str) -> str:
    escaped = text.strip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    lines = "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in escaped)
    return f'"""\n{lines}\n"""'


def _statement_of(members: Members) -> Ddl:
    commit_ts, query = members.get("commit_ts", int), members.get("query", str)
    statement: Ddl = (commit_ts, query)
    if "schema" in members.names():
        statement = (commit_ts, query, members.get("schema", str))
    members.finish()
    return statement


def canonical_rows(rows: Iterable[Any], table_at: Callable[[str, str, int], TableInfo]) -> list[Mapping[str, Any]]:
    """Return changes in the generic form with their values in canonical text; where a value is a number, ``table_at``
    is asked for the table at a commit_ts. Raises the :class:`~ticdc_emit.errors.RowError` family.
    """
    checked = [_checked_row(row, position) for position, row in enumerate(rows)]
    for position, row in enumerate(checked):
        values = [value for which in _IMAGES for value in (row[which] or {}).values()]
        if not all(value is None or isinstance(value, str) for value in values):
            info = table_at(row["schema"], row["table"], row["commit_ts"])
            checked[position] = {**row, **{which: _texts(row[which], info, position) for which in _IMAGES}}
    return checked


def rows_to_arrow(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return changes in canonical text as one Arrow table in the generic form."""
    used = [name for name in _FIELDS if name in _ALWAYS or any(row.get(name) is not None for row in rows)]
    columns = {name: [row.get(name) for row in rows] for name in used}
    columns |= {name: [None if image is None else list(image.items()) for image in columns[name]] for name in _IMAGES}
    return pa.table({name: _array(name, values) for name, values in columns.items()})


def _checked_row(row: Any, position: int) -> Mapping[str, Any]:
    where = {"position": position}
    row = require_mapping(row, "a row", remedy=_ROW_REMEDY, row=where)
    for name in ("schema", "table", "op"):
        if row.get(name) is None:
            hint = did_you_mean(name, (each for each in row if isinstance(each, str) and each not in _FIELDS))
            raise MissingColumnError(f"a row has no {name}", remedy=f"{hint}{_ROW_REMEDY}", column=name, row=where)
        if not isinstance(row[name], str):
            raise InvalidValueError(f"{shown(row[name])} is not text", remedy=_ROW_REMEDY, column=name, row=where)
    table = f"{row['schema']}.{row['table']}"
    if Op.parse(row["op"]) is None:
        remedy = f"{did_you_mean(row['op'], [op.value for op in Op])}Use insert, update or delete, or c, u, d"
        raise InvalidValueError(
            f"{shown(row['op'])} is not an operation", remedy=remedy, table=table, column="op", row=where
        )
    commit_ts, seq = commit_ts_of(row, position, table), row.get("seq")
    if seq is not None and (isinstance(seq, bool) or not isinstance(seq, Integral)):
        raise InvalidValueError(
            f"{shown(seq)} is not a whole number", remedy="Give seq as an int", table=table, column="seq", row=where
        )
    images = {which: row.get(which) for which in _IMAGES}
    for which, image in images.items():
        if image is not None:
            remedy = f"Give {which} as a mapping from column to value, or None"
            require_mapping(image, f"the {which} image", remedy=remedy, table=table, row=where)
    return {**row, "commit_ts": commit_ts, **images}


def _texts(image: Mapping[str, Any] | None, info: TableInfo, position: int) -> dict[str, str | None] | None:
    if image is None:
        return None
    columns = {column.name: column for column in info.columns}
    texts: dict[str, str | None] = {}
    for name, value in image.items():
        is_whole = isinstance(value, Integral) and name in columns and columns[name].type in WHOLE_TYPES
        if not (value is None or isinstance(value, str) or is_whole):
            raise InvalidValueError(
                f"{shown(value)} is of the Python type {type(value).__name__}, not text",
                remedy="Give its canonical text (docs/types.md); only integer columns take an int",
                table=info.full_name,
                column=name,
                row={"position": position},
            )
        texts[name] = str(int(value)) if is_whole else value
    return texts


def _array(name: str, values: list[Any], position: int | None = None) -> pa.Array:
    try:
        return pa.array(values, _FIELDS[name])
    except _REFUSALS as fault:
        for number, value in enumerate(values) if position is None else ():
            _array(name, [value], number)
        cause, remedy = f"the {name} of a row cannot be read: {fault}", f"It is of the type {_FIELDS[name]}"
        raise InvalidValueError(cause, remedy=remedy, column=name, row={"position": position}) from None
