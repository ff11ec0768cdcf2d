"""What differs between releases of TiCDC, as independent switches: one record for each part that reads them.

The defaults are those of ``classic``, pingcap/tiflow c7b2588. ``config/releases.py`` lists which release has which
values. Code reads a switch, never a release's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ticdc_emit.errors import ReleaseDefectError

__all__ = [
    "AvroSwitches",
    "CanalJsonSwitches",
    "CsvSwitches",
    "DdlSwitches",
    "DebeziumSwitches",
    "Defect",
    "DeliverySwitches",
    "FilterSwitches",
    "OpenSwitches",
    "OptionSwitches",
    "RoutingSwitches",
    "SimpleSwitches",
    "StorageSwitches",
    "TransactionSwitches",
    "ValueSwitches",
]


@dataclass(frozen=True)
class Defect:
    """An input at which some releases crash or fail. ``gone``: the releases from which on it works.

    ``cause`` says what fails as a clause that "in" goes on: "a DELETE of a table with a key crashes".
    """

    cause: str
    releases: str
    gone: str

    def error(self, **place: Any) -> ReleaseDefectError:
        """Return the error of a row that the release does not send; ``place`` names its table, column and row."""
        return ReleaseDefectError(
            f"{self.cause} in TiCDC {self.releases}",
            remedy=f"Set release to {self.gone.replace(', ', ' or ')} or newer, or leave the row out",
            releases=self.releases,
            **place,
        )


@dataclass(frozen=True)
class CanalJsonSwitches:
    """The switches of ``protocols/canal_json/encoder``."""

    empty_mysql_type: Literal["object", "null"] = "object"
    """``mysqlType`` of a message without columns: ``{}`` or ``null``."""
    pk_names: Literal["selected", "whole"] = "selected"
    """``pkNames`` where a column selector drops a column of the primary key."""
    selected_updates: Literal["failing", "compared"] = "failing"
    """``only-output-updated-columns`` where a column selector drops columns: TiCDC crashes, or compares the others."""
    compared_values: Literal["number", "text"] = "number"
    """With ``only-output-updated-columns``: whether -0 and 0 in a FLOAT, DOUBLE or VECTOR are equal, as numbers, or a
    change, as texts.
    """
    compared_vectors: Defect | None = None
    """An UPDATE of a table with a VECTOR column, with ``only-output-updated-columns``."""
    null_text: Literal["text", "null"] = "text"
    """A text, binary or JSON value that reads ``null``: a string, or JSON's null."""
    unselected_before: Literal["left-out", "empty"] = "left-out"
    """What ``old`` of an UPDATE shows of the columns that a column selector drops: nothing, or an empty text."""


@dataclass(frozen=True)
class AvroSwitches:
    """The switches of ``protocols/avro/encoder`` and of the registration of its schemas."""

    key_columns: Literal["handle-key", "primary-key"] = "handle-key"
    """The columns of keys. With ``primary-key``, a table whose handle key is a unique index has no keys."""
    bit_bytes: Literal["minimal", "fixed"] = "minimal"
    """The length of BIT values: as few bytes as the value needs, or as many as the column has."""
    virtual_columns: Literal["left-out", "null"] = "left-out"
    """Virtual columns, also hidden ones, are missing from values, or always ``null``: then rows fail if one is NOT
    NULL.
    """
    vector_default: Literal["refused", "shown"] = "refused"
    """The DEFAULT of a VECTOR column in schemas."""
    empty_keys: Literal["none", "failing"] = "none"
    """A table whose primary key is dropped by a column selector: its messages have no keys, or its rows fail."""
    registered_with: Literal["version", "update-ts"] = "version"
    """When TiCDC registers a table's schemas again: after each DDL, or only after one that changes the table's
    definition.
    """
    deleted_value: Literal["none", "commit-ts"] | Defect = "none"
    """With ``avro-enable-watermark``, the value of a delete: none, a byte 3 and its commit_ts, or (``Defect``) a record
    of its key, in the schema of the table's values with the DEFAULT of each other column. If a delete is the first row
    of a version of the table, that schema has only the columns of the key, also for the rows after it.
    """
    keyed_deletes: Defect | None = None
    """A DELETE of a table that has keys."""
    null_default: Literal["value-first", "null-first"] = "value-first"
    """The order of the union of a nullable text, ENUM or SET column whose DEFAULT is the text ``null``."""
    null_text_default: Defect | None = None
    """A table with a nullable text, ENUM or SET column whose DEFAULT is the text ``null``."""
    first_subject: Literal["key", "value"] = "key"
    """Which schema of a table is registered first."""
    size_limit: bool = True
    """Whether a message that is too large is refused, or sent as it is."""


