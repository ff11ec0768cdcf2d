"""What differs between releases of TiCDC, as independent switches: one record for each part that reads them.

The defaults are those of ``classic``. A comment names the changes that made the difference (T: pingcap/tiflow, C:
pingcap/ticdc). Code reads a switch, never a release's name. Rule source: the tags of both repositories, side by side.
``classic`` is pingcap/tiflow c7b2588, ``next`` pingcap/ticdc b813e76; ``master`` has what came after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from ticdc_emit.errors import ReleaseDefectError

LINEAGES = {
    "classic": ("7.5.7", "8.1.2", *(f"8.5.{patch}" for patch in range(8)), "classic"),
    "next": (
        *("8.5.4-release.1", "8.5.4", "8.5.5", "8.5.6", "8.5.7", "8.5.8"),
        *("26.3.1", "26.3.2", "26.3.3", "26.3.4", "next", "master"),
    ),
}
"""The versions of each lineage, the oldest of each line first; those that go on have a name."""
RELEASE_NAMES = {
    version if version.isalpha() else f"{lineage}-{version}": (lineage, version)
    for lineage, versions in LINEAGES.items()
    for version in versions
}
"""The lineage and the version of each release by its name."""
_T = TypeVar("_T")
_AS_CLASSIC = object()


def since(oldest: _T, later: Mapping[str, _T] | None = None, *, next: Any = _AS_CLASSIC) -> _T:
    """Declare a switch: its value in the oldest ``classic``, and ``later`` values by the version since which it is so.
    ``next``: the value in the other lineage, or those by version, first the newest of ``classic`` or an ``oldest`` one.
    """
    in_next = {} if next is _AS_CLASSIC else next if isinstance(next, Mapping) else {"oldest": next}
    changes = {"classic": later or {}, "next": in_next}
    value, by_release = oldest, {}
    for name, (lineage, version) in RELEASE_NAMES.items():
        if version == LINEAGES[lineage][0]:
            value = changes[lineage].get("oldest", value)
        value = by_release[name] = changes[lineage].get(version, value)
    return _by_release(by_release)


def _by_release(values: Mapping[str, _T]) -> _T:
    return field(default=values["classic"], metadata={"by release": values})


@dataclass(frozen=True)
class Defect:
    """An input at which some releases crash or fail. ``gone``: the releases from which on it works. ``cause``: a clause
    that "in" goes on: "a DELETE of a table with a key crashes".
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


_DROPPED = Defect("a Debezium row with dropped columns crashes", "8.1.2 to 8.5.2", "classic-8.5.3")
_VECTORS = Defect("comparing a VECTOR crashes", "8.5.0 to 8.5.7", "classic")
_NULL_TEXT = Defect("a nullable text, ENUM or SET column with DEFAULT 'null' fails", "8.1.2 to 8.5.1", "classic-8.5.2")
_NULL_LABELS = Defect(
    "a Debezium row with NULL in an ENUM or SET with a DEFAULT fails", "8.5.1 to 8.5.4", "classic-8.5.5"
)
_NOT_NULL = Defect(
    "with avro-enable-watermark a DELETE fails if a column that is not of the key is NOT NULL without DEFAULT",
    "26.3.4",
    "next",
)
_DELETES = Defect(
    "a DELETE of a table with a key crashes", "8.5.4 to 8.5.6, 26.3.1 to 26.3.3", "next-8.5.7, next-26.3.4"
)


