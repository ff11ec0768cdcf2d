"""The encoder without Spark: row changes in, Kafka messages out.

    encoder = Encoder("memory://demo/?protocol=canal-json", "create table test.t (id int primary key)")
    batch = encoder.encode([{"op": "c", "commit_ts": 450000000262144000, "after": {"id": 1}}], table="test.t")

Batches have ``delivery.base.MESSAGE_SCHEMA``, in the order in which each partition must receive the messages.
"""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.arrow_input import changes_table, is_tabular, normal_form, refuse_plain_rows
from ticdc_emit.changes.commit_ts import check_tso, warn_unlikely
from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig
from ticdc_emit.config.load import LoadOptions, config_of, refuse_unknown
from ticdc_emit.config.secrets import hides_arguments
from ticdc_emit.database.session import DEFAULT_START, Session
from ticdc_emit.database.tables import Database
from ticdc_emit.database.transaction import AppliedDdl, Transaction
from ticdc_emit.delivery.base import MOST_PARTITIONS
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.errors import BatchTooLargeError, ConfigError, DdlError, RowError, SchemaError, TicdcEmitError
from ticdc_emit.pipeline.arrange.python_rows import rows_to_batch
from ticdc_emit.pipeline.arrange.row_batch import with_places
from ticdc_emit.pipeline.arrange.row_sorter import RowSorter
from ticdc_emit.pipeline.deliver.bootstrap import Bootstrap
from ticdc_emit.pipeline.deliver.control_events import ControlEncoder, Watermark
from ticdc_emit.pipeline.encode.bad_rows import ArrowRows, BadRow, MappedRows, Refusals, skipped_rows
from ticdc_emit.pipeline.encode.chunks import Buckets
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.encode.message_packing import packed_messages
from ticdc_emit.pipeline.encode.messages import control_batch, encode_batches
from ticdc_emit.pipeline.options import check_choice
from ticdc_emit.pipeline.plan.ddl import SentDdl, catalog_for
from ticdc_emit.pipeline.plan.registration import Registrar, needed_by
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan, make_plan, topics_of, verify_tables
from ticdc_emit.registry.base import SchemaRegistry
from ticdc_emit.routing.replication import Replication
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.frames.any_frame import Keys, keys_of, schema_of_changes
from ticdc_emit.schema.model import schema_and_name
from ticdc_emit.sql.words import quoted
from ticdc_emit.tso import tso_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


_BEFORE_ALL = 1  # the TSO of tables that were there at the start


class EncoderOptions(LoadOptions, total=False):
    """What :class:`Encoder` takes besides the sink URI and the schema."""

    changefeed: str | os.PathLike[str] | Mapping[str, Any] | None
    partitions: int | None
    build_ts: int | None
    verbatim_json: bool
    registry: SchemaRegistry | None
    bad_rows: Literal["refuse", "skip"]
    keys: Keys