@dataclass(frozen=True)
class SimpleSwitches:
    """The switches of ``protocols/simple/encoder``."""

    column_order: Literal["id", "table"] = "id"
    """The order of a table schema's columns."""
    pre_table_schema: Literal["all", "exchange-partition"] = "all"
    """Which DDL messages contain the previous schema."""
    exchange_partition: Literal["QUERY", "ALTER"] = "QUERY"
    """The type of EXCHANGE PARTITION."""
    avro_bit: Literal["long", "string"] = "long"
    """In Avro: the branch of BIT values."""
    avro_timestamp_decimal: bool = False
    """In Avro: whether the data type of a TIMESTAMP shows its fsp."""
    floats: Literal["plain", "exponent"] = "plain"
    """In JSON: FLOAT and DOUBLE without an exponent, or with one below 0.0001 and from 1000000 on."""


@dataclass(frozen=True)
class DebeziumSwitches:
    """The switches of ``protocols/debezium/encoder``."""

    keys: bool = True
    """Whether rows have keys."""
    tidb_types: bool = True
    """With ``enable-tidb-extension``: whether the schema of rows shows the type of each column in TiDB. Without, a
    column whose DEFAULT TiCDC cannot read is missing in the schema; with, it is an empty object.
    """
    names: Literal["sanitized", "as-given"] = "sanitized"
    """The names of schemas: with ``_`` for what Kafka Connect does not allow, or as the tables are named."""
    declared_floats: Literal["double", "float"] = "double"
    """The type of FLOAT(M,D)."""
    defaults: Literal["converted", "stored", "none"] = "converted"
    """The ``default`` of a field: as a value of the field; as TiDB stores it, and missing for DATE and TIME; or always
    missing.
    """
    exact_defaults: bool = False
    """With ``converted`` defaults: whether that of a signed BIGINT has all digits and that of binary data is encoded as
    values are, or they are a double and a text.
    """
    null_values: Literal["default", "null"] = "default"
    """NULL in a column with a DEFAULT: that default, or ``null``."""
    null_labels: Literal["default", "empty"] = "default"
    """NULL in an ENUM or SET column with a DEFAULT: the text of the default, or an empty text."""
    null_label_defaults: Defect | None = None
    """NULL in an ENUM or SET column with a DEFAULT."""
    long_binary_default: Literal["refused", "shown"] = "refused"
    """NULL in a binary column with a DEFAULT of more than 2 bytes: TiCDC crashes, or shows it in base64 and as text."""
    allowed_labels: Literal["escaped", "joined"] = "escaped"
    """A label with a comma in the ``allowed`` parameter of ENUM: with the comma escaped, or as it is."""
    early_timestamps: Literal["epoch", "as-given"] = "epoch"
    """A TIMESTAMP that is zero or before 1970 on the changefeed's clocks: the epoch without a fraction; or as it is in
    UTC, and a zero one ``null`` (NOT NULL: the epoch with the column's fraction).
    """
    short_years: Literal["completed", "as-given"] = "completed"
    """A date whose year is below 100: of the 20th or 21st century, or as it is."""
    selected_rows: Defect | None = None
    """A row of a table of which a column selector drops columns."""
    source_schema: Literal["plain", "extended"] = "plain"
    """With ``enable-tidb-extension``: whether the schema of ``source`` has fields ``commit_ts`` and ``cluster_id``."""
    virtual_columns: Literal["last", "twice", "left-out"] = "last"
    """The schema of rows has virtual columns after the others, or (``twice``) in their place and after the others, or
    not.
    """
    key_columns: Literal["selected", "whole"] = "selected"
    """The columns of keys if a column selector drops a column of the handle key."""
    partly_zero: Literal["refused", "null"] = "refused"
    """A DATETIME with a zero month or day: refused, or ``null`` (0 where the column is NOT NULL)."""
    null_default: Literal["text", "value"] = "text"
    """How the DEFAULT that replaces NULL is read: as its text, or as the value that TiDB's types give it."""