@dataclass(frozen=True)
class CanalJsonSwitches:
    """The switches of ``protocols/canal_json/encoder``."""

    empty_mysql_type: Literal["object", "null"] = since(
        "object", next={"8.5.7": "null", "26.3.1": "object", "next": "null"}
    )
    """``mysqlType`` of a message without columns: ``{}`` or ``null``."""
    pk_names: Literal["selected", "whole"] = since("selected", next="whole")
    """``pkNames`` where a column selector drops a column of the primary key."""
    selected_updates: Literal["failing", "compared"] = since("failing", next="compared")
    """``only-output-updated-columns`` where a column selector drops columns: TiCDC crashes, or compares the others."""
    compared_values: Literal["number", "text"] = since("number", next="text")
    """With ``only-output-updated-columns``: whether -0 and 0 in a FLOAT, DOUBLE or VECTOR are equal, as numbers, or a
    change, as texts.
    """
    compared_vectors: Defect | None = since(None, {"8.5.0": _VECTORS, "classic": None})  # T#11895
    """An UPDATE of a table with a VECTOR column, with ``only-output-updated-columns``."""
    null_text: Literal["text", "null"] = since("text", next={"oldest": "null", "8.5.5": "text"})  # C#3959
    """A text, binary or JSON value that reads ``null``: a string, or JSON's null."""
    unselected_before: Literal["left-out", "empty"] = since(
        "left-out", next={"oldest": "empty", "8.5.5": "left-out"}
    )  # C#3959
    """What ``old`` of an UPDATE shows of the columns that a column selector drops: nothing, or an empty text."""


@dataclass(frozen=True)
class AvroSwitches:
    """The switches of ``protocols/avro/encoder`` and of the registration of its schemas."""

    key_columns: Literal["handle-key", "primary-key"] = since("handle-key", next="primary-key")
    """The columns of keys. With ``primary-key``, a table whose handle key is a unique index has no keys."""
    bit_bytes: Literal["minimal", "fixed"] = since("minimal", next="fixed")
    """The length of BIT values: as few bytes as the value needs, or as many as the column has."""
    virtual_columns: Literal["left-out", "null"] = since("left-out", next="null")
    """Virtual columns, also hidden ones, are missing from values, or always ``null``: then rows fail if one is NOT
    NULL.
    """
    vector_default: Literal["refused", "shown"] = since("refused", next="shown")
    """The DEFAULT of a VECTOR column in schemas."""
    empty_keys: Literal["none", "failing"] = since("none", next="failing")
    """A table whose primary key is dropped by a column selector: its messages have no keys, or its rows fail."""
    registered_with: Literal["version", "update-ts"] = since("version", next="update-ts")
    """When TiCDC registers a table's schemas again: after each DDL, or only after one that changes the table's
    definition.
    """
    deleted_value: Literal["none", "commit-ts"] | Defect = since(
        "none", next={"8.5.7": "commit-ts", "26.3.1": "none", "26.3.4": _NOT_NULL, "next": "commit-ts"}
    )  # C#5302, C#5590
    """With ``avro-enable-watermark``, the value of a delete: none, a byte 3 and its commit_ts, or (``Defect``) a record
    of its key, in the schema of the table's values with the DEFAULT of each other column. If a delete is the first row
    of a version of the table, that schema has only the columns of the key, also for the rows after it.
    """
    keyed_deletes: Defect | None = since(
        None, next={"oldest": _DELETES, "8.5.7": None, "26.3.1": _DELETES, "26.3.4": None}
    )  # C#5302, C#5590
    """A DELETE of a table that has keys."""
    null_default: Literal["value-first", "null-first"] = since(
        "null-first", {"8.1.2": "value-first", "8.5.2": "null-first", "classic": "value-first"}
    )  # T#12191, T#11995, T#12006
    """The order of the union of a nullable text, ENUM or SET column whose DEFAULT is the text ``null``."""
    null_text_default: Defect | None = since(None, {"8.1.2": _NULL_TEXT, "8.5.2": None})  # T#11995, T#12006
    """A table with a nullable text, ENUM or SET column whose DEFAULT is the text ``null``."""


@dataclass(frozen=True)
class SimpleSwitches:
    """The switches of ``protocols/simple/encoder``."""

    column_order: Literal["id", "table"] = since("id", next="table")
    """The order of a table schema's columns."""
    pre_table_schema: Literal["all", "exchange-partition"] = since("all", next="exchange-partition")
    """Which DDL messages contain the previous schema."""
    exchange_partition: Literal["QUERY", "ALTER"] = since("QUERY", next="ALTER")
    """The type of EXCHANGE PARTITION."""
    avro_bit: Literal["long", "string"] = since("long", next="string")
    """In Avro: the branch of BIT values."""
    avro_timestamp_decimal: bool = since(False, next=True)
    """In Avro: whether the data type of a TIMESTAMP shows its fsp."""
    floats: Literal["plain", "exponent"] = since("plain", next={"oldest": "exponent", "8.5.6": "plain"})  # C#3973
    """In JSON: FLOAT and DOUBLE without an exponent, or with one below 0.0001 and from 1000000 on."""