class Encoder:
    """Encodes the row changes of a changefeed's tables, batch by batch. Holds no connection and sends nothing.

    With ``large-message-handle-option = "claim-check"`` it stores the messages that are too large, as TiCDC does; a
    ``claim-check-storage-uri`` of ``memory://`` keeps them in this process.

    ``sink_uri``: TiCDC's sink URI (or a loaded :class:`ChangefeedConfig`), read for options only. ``schema``: a
    :class:`Catalog`, or SQL text. Without it, the columns of the first frame of each table make the table, as
    :func:`~ticdc_emit.table_sql` does, with ``keys``, the columns of its primary key, or those of each table by its
    name; a warning shows what was assumed. ``partitions``: partition count of each topic, default the URI's
    ``partition-num``. ``build_ts``: the build time of messages in ms; default: the physical time of each commit_ts.
    ``registry``: where Avro schemas are registered instead of the configured schema registry. ``changefeed`` (TiCDC's
    TOML), ``release`` to ``schema_registry``: as in :func:`~ticdc_emit.load_changefeed`; a loaded configuration has
    them already. ``bad_rows``: ``refuse`` a batch with a bad row, or ``skip`` the row; ``skipped`` lists those of the
    last :meth:`encode`. ``filtered`` counts the changes that each rule of ``[filter]`` has left out. Raises
    :class:`~ticdc_emit.errors.ConfigError`.
    """

    @hides_arguments
    def __init__(
        self,
        sink_uri: str | ChangefeedConfig,
        schema: str | Catalog | None = None,
        *,
        keys: Keys = (),
        changefeed: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        partitions: int | None = None,
        build_ts: int | None = None,
        verbatim_json: bool = False,
        registry: SchemaRegistry | None = None,
        bad_rows: Literal["refuse", "skip"] = "refuse",
        **options: Unpack[LoadOptions],
    ) -> None:
        refuse_unknown("Encoder", options, LoadOptions)
        self.config = config_of(sink_uri, changefeed, options, own_registry=registry is not None)
        if schema is not None and keys:
            raise ConfigError("keys= is for tables without a schema", remedy="Leave it out", option="keys")
        self._keys = keys if schema is None else None
        self.catalog = catalog_for(self.config, "" if schema is None else schema)
        self._replication = Replication.of(self.config, self.catalog)
        self._sent_ddl = SentDdl(self.config)
        self._partitions = partitions or self.config.kafka.partition_num or DEFAULT_PARTITION_NUM
        self.filtered: Counter[str] = Counter()
        self._ddl: list[DdlEvent] = []
        self._told_early = False
        self._session: Session | None = None
        check_choice("bad_rows", bad_rows)
        self._bad_rows = bad_rows
        self.skipped: list[BadRow] = []
        self._build_ts = build_ts
        self._verbatim_json = verbatim_json
        self._registrar = Registrar(self.config, registry)
        self._claims = ClaimStore.of(self.config.codec.large_message_handle)
        verify_tables(self.config, self.catalog.tables())
        self.plan = self._make_plan()
        tables = [info for info in self.catalog.tables() if not info.is_view]
        if len(tables) == 1:
            self.plan.table(tables[0].schema, tables[0].name).refuse_keyless()

    def __repr__(self) -> str:
        return f"<Encoder {self.config.codec.form} of {self.config.release.name}, {self.catalog!r}>"

    def _make_plan(self) -> Plan:
        histories, left_out = self._replication.histories(self.catalog.histories())
        return make_plan(
            self.config,
            histories,
            dict.fromkeys(topics_of(self.config, histories, self._ddl), self._partitions),
            build_ts=self._build_ts,
            verbatim_json=self._verbatim_json,
            unreplicated=left_out,
        )

    def encode(
        self, changes: pa.Table | pa.RecordBatch | Iterable[Mapping[str, Any]] | Any, table: str | None = None
    ) -> pa.RecordBatch:
        """Return the messages of one table's changes, in total order. An update of a key becomes two messages.

        ``changes``: mappings with ``op``, ``commit_ts`` (or ``commit_time``), ``before``, ``after``, or a table of
        these columns: an Arrow table or batch, a pandas or polars DataFrame, anything with Arrow's C interface. Each
        row has the table's version at its commit_ts. ``table``: ``schema.name``, needed if the catalog has more than
        one. Raises the :class:`~ticdc_emit.errors.RowError` family for the first bad row in order, with all in its
        ``bad_rows``; nothing of the batch is returned. Raises :class:`~ticdc_emit.errors.SchemaError` for an unknown
        table or column, and the :class:`~ticdc_emit.errors.RegistryError` family.
        """
        if self._keys is not None and is_tabular(changes):
            self._declare(changes, table, self._keys)
        planned = self._planned(table)
        self.skipped = []
        if not any(planned.encoders):  # the rules leave the table out
            count = changes_table(changes).num_rows if is_tabular(changes) else len(list(changes))
            if count:
                self.filtered[planned.left_out[-1].reason] += count
            return control_batch([])
        name = planned.schema, planned.name
        given: ArrowRows | MappedRows
        if is_tabular(changes):  # what can be read once only is kept, for the search for bad rows
            changes = changes if isinstance(changes, pa.RecordBatch) else changes_table(changes)
            refuse_plain_rows(changes.schema.names, planned.full_name)
            normal = normal_form if isinstance(changes, pa.RecordBatch) else _one_batch
            rows = with_places(normal(changes, planned.full_name))
            given = ArrowRows(rows, name)
        else:
            if isinstance(changes, Iterable):
                changes = list(changes)
                if changes and isinstance(changes[0], Mapping):
                    refuse_plain_rows(changes[0], planned.full_name)
            zone = self.config.time_zone
            given = MappedRows(changes, name, lambda some: with_places(rows_to_batch(some, planned, zone)))
        try:
            return self._encoded(given.rows if isinstance(given, ArrowRows) else given.read(given.rows), planned)
        except RowError:
            task = EncodeTask(self.plan, "any", None, Buckets((), 1), name)
            sound, refused = task.separated(given, placed=True)
            if not refused:
                raise
            if self._bad_rows == "refuse":
                refusals = Refusals()
                refusals.add(refused)
                raise refusals.error() from None
        self.skipped = skipped_rows(sorted(refused, key=lambda each: each.order))
        return self._encoded(given.some(sound), planned)

    def _declare(self, changes: Any, table: str | None, keys: Keys) -> None:
        known = self.catalog.histories()
        if (table is None and known) or (table is not None and schema_and_name(table, []) in known):
            return
        text = schema_of_changes({table: changes}, keys_of(keys, table), keyless=self.config.force_replicate)
        database = schema_and_name(table, [])[0]
        is_new = database.lower() not in map(str.lower, self.catalog.databases())
        for statement in ([f"CREATE DATABASE {quoted(database)}"] if is_new else []) + [text]:
            self._replication.verdicts(self.catalog.apply(statement), _BEFORE_ALL)
        verify_tables(self.config, self.catalog.tables())
        self.plan = self._make_plan()

    def _encoded(self, changes: pa.RecordBatch, planned: TablePlan) -> pa.RecordBatch:
        sorter = RowSorter(self.plan, (planned.schema, planned.name), "any", None, whole=True)
        made = [control_batch([])]
        for whole in sorter.sort(changes):
            stamps = whole.commit_ts
            if not self._told_early:
                self._told_early = warn_unlikely(stamps[0].as_py()) or warn_unlikely(stamps[-1].as_py())
            self.plan = self._registrar.register_rows(self.plan, planned, needed_by(whole.batch, planned))
            tables = self.plan.table(planned.schema, planned.name)
            (rows,) = encode_batches([replace(whole, tables=tables)], self.plan)
            if rows.encoded.claims:
                assert self._claims is not None
                self._claims.put([claim for _, claim in rows.encoded.claims])
            places, numbers = np.divmod(rows.codes, MOST_PARTITIONS)
            cuts = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), len(places)]
            for start, end in pairwise(cuts):
                encoded, own_stamps = (each.slice(start, end - start) for each in (rows.encoded, stamps))
                partitions = pa.array(numbers[start:end], pa.int32())
                made.append(packed_messages(encoded, rows.topics[places[start]], partitions, own_stamps, self.plan))
        self.filtered += sorter.kept_back
        return pa.concat_batches(made)

    def _planned(self, table: str | None) -> TablePlan:
        live = [(info.schema, info.name) for info in self.catalog.tables() if not info.is_view]
        planned = self.plan.table(*schema_and_name(table, live or list(self.plan.tables)))
        planned.refuse_keyless()
        if not any(planned.encoders) and not planned.left_out:
            raise SchemaError("a view cannot have row changes", remedy="Name a table", table=planned.full_name)
        return planned

    def ddl(self, query: str, commit_ts: int, *, schema: str | None = None) -> pa.RecordBatch:
        """Apply a DDL statement to the catalog and return its messages, if TiCDC sends it; rows after ``commit_ts`` see
        it. Raises :class:`~ticdc_emit.errors.DdlError`, :class:`~ticdc_emit.errors.InvalidValueError`.
        """
        if not isinstance(query, str):
            raise DdlError(
                f"a DDL statement is text, not {type(query).__name__}", remedy="Give it as str", statement=repr(query)
            )
        commit_ts = check_tso(commit_ts, statement=query)
        if self._session is None:
            applied = self.catalog.apply(query, schema=schema, commit_ts=commit_ts)
        else:
            applied = self._session.apply(query, commit_ts, schema=schema)
            self.catalog = self._session.database.catalog
        return self._sent(applied, commit_ts)

    def _sent(self, applied: Iterable[DdlEvent], commit_ts: int) -> pa.RecordBatch:
        events = self._sent_ddl.to_send(self._sent_ddl.verdicts(self._replication, applied, commit_ts))
        self._ddl += events
        self.plan = self._make_plan()
        return pa.concat_batches([control_batch([]), *(self.ddl_messages(event) for event in events)])

    def execute(self, sql: str, *, start: int | dt.datetime | None = None) -> pa.RecordBatch:
        """Execute SQL over rows that the encoder keeps, and return the messages of what it commits, in order.

        ``sql``: statements of TiDB, also DDL, BEGIN and COMMIT (docs/change-scripts.md); a transaction may go on in the
        next call. The rows are those of all calls before, without those of :meth:`encode`. ``start``: a TSO or an aware
        datetime, the time of the first statement; each further one is a second later. By default the first call begins
        with 2024, each later one where the last one ended. Raises :class:`~ticdc_emit.errors.StatementError` for what
        fails in TiDB, :class:`~ticdc_emit.errors.UnsupportedStatementError` for what is not executed here, and the
        errors of :meth:`ddl` and :meth:`encode`. Statements before it are done; the error's ``messages`` are those of
        what they committed, and no later call returns them.
        """
        if self._session is None or start is not None:
            first = DEFAULT_START if start is None else tso_of(start, "start")
            if self._session is None:
                self._session = Session(Database(self.catalog, self.config.time_zone), start=first)
            else:
                self._session.continue_at(first)
        committed: list[Transaction | AppliedDdl] = []
        made, failure = [control_batch([])], None
        try:
            for result in self._session.run(sql):
                committed += result.committed
        except TicdcEmitError as error:
            failure = error
        finally:
            self.catalog = self._session.database.catalog
        try:
            for batch in self._messages_of(committed):
                made.append(batch)
        except TicdcEmitError as error:
            failure = error
        messages = pa.concat_batches(made)
        if failure is not None:
            failure.messages = messages
            raise failure
        return messages

    def _messages_of(self, committed: Iterable[Transaction | AppliedDdl]) -> Iterator[pa.RecordBatch]:
        """Yield the messages of transactions and DDL; transactions of one table alone are encoded together."""
        table, rows = "", list[Mapping[str, Any]]()
        for each in committed:
            by_table: dict[str, list[Mapping[str, Any]]] = {}
            for change in each.changes if isinstance(each, Transaction) else ():
                by_table.setdefault(f"{change['schema']}.{change['table']}", []).append(change)
            if rows and list(by_table) != [table]:
                yield self.encode(rows, table)
                rows = []
            if isinstance(each, AppliedDdl):
                yield self._sent(each.events, each.commit_ts)
            elif len(by_table) == 1:
                (table,) = by_table
                rows += by_table[table]
            else:
                for name in sorted(by_table, key=lambda name: self.plan.places[schema_and_name(name, [])]):
                    yield self.encode(by_table[name], name)
        if rows:
            yield self.encode(rows, table)

    def ddl_messages(self, event: DdlEvent) -> pa.RecordBatch:
        """Return the messages of a DDL that the catalog has applied already."""
        self.plan = self._registrar.register_controls(self.plan, [event])
        return control_batch(ControlEncoder(self.plan).messages(event))

    def watermark(self, ts: int) -> pa.RecordBatch:
        """Return the watermark messages for the TSO ``ts``, one per partition; empty if the protocol sends none. Raises
        :class:`~ticdc_emit.errors.InvalidValueError`.
        """
        ts = check_tso(ts, watermark=repr(ts))
        self.plan = self._registrar.register_controls(self.plan, [None])
        return control_batch(ControlEncoder(self.plan).messages(Watermark(ts)))

    def bootstrap(self, table: str | None = None, *, at_ms: int = 0) -> pa.RecordBatch:
        """Return the BOOTSTRAP messages of a table as it is now, one per partition; empty if the protocol has none.
        They come among the rows, with empty keys. ``at_ms``: their build time, unless ``build_ts`` is given.
        """
        planned = self._planned(table)
        info = planned.newest
        targets = self.plan.router.targets(planned.topic)
        return control_batch(ControlEncoder(self.plan).messages(Bootstrap(info.id, info, targets, at_ms, "tick")))


def _one_batch(rows: pa.Table, name: str) -> pa.RecordBatch:
    """Return a table as one batch in normal form, which, unlike views, Arrow can put together."""
    batches, count = [], 0
    for batch in rows.to_batches() or [pa.RecordBatch.from_pylist([], schema=rows.schema)]:
        batches.append(normal_form(batch, name, count))
        count += batch.num_rows
    try:
        return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    except pa.ArrowInvalid as fault:
        raise BatchTooLargeError(
            f"{rows.num_rows} rows do not fit one Arrow batch: {fault}",
            remedy="Encode fewer rows at a time",
            table=name,
        ) from None