@dataclass(frozen=True)
class OpenSwitches:
    """The switches of ``protocols/open_protocol/encoder``."""

    json: Literal["encoding/json", "json-iterator"] = "encoding/json"
    """The library that escapes texts and prints floats."""
    column_order: Literal["name", "table"] = "name"
    """The order of a row's columns: bytewise by name, or as in the table."""
    row_ids: bool = True
    """Whether keys contain the handle of a row if it is an integer."""
    partition: Literal["before-type", "last"] = "before-type"
    """Where a key has the id of the row's partition."""
    claims: Literal["plain", "flagged"] = "plain"
    """Whether a key with the location of a stored message also has ``ohk``, twice: true and false."""
    empty_names: Literal["left-out", "shown"] = "left-out"
    """The name of the table in the DDL of a database."""
    empty_before: Literal["left-out", "shown"] = "left-out"
    """With ``only-output-updated-columns``: what was before an update that changes no column."""
    nulled_columns: Literal["named", "nameless"] = "named"
    """With ``only-output-updated-columns``: what was before in a column that is NULL now has its name, or lost it."""
    compared_vectors: Literal["text", "number"] = "text"
    """Whether -0 and 0 in a VECTOR are a change."""
    generated_columns: Literal["marked", "unmarked"] = "marked"
    """Whether the flags of stored generated columns say of which indexes they are, or only what TiDB itself marks."""
    zerofill_flag: bool = False
    """Whether the flags of ZEROFILL and YEAR columns have TiDB's flag for that, 256."""
    before_values: Literal["values", "raw"] = "values"
    """With ``only-output-updated-columns``, what was before in a changed column: its value with TiCDC's flags, or with
    MySQL's flags, ``null`` for an empty or zero value and nothing for BIT.
    """
    time_fraction: bool = True
    """Whether TIME shows its fraction of a second."""
    unknown_option_reduces: bool = False
    """A message that is too large, with a ``large-message-handle-option`` that the release does not know: whether it is
    reduced to its handle key, or sent as it is.
    """


@dataclass(frozen=True)
class CsvSwitches:
    """The switches of ``protocols/csv/encoder``."""

    handle_keys: Literal["shown", "left-out"] = "shown"
    """With ``output-handle-key``: whether rows show the handle of the row in TiKV, or nothing."""


@dataclass(frozen=True)
class StorageSwitches:
    """The switches of ``storage/``: the files of a storage sink."""

    order: Literal["index-first", "data-first"] = "index-first"
    """Which file of a table's rows is written first: the index that names the data file, or the data file."""
    numbers: Literal["from-index", "free"] = "from-index"
    """The number of the next data file: counted, from what the index names at the start, so that files may be
    overwritten; or the next one that no file has.
    """
    newer_schemas: Literal["used", "rows-discarded"] = "used"
    """Rows of an older version than a schema file with the same columns: go to the folder of that version, or are
    discarded.
    """
    versions: Literal["table", "dispatcher"] = "table"
    """The version of rows: of the table's last DDL, or of the last DDL since the sink started; never before its
    start.
    """
    labels: bool = False
    """Whether schema files show the labels of ENUM and SET."""
    flushed_by_ddl: Literal["all", "own-tables"] = "all"
    """Whose rows are written to files before a DDL: those of all tables, or those of the tables that it changes."""
    empty_schemas: Literal["refused", "null"] = "refused"
    """The DDL of a table without columns."""
    lower_checkpoints: Literal["written", "skipped"] = "written"
    """A checkpoint before the one that ``metadata`` has."""
    column_selectors: bool = False
    """Whether column selectors drop columns of rows."""
    dispatcher_ids: bool = False
    """With ``enable-table-across-nodes``: whether names of files contain the id of their dispatcher."""