@dataclass(frozen=True)
class DebeziumSwitches:
    """The switches of ``protocols/debezium/encoder``."""

    keys: bool = since(False, {"8.5.0": True})  # T#11649
    """Whether rows have keys."""
    tidb_types: bool = since(False, {"classic": True})  # T#12061, T#11674
    """With ``enable-tidb-extension``: whether the schema of rows shows the type of each column in TiDB. Without, a
    column whose DEFAULT TiCDC cannot read is missing in the schema; with, it is an empty object.
    """
    names: Literal["sanitized", "as-given"] = since("as-given", {"8.5.0": "sanitized"})
    """The names of schemas: with ``_`` for what Kafka Connect does not allow, or as the tables are named."""
    declared_floats: Literal["double", "float"] = since("float", {"8.5.1": "double"})  # T#11976
    """The type of FLOAT(M,D)."""
    defaults: Literal["converted", "stored", "none"] = since(
        "none", {"8.5.0": "stored", "8.5.1": "converted"}
    )  # T#11976
    """The ``default`` of a field: as a value of the field; as TiDB stores it, and missing for DATE and TIME; or always
    missing.
    """
    exact_defaults: bool = since(False, next={"master": True})  # C#6263
    """With ``converted`` defaults: whether that of a signed BIGINT has all digits and that of binary data is encoded as
    values are, or they are a double and a text.
    """
    null_values: Literal["default", "null"] = since("null", {"8.5.1": "default"})  # T#11976
    """NULL in a column with a DEFAULT: that default, or ``null``."""
    null_labels: Literal["default", "empty"] = since("default", next={"oldest": "empty", "8.5.5": "default"})  # C#3798
    """NULL in an ENUM or SET column with a DEFAULT: the text of the default, or an empty text."""
    null_label_defaults: Defect | None = since(None, {"8.5.1": _NULL_LABELS, "8.5.5": None})  # T#12475, T#11976
    """NULL in an ENUM or SET column with a DEFAULT."""
    long_binary_default: Literal["refused", "shown"] = since("shown", {"classic": "refused"})  # T#12061, T#11674
    """NULL in a binary column with a DEFAULT of more than 2 bytes: TiCDC crashes, or shows it in base64 and as text."""
    allowed_labels: Literal["escaped", "joined"] = since("joined", {"8.5.0": "escaped"})
    """A label with a comma in the ``allowed`` parameter of ENUM: with the comma escaped, or as it is."""
    early_timestamps: Literal["epoch", "as-given"] = since("as-given", {"8.5.1": "epoch"})  # T#11976
    """A TIMESTAMP that is zero or before 1970 on the changefeed's clocks: the epoch without a fraction; or as it is in
    UTC, and a zero one ``null`` (NOT NULL: the epoch with the column's fraction).
    """
    short_years: Literal["completed", "as-given"] = since("as-given", {"8.5.1": "completed"})  # T#11976
    """A date whose year is below 100: of the 20th or 21st century, or as it is."""
    selected_rows: Defect | None = since(_DROPPED, {"8.5.3": None})  # T#12210
    """A row of a table of which a column selector drops columns."""
    source_schema: Literal["plain", "extended"] = since("plain", next={"26.3.3": "extended"})  # C#5475
    """With ``enable-tidb-extension``: whether the schema of ``source`` has fields ``commit_ts`` and ``cluster_id``."""
    virtual_columns: Literal["last", "twice", "left-out"] = since(
        "left-out", {"8.5.1": "last"}, next="twice"
    )  # T#11976
    """The schema of rows has virtual columns after the others, or (``twice``) in their place and after the others, or
    not.
    """
    key_columns: Literal["selected", "whole"] = since("selected", next="whole")
    """The columns of keys if a column selector drops a column of the handle key."""
    partly_zero: Literal["refused", "null"] = since("null", {"8.5.1": "refused"}, next="null")  # T#11976
    """A DATETIME with a zero month or day: refused, or ``null`` (0 where the column is NOT NULL)."""
    null_default: Literal["text", "value"] = since("text", next="value")
    """How the DEFAULT that replaces NULL is read: as its text, or as the value that TiDB's types give it."""