@dataclass(frozen=True)
class OptionSwitches:
    """The switches of the readers of sink URIs and changefeed files.

    An option or protocol does not name the releases that know it: what a release lacks is one of its differences from
    its neighbour.
    """

    unknown: frozenset[str] = frozenset(
        {
            *("avro-include-before-value", "debezium-bigint-unsigned-handling-mode", "debezium-binary-handling-mode"),
            *("debezium-decimal-handling-mode", "debezium-include-start-ts"),
            *("debezium.bigint-unsigned-handling-mode", "debezium.binary-handling-mode"),
            *("debezium.decimal-handling-mode", "debezium.include-start-ts", "enable-old-value", "filter.do-dbs"),
            *("filter.do-tables", "filter.ignore-dbs", "filter.ignore-tables", "ignore-update-only-columns"),
            *("output-row-key", "simple-include-start-ts", "simple.include-start-ts", "spool-base-dir"),
            *("spool-disk-quota", "target-schema", "target-table", "use-table-id-as-path"),
        }
    )
    """Options that are ignored as unknown ones. If several tables have an option of a name, its table is before it."""
    unknown_protocols: frozenset[str] = frozenset({"debezium-avro"})
    """Protocols that are refused as unknown ones."""
    rows_only: frozenset[str] = frozenset()
    """Protocols that send neither DDL nor watermarks."""
    large_message_options: frozenset[str] = frozenset({"claim-check", "handle-key-only"})
    """The values of ``large-message-handle-option`` that have an effect."""
    other_large_message_options: Literal["accepted", "refused"] = "accepted"
    """Another ``large-message-handle-option``: accepted, without effect, or refused."""
    forced_large_messages: Literal["refused", "refused-by-option", "accepted"] = "refused"
    """``force-replicate`` together with a ``large-message-handle-option``; with ``refused-by-option``, only one that
    has an effect is refused, in other words.
    """
    forced_protocols: str = "avro"
    """How the refusal of ``force-replicate`` names the protocols; if it is empty, they are not refused."""
    debezium_registry: Literal["ignored", "refused"] = "ignored"
    """A schema registry for Debezium in JSON."""
    bad_parameter: Literal["as-mysql", "by-reader"] = "as-mysql"
    """The refusal of a parameter's value that does not parse: with the code of MySQL's options, or with that of the
    part of TiCDC that reads it.
    """
    bad_delivery: Literal["own-codes", "one-code"] = "own-codes"
    """The refusals of delivery options: with a code for each, or all with that of Kafka's options."""
    zero_delivery: Literal["accepted", "refused"] = "accepted"
    """A ``replication-factor`` or a timeout of 0 or less."""
    bad_size: Literal["named", "bare"] = "named"
    """The refusal of a wrong size: with the code's own words before it, or without."""
    least_flush_ms: int = 2_000
    """The least ``flush-interval`` of a storage sink in milliseconds; shorter ones are raised to it."""
    least_file_bytes: int = 1 << 20
    """The least ``file-size`` of a storage sink in bytes; smaller ones are raised to it."""


@dataclass(frozen=True)
class RoutingSwitches:
    """The switches of dispatchers."""

    bad_topic: Literal["named", "bare", "kafka-config"] = "named"
    """The refusal of a topic expression: with the expression and a blank, without the expression, or with the code of
    Kafka's options.
    """
    hashed_null: bytes | None = b"null"
    """Dispatchers by value: the text that is hashed for NULL; ``None``: neither it nor the column's name is hashed."""
    hashed_fractions: bool = True
    """Dispatchers by value: whether TIME is hashed with its fraction of a second."""
    hashed_offsets: Literal["table", "row"] = "table"
    """Dispatchers by named columns: with ``table`` offsets, rows without virtual columns give the wrong value."""
    hashed_names: Literal["found", "given"] = "found"
    """Dispatchers by named columns: the name that is hashed is that of the column whose value was found, or the one in
    the dispatcher.
    """
    hashed_columns: Literal["selected", "all"] = "selected"
    """Dispatchers by value: whether they see the columns that a column selector drops."""
    selected_keys: Literal["checked", "unchecked"] = "checked"
    """Whether rows are refused if a column selector leaves no complete key. Tables that exist at the start always
    are.
    """
    dispatcher_names: Literal["any-case", "exact-case"] = "any-case"
    """Whether the columns and the index that a dispatcher names are matched without case."""
    virtual_dispatcher_columns: Literal["refused", "accepted"] = "refused"
    """A dispatcher that names a virtual column: its rows fail, or it is treated like other columns."""
    missing_columns: Literal["each", "list"] = "each"
    """The error for a column that a dispatcher names and the table lacks: with this column, or with all that it names.
    """
    failed_tables: Literal["name", "full-name"] = "name"
    """How the errors of dispatchers name the table of a row: without or with its database."""
    exchange_partition_topic: Literal["exchanged", "partitioned"] = "exchanged"
    """EXCHANGE PARTITION: whether it goes to the topic of the exchanged table or of the partitioned table."""
    placeholders: Literal["at-once", "one-by-one"] = "at-once"
    """Table routing: ``{table}`` inside the name of a database stays, or becomes the table's name."""
    target_rules: Literal["left-out", "obeyed"] = "left-out"
    """A dispatcher with a target and no topic or partition: the next one that matches decides topic and partition, or
    the defaults apply.
    """
    view_names: Literal["tables", "all"] = "tables"
    """Table routing of CREATE VIEW: only names of tables change, also before columns and ``*``; or also the names of
    WITH, and before a column only a table's name with its database.
    """


@dataclass(frozen=True)
class DeliverySwitches:
    """The switches of the size of messages."""

    message_limit: Literal["lowered", "topic"] = "lowered"
    """The most bytes of one row's message: ``max-message-bytes``, lowered to what its topic takes; or what the topic
    takes, and ``max-message-bytes`` bounds only messages of several rows.
    """


@dataclass(frozen=True)
class ValueSwitches:
    """The switches of comparing values and of row checksums."""

    checksum_order: Literal["id", "table"] = "id"
    """The order in which a row's checksum takes its columns: by column id, or as in the table."""
    compared_keys: Literal["text", "value"] = "text"
    """How an update of a unique key is found: by text, in which NULL equals ``null``, or by value."""
    json_doubles: Literal["new", "old"] = "new"
    """How JSON values show doubles. It is not known of every release, so ``[ticdc-emit] json_doubles`` sets it too."""
    checksum_version: Literal["row", "first-only"] = "row"
    """Which row checksums exist: all, or only those of version 1, which TiDB up to 8.3 writes."""
    column_defaults: Literal["default", "original"] = "default"
    """The DEFAULT of a column in schemas: its own, or, without one, what ADD COLUMN filled the rows with."""
    handle_key: Literal["primary-key", "joined"] = "primary-key"
    """The handle key that messages show if a unique key comes before a non-clustered primary key in the table: the
    primary key, or both.
    """


@dataclass(frozen=True)
class TransactionSwitches:
    """The switches of splitting and ordering updates."""

    split_order: Literal["by-kind", "inserts-last"] = "by-kind"
    """The order of a transaction with a split update: deletes, updates, inserts; or unchanged, with the inserted halves
    last.
    """
    split_checksums: Literal["zero", "kept"] = "zero"
    """The checksums of the two halves of a split update."""
    filtered_updates: Literal["whole", "split"] = "whole"
    """Filters see an update of a unique key before it is split, or its two halves."""