@dataclass(frozen=True)
class OpenSwitches:
    """The switches of ``protocols/open_protocol/encoder``."""

    json: Literal["encoding/json", "json-iterator"] = since("encoding/json", next="json-iterator")
    """The library that escapes texts and prints floats."""
    column_order: Literal["name", "table"] = since("name", next="table")
    """The order of a row's columns: bytewise by name, or as in the table."""
    row_ids: bool = since(True, next=False)
    """Whether keys contain the handle of a row if it is an integer."""
    partition: Literal["before-type", "last"] = since("before-type", next="last")
    """Where a key has the id of the row's partition."""
    claims: Literal["plain", "flagged"] = since("plain", next="flagged")
    """Whether a key with the location of a stored message also has ``ohk``, twice: true and false."""
    empty_names: Literal["left-out", "shown"] = since("left-out", next="shown")
    """The name of the table in the DDL of a database."""
    empty_before: Literal["left-out", "shown"] = since("left-out", next="shown")
    """With ``only-output-updated-columns``: what was before an update that changes no column."""
    nulled_columns: Literal["named", "nameless"] = since("named", next="nameless")
    """With ``only-output-updated-columns``: what was before in a column that is NULL now has its name, or lost it."""
    compared_vectors: Literal["text", "number"] = since("text", next="number")
    """Whether -0 and 0 in a VECTOR are a change."""
    generated_columns: Literal["marked", "unmarked"] = since("marked", next="unmarked")
    """Whether the flags of stored generated columns say of which indexes they are, or only what TiDB itself marks."""
    zerofill_flag: bool = since(True, {"8.1.2": False})
    """Whether the flags of ZEROFILL and YEAR columns have TiDB's flag for that, 256."""
    before_values: Literal["values", "raw"] = since(
        "values", next={"oldest": "raw", "8.5.6": "values"}
    )  # C#3973, C#4249
    """With ``only-output-updated-columns``, what was before in a changed column: its value with TiCDC's flags, or with
    MySQL's flags, ``null`` for an empty or zero value and nothing for BIT.
    """
    time_fraction: bool = since(True, next={"oldest": False, "8.5.6": True})  # C#3973, C#4249
    """Whether TIME shows its fraction of a second."""


@dataclass(frozen=True)
class CsvSwitches:
    """The switches of ``protocols/csv/encoder``."""

    handle_keys: Literal["shown", "left-out"] = since("shown", next="left-out")
    """With ``output-handle-key``: whether rows show the handle of the row in TiKV, or nothing."""


@dataclass(frozen=True)
class StorageSwitches:
    """The switches of ``storage/``: the files of a storage sink."""

    order: Literal["index-first", "data-first"] = since("index-first", next={"8.5.5": "data-first"})
    """Which file of a table's rows is written first: the index that names the data file, or the data file."""
    numbers: Literal["from-index", "free"] = since("from-index", next="free")
    """The number of the next data file: counted, from what the index names at the start, so that files may be
    overwritten; or the next one that no file has.
    """
    newer_schemas: Literal["used", "rows-discarded"] = since("used", next="rows-discarded")
    """Rows of an older version than a schema file with the same columns: go to the folder of that version, or are
    discarded.
    """
    labels: bool = since(False, next={"8.5.5": True})
    """Whether schema files show the labels of ENUM and SET."""
    empty_schemas: Literal["refused", "null"] = since("refused", next="null")
    """The DDL of a table without columns."""
    column_selectors: bool = since(False, next={"26.3.4": True})  # C#5595
    """Whether column selectors drop columns of rows."""
    dispatcher_ids: bool = since(False, next={"8.5.6": True})
    """With ``enable-table-across-nodes``: whether names of files contain the id of their dispatcher."""