@dataclass(frozen=True)
class FilterSwitches:
    """The switches of ``routing`` and of the reader of ``[filter]``."""

    keyless_tables: Literal["until-keyed", "unseen"] = "until-keyed"
    """Tables without a handle key are left out until they get one, or (``unseen``) until they are made anew with one;
    DROP is sent, or not.
    """
    virtual_keys: Literal["refused", "accepted"] = "refused"
    """Whether a unique key over virtual columns is one for which a table is replicated, and may be the handle key."""
    event_matchers: Literal["sensitive", "as-rules"] = "sensitive"
    """Event filters match names with case, or as ``case-sensitive`` says of the rules."""
    ignored_text: Literal["given", "restored"] = "given"
    """Which text of a DDL ``ignore-sql`` searches: the original, or the one that TiCDC prints."""
    bad_ignore_sql: Literal["rule-dropped", "refused"] = "rule-dropped"
    """The effect of a wrong pattern in ``ignore-sql``: its event filter keeps only its expressions, or it is
    refused.
    """
    foreign_key_events: Literal["known", "failing"] = "known"
    """ADD and DROP FOREIGN KEY in an event filter: like any other DDL, or refused; then the DDL fails if a filter
    matches.
    """
    checked_expressions: Literal["at-start", "at-first-row"] = "at-start"
    """When the columns of a filter's expressions are looked up in the tables that exist at the start."""
    ddl_left_out: frozenset[str] = frozenset()
    """TiDB's actions that are not sent, beside those that no release sends. ``ignore-event`` does not know them."""
    system_schemas: frozenset[str] = frozenset({"lightning_task_info", "workload_schema"})
    """The databases that are never replicated, beside TiDB's own and TiCDC's."""
    bdr_ddl: Literal["of-primary", "none"] = "of-primary"
    """With ``bdr-mode``: the DDL of a primary cluster is sent, or none."""
    new_ids: Literal["checked", "unchecked"] = "checked"
    """TRUNCATE, PARTITION BY and REMOVE PARTITIONING, which give a table a new id: sent only if the table has a handle
    key, or always.
    """
    database_ddl: Literal["filtered", "sent"] = "filtered"
    """The DDL of a database other than the system's: subject to rules and event filters, or always sent."""
    ignored_start_ts: Literal["discarded", "ignored"] = "discarded"
    """A DDL in ``ignore-txn-start-ts``: like one that the rules refuse, or applied to the tables, but not sent."""
    rename_names: Literal["old", "new"] = "old"
    """The names by which event filters find a RENAME."""
    event_kinds: Literal["by-action", "by-statement"] = "by-action"
    """What ``ignore-event`` names: actions of TiDB, or only statements: then ALTER TABLE covers indexes and its RENAME,
    and no event filter finds RECOVER TABLE.
    """
    judged_ddl: Literal["by-snapshot", "by-store"] = "by-snapshot"
    """What a DDL is applied to: the tables that the filter accepted so far, or the schema store, which has all
    tables.
    """


@dataclass(frozen=True)
class DdlSwitches:
    """The switches of DDL events and their texts."""

    renamed_schema: Literal["lower-case", "as-created"] = "lower-case"
    """The database name of a table after a RENAME of one table, until its next DDL."""
    built_texts: Literal["by-owner", "by-store"] = "by-owner"
    """Which DDL texts are rebuilt, and how: as by the changefeed's owner, or as by the schema store."""
    several_statements: bool = False
    """Whether a text of several statements is printed, with ``;`` between."""
    watermarks: bool = True
    """Whether a watermark follows each DDL at once."""
    view_texts: Literal["given", "stored"] = "given"
    """CREATE VIEW and CREATE TABLE LIKE: as given, or with the stored SELECT and with the database of both tables."""
    quoted_names: Literal["doubled", "as-given"] = "doubled"
    """A backtick in a name of a text that the schema store builds: doubled, or as it is. Classic stops there."""
    partition_names: Literal["kept", "stripped"] = "kept"
    """The partition in the schema store's text of EXCHANGE PARTITION: with its backticks, or without."""
    partition_table_id: Literal["table", "none"] = "table"
    """The id of the table in the message of a DDL of its partitions: the table's, or 0."""
    surviving_partitions: Literal["new", "old"] = "new"
    """The version of a table that rows of untouched partitions have after a DDL of its other partitions."""