_OPTIONS = {
    "classic-7.5.7 classic-8.1.2": "filter.do-dbs filter.do-tables filter.ignore-dbs filter.ignore-tables",
    "classic-7.5.7 next-8.5.6": "open.output-old-value",
    "classic-8.1.2 next-8.5.4-release.1": "debezium-disable-schema debezium.output-old-value",
    "classic-8.5.0 next-8.5.4-release.1": "claim-check-raw-value",
    "classic-8.5.7 next-8.5.7 next-26.3.1 next": "max-retry",
    "classic next-8.5.4-release.1": "csv.output-field-header",
    "next-8.5.4-release.1": "output-row-key",
    "next-8.5.7": "use-table-id-as-path",
    "next-8.5.7 next-26.3.1 next-26.3.4": "spool-base-dir spool-disk-quota",
    "next-8.5.7 next-26.3.1 next": "target-schema target-table",
    "next": """avro-include-before-value debezium-include-start-ts debezium.include-start-ts
        ignore-update-only-columns""",
    "master": """debezium-bigint-unsigned-handling-mode debezium-binary-handling-mode debezium-decimal-handling-mode
        debezium.bigint-unsigned-handling-mode debezium.binary-handling-mode debezium.decimal-handling-mode
        simple-include-start-ts simple.include-start-ts""",
}
"""Options that not all releases know: the releases at which they become known, unknown, known ..."""


def _unknown_options(release: str) -> frozenset[str]:
    lineage, version = RELEASE_NAMES[release]
    until = LINEAGES[lineage].index(version)
    older = {name for name, (of, each) in RELEASE_NAMES.items() if of == lineage and each in LINEAGES[of][: until + 1]}
    rows = (options for changes, options in _OPTIONS.items() if not sum(each in older for each in changes.split()) % 2)
    return frozenset(" ".join(rows).split())


@dataclass(frozen=True)
class OptionSwitches:
    """The switches of the readers of sink URIs and changefeed files."""

    unknown: frozenset[str] = _by_release({name: _unknown_options(name) for name in RELEASE_NAMES})
    """Options that are ignored as unknown ones. If several tables have an option of a name, its table is before it."""
    unknown_protocols: frozenset[str] = since(
        frozenset({"debezium", "debezium-avro"}),
        {"8.1.2": frozenset({"debezium-avro"})},
        next={
            "oldest": frozenset({"canal", "craft", "csv", "debezium-avro", "maxwell"}),
            "26.3.3": frozenset({"canal", "craft", "csv", "maxwell"}),
        },
    )  # C#5475, C#5551
    """Protocols that are refused as unknown ones."""
    rows_only: frozenset[str] = since(frozenset({"debezium"}), {"classic": frozenset()})  # T#11674, T#11877
    """Protocols that send neither DDL nor watermarks."""
    other_large_message_options: Literal["accepted", "refused"] = since(
        "accepted", next={"8.5.8": "refused", "26.3.1": "accepted", "next": "refused"}
    )  # C#5772, C#5811
    """Another ``large-message-handle-option``: accepted, without effect, or refused."""
    forced_large_messages: Literal["refused", "accepted"] = since("refused", next="accepted")
    """``force-replicate`` together with a ``large-message-handle-option``."""
    forced_protocols: str = since("avro", next={"26.3.3": "avro or debezium-avro"})  # C#5551
    """How the refusal of ``force-replicate`` names the protocols."""
    debezium_registry: Literal["ignored", "refused"] = since("ignored", next={"26.3.3": "refused"})  # C#5475, C#5551
    """A schema registry for Debezium in JSON."""
    bad_parameter: Literal["as-mysql", "by-reader"] = since(
        "as-mysql", next={"8.5.8": "by-reader", "26.3.1": "as-mysql", "next": "by-reader"}
    )  # C#5772, C#5811
    """The refusal of a parameter's value that does not parse: with the code of MySQL's options, or with that of the
    part of TiCDC that reads it.
    """
    bad_delivery: Literal["own-codes", "one-code"] = since(
        "own-codes", next={"8.5.8": "one-code", "26.3.1": "own-codes", "next": "one-code"}
    )  # C#5772, C#5811
    """The refusals of delivery options: with a code for each, or all with that of Kafka's options."""
    zero_delivery: Literal["accepted", "refused"] = since(
        "accepted", next={"8.5.8": "refused", "26.3.1": "accepted", "next": "refused"}
    )  # C#5772, C#5811
    """A ``replication-factor`` or a timeout of 0 or less."""
    bad_size: Literal["named", "bare"] = since(
        "named", next={"8.5.8": "bare", "26.3.1": "named", "next": "bare"}
    )  # C#5772, C#5811
    """The refusal of a wrong size: with the code's own words before it, or without."""
    least_flush_ms: int = since(2000, next=100)
    """The least ``flush-interval`` of a storage sink in milliseconds; shorter ones are raised to it."""
    least_file_bytes: int = since(1048576, next=1024)
    """The least ``file-size`` of a storage sink in bytes; smaller ones are raised to it."""


@dataclass(frozen=True)
class RoutingSwitches:
    """The switches of dispatchers."""

    bad_topic: Literal["named", "bare", "kafka-config"] = since(
        "named",
        {"8.1.2": "bare", "8.5.0": "named"},
        next={"oldest": "named", "8.5.8": "kafka-config", "26.3.1": "named", "next": "kafka-config"},
    )  # T#11161, T#12234, T#11611, C#5811
    """The refusal of a topic expression: with the expression and a blank, without the expression, or with the code of
    Kafka's options.
    """
    hashed_null: bytes | None = since(b"null", next=None)
    """Dispatchers by value: the text that is hashed for NULL; ``None``: neither it nor the column's name is hashed."""
    hashed_fractions: bool = since(True, next={"oldest": False, "8.5.6": True})  # C#3973
    """Dispatchers by value: whether TIME is hashed with its fraction of a second."""
    hashed_offsets: Literal["table", "row"] = since("table", next="row")
    """Dispatchers by named columns: with ``table`` offsets, rows without virtual columns give the wrong value."""
    hashed_names: Literal["found", "given"] = since(
        "found", {"8.1.2": "given", "8.5.3": "found"}
    )  # T#12132, T#12236, T#12234, T#11611
    """Dispatchers by named columns: the name that is hashed is that of the column whose value was found, or the one in
    the dispatcher.
    """
    hashed_columns: Literal["selected", "all"] = since("selected", next="all")
    """Dispatchers by value: whether they see the columns that a column selector drops."""
    selected_keys: Literal["checked", "unchecked"] = since("checked", next="unchecked")
    """Whether rows are refused if a column selector leaves no complete key. Tables that exist at the start always
    are.
    """
    dispatcher_names: Literal["any-case", "exact-case"] = since(
        "any-case", {"8.1.2": "exact-case", "8.5.3": "any-case"}
    )  # T#12132, T#12236, T#12234, T#11611
    """Whether the columns and the index that a dispatcher names are matched without case."""
    virtual_dispatcher_columns: Literal["refused", "accepted"] = since("accepted", {"8.5.4": "refused"})  # T#12254
    """A dispatcher that names a virtual column: its rows fail, or it is treated like other columns."""
    missing_columns: Literal["each", "list"] = since("list", {"8.5.4": "each"})  # T#12254
    """The error for a column that a dispatcher names and the table lacks: with this column, or with all that it names.
    """
    failed_tables: Literal["name", "full-name"] = since("full-name", {"8.1.2": "name"})  # T#12234, T#11611
    """How the errors of dispatchers name the table of a row: without or with its database."""
    exchange_partition_topic: Literal["exchanged", "partitioned"] = since("exchanged", next="partitioned")
    """EXCHANGE PARTITION: whether it goes to the topic of the exchanged table or of the partitioned table."""
    placeholders: Literal["at-once", "one-by-one"] = since(
        "at-once", next={"oldest": "one-by-one", "master": "at-once"}
    )  # C#6259
    """Table routing: ``{table}`` inside the name of a database stays, or becomes the table's name."""
    target_rules: Literal["left-out", "obeyed"] = since(
        "left-out", next={"oldest": "obeyed", "master": "left-out"}
    )  # C#6259
    """A dispatcher with a target and no topic or partition: the next one that matches decides topic and partition, or
    the defaults apply.
    """
    view_names: Literal["tables", "all"] = since("tables", next={"oldest": "all", "master": "tables"})  # C#6259
    """Table routing of CREATE VIEW: only names of tables change, also before columns and ``*``; or also the names of
    WITH, and before a column only a table's name with its database.
    """


@dataclass(frozen=True)
class DeliverySwitches:
    """The switches of the size of messages."""

    message_limit: Literal["lowered", "topic"] = since("lowered", next={"next": "topic"})  # C#6010
    """The most bytes of one row's message: ``max-message-bytes``, lowered to what its topic takes; or what the topic
    takes, and ``max-message-bytes`` bounds only messages of several rows.
    """


@dataclass(frozen=True)
class ValueSwitches:
    """The switches of comparing values and of row checksums."""

    checksum_order: Literal["id", "table"] = since("id", next="table")
    """The order in which a row's checksum takes its columns: by column id, or as in the table."""
    compared_keys: Literal["text", "value"] = since("text", next="value")
    """How an update of a unique key is found: by text, in which NULL equals ``null``, or by value."""
    json_doubles: Literal["new", "old"] = since("old", {"8.5.2": "new"})  # T#12038
    """How JSON values show doubles. It is not known of every release, so ``[ticdc-emit] json_doubles`` sets it too."""
    checksum_version: Literal["row", "first-only"] = since("first-only", {"8.5.0": "row"})  # T#11523, T#11526
    """Which row checksums exist: all, or only those of version 1, which TiDB up to 8.3 writes."""
    column_defaults: Literal["default", "original"] = since(
        "default", {"8.1.2": "original", "8.5.2": "default"}
    )  # T#12038, T#12051
    """The DEFAULT of a column in schemas: its own, or, without one, what ADD COLUMN filled the rows with."""
    handle_key: Literal["primary-key", "joined"] = since(
        "primary-key", next={"oldest": "joined", "8.5.5": "primary-key"}
    )  # C#3564
    """The handle key that messages show if a unique key comes before a non-clustered primary key in the table: the
    primary key, or both.
    """


@dataclass(frozen=True)
class TransactionSwitches:
    """The switches of splitting and ordering updates."""

    split_order: Literal["by-kind", "inserts-last"] = since("by-kind", next="inserts-last")
    """The order of a transaction with a split update: deletes, updates, inserts; or unchanged, with the inserted halves
    last.
    """
    split_checksums: Literal["zero", "kept"] = since("zero", next="kept")
    """The checksums of the two halves of a split update."""
    filtered_updates: Literal["whole", "split"] = since("whole", next="split")
    """Filters see an update of a unique key before it is split, or its two halves."""


@dataclass(frozen=True)
class FilterSwitches:
    """The switches of ``routing`` and of the reader of ``[filter]``."""

    keyless_tables: Literal["until-keyed", "unseen"] = since("until-keyed", next="unseen")
    """Tables without a handle key are left out until they get one, or (``unseen``) until they are made anew with one;
    DROP is sent, or not.
    """
    virtual_keys: Literal["refused", "accepted"] = since(
        "refused", next={"8.5.6": "accepted", "26.3.1": "refused", "next": "accepted"}
    )  # C#4299
    """Whether a unique key over virtual columns is one for which a table is replicated, and may be the handle key."""
    event_matchers: Literal["sensitive", "as-rules"] = since("sensitive", next="as-rules")
    """Event filters match names with case, or as ``case-sensitive`` says of the rules."""
    ignored_text: Literal["given", "restored"] = since("given", next="restored")
    """Which text of a DDL ``ignore-sql`` searches: the original, or the one that TiCDC prints."""
    bad_ignore_sql: Literal["rule-dropped", "refused"] = since("rule-dropped", next="refused")
    """The effect of a wrong pattern in ``ignore-sql``: its event filter keeps only its expressions, or it is
    refused.
    """
    foreign_key_events: Literal["known", "failing"] = since("known", next="failing")
    """ADD and DROP FOREIGN KEY in an event filter: like any other DDL, or refused; then the DDL fails if a filter
    matches.
    """
    checked_expressions: Literal["at-start", "at-first-row"] = since("at-start", next="at-first-row")
    """When the columns of a filter's expressions are looked up in the tables that exist at the start."""
    ddl_left_out: frozenset[str] = since(
        frozenset({"add foreign key", "create tables", "drop foreign key"}),
        {"8.5.0": frozenset({"add foreign key", "drop foreign key"}), "8.5.4": frozenset()},
    )  # T#12329, T#11804
    """TiDB's actions that are not sent, beside those that no release sends. ``ignore-event`` does not know them."""
    system_schemas: frozenset[str] = since(
        frozenset(),
        {"8.5.0": frozenset({"lightning_task_info"}), "classic": frozenset({"lightning_task_info", "workload_schema"})},
    )  # T#12095
    """The databases that are never replicated, beside TiDB's own and TiCDC's."""
    bdr_ddl: Literal["of-primary", "none"] = since("none", {"8.1.2": "of-primary"})  # T#12287, T#11956
    """With ``bdr-mode``: the DDL of a primary cluster is sent, or none."""
    new_ids: Literal["checked", "unchecked"] = since(
        "checked", {"8.1.2": "unchecked", "8.5.0": "checked"}
    )  # T#12287, T#11956
    """TRUNCATE, PARTITION BY and REMOVE PARTITIONING, which give a table a new id: sent only if the table has a handle
    key, or always.
    """
    database_ddl: Literal["filtered", "sent"] = since("filtered", next={"oldest": "sent", "8.5.4": "filtered"})
    """The DDL of a database other than the system's: subject to rules and event filters, or always sent."""
    ignored_start_ts: Literal["discarded", "ignored"] = since(
        "discarded", {"8.1.2": "ignored", "8.5.4": "discarded"}
    )  # T#12287, T#11956
    """A DDL in ``ignore-txn-start-ts``: like one that the rules refuse, or applied to the tables, but not sent."""
    rename_names: Literal["old", "new"] = since("old", {"8.1.2": "new", "8.5.1": "old"})  # T#11956, T#12287
    """The names by which event filters find a RENAME."""
    event_kinds: Literal["by-action", "by-statement"] = since(
        "by-statement", {"8.1.2": "by-action"}
    )  # T#12287, T#11956
    """What ``ignore-event`` names: actions of TiDB, or only statements: then ALTER TABLE covers indexes and its RENAME,
    and no event filter finds RECOVER TABLE.
    """
    judged_ddl: Literal["by-snapshot", "by-store"] = since("by-snapshot", next="by-store")
    """What a DDL is applied to: the tables that the filter accepted so far, or the schema store, which has all
    tables.
    """


@dataclass(frozen=True)
class DdlSwitches:
    """The switches of DDL events and their texts."""

    renamed_schema: Literal["lower-case", "as-created"] = since("lower-case", next="as-created")
    """The database name of a table after a RENAME of one table, until its next DDL."""
    built_texts: Literal["by-owner", "by-store"] = since("by-owner", next="by-store")
    """Which DDL texts are rebuilt, and how: as by the changefeed's owner, or as by the schema store."""
    several_statements: bool = since(False, next=True)
    """Whether a text of several statements is printed, with ``;`` between."""
    watermarks: bool = since(True, next=False)
    """Whether a watermark follows each DDL at once."""
    view_texts: Literal["given", "stored"] = since(
        "given", next={"8.5.7": "stored", "26.3.1": "given", "next": "stored"}
    )  # C#5317, C#5316
    """CREATE VIEW and CREATE TABLE LIKE: as given, or with the stored SELECT and with the database of both tables."""
    quoted_names: Literal["doubled", "as-given"] = since(
        "doubled", next={"oldest": "as-given", "8.5.6": "doubled"}
    )  # C#4410, C#2884
    """A backtick in a name of a text that the schema store builds: doubled, or as it is. Classic stops there."""
    partition_names: Literal["kept", "stripped"] = since(
        "kept", next={"oldest": "stripped", "8.5.7": "kept"}
    )  # C#5317, C#5316
    """The partition in the schema store's text of EXCHANGE PARTITION: with its backticks, or without."""
    partition_table_id: Literal["table", "none"] = since(
        "table", next={"8.5.4": "none", "8.5.6": "table"}
    )  # C#4410, C#2884
    """The id of the table in the message of a DDL of its partitions: the table's, or 0."""
    surviving_partitions: Literal["new", "old"] = since("new", next={"oldest": "old", "next": "new"})  # C#5964
    """The version of a table that rows of untouched partitions have after a DDL of its other partitions."""
