"""The places where TiCDC's two lineages differ, as independent switches: one record for each part that reads them.

The defaults are those of ``classic``; ``config/profiles.py`` states what ``next`` has otherwise. A switch enters
together with the code that reads it. Rule source: both lineages side by side, pingcap/tiflow c7b2588 and pingcap/ticdc
b813e76.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "AvroSwitches",
    "CanalJsonSwitches",
    "DdlSwitches",
    "DebeziumSwitches",
    "FilterSwitches",
    "OpenSwitches",
    "OptionSwitches",
    "RoutingSwitches",
    "SimpleSwitches",
    "TransactionSwitches",
    "ValueSwitches",
]


@dataclass(frozen=True)
class CanalJsonSwitches:
    """What ``protocols/canal_json`` reads."""

    empty_mysql_type: Literal["object", "null"] = "object"
    """``mysqlType`` of a message that shows no column: ``{}`` or ``null``."""
    pk_names: Literal["selected", "whole"] = "selected"
    """``pkNames`` where a column selector drops a column of the primary key."""
    selected_updates: Literal["failing", "compared"] = "failing"
    """``only-output-updated-columns`` where a column selector drops columns: TiCDC crashes, or compares the others."""


@dataclass(frozen=True)
class AvroSwitches:
    """What ``protocols/avro`` and the registration of its schemas read."""

    key_columns: Literal["handle-key", "primary-key"] = "handle-key"
    """What keys hold. A table whose handle key is a unique index has no keys with ``primary-key``."""
    bit_bytes: Literal["minimal", "fixed"] = "minimal"
    """BIT values in as few bytes as hold them, or in as many as the column has."""
    virtual_columns: Literal["left-out", "null"] = "left-out"
    """Virtual columns, hidden ones too, are in no value, or always ``null``: rows fail where one is NOT NULL."""
    vector_default: Literal["refused", "shown"] = "refused"
    """The DEFAULT of a VECTOR column in schemas."""
    empty_keys: Literal["none", "failing"] = "none"
    """The keys of a table whose primary key a column selector drops: there are none, or rows fail."""
    registered_with: Literal["version", "update-ts"] = "version"
    """What makes TiCDC register a table's schemas anew: each DDL, or each that changes the table's definition."""
    delete_mark: bool = False
    """With ``avro-enable-watermark``: whether the value of a delete is a byte 3 and its commit_ts."""


@dataclass(frozen=True)
class SimpleSwitches:
    """What ``protocols/simple`` reads."""

    column_order: Literal["id", "table"] = "id"
    """The order of a table schema's columns."""
    pre_table_schema: Literal["all", "exchange-partition"] = "all"
    """Which DDL messages show the schema before them."""
    exchange_partition: Literal["QUERY", "ALTER"] = "QUERY"
    """The type of EXCHANGE PARTITION."""
    avro_bit: Literal["long", "string"] = "long"
    """In Avro: the branch of BIT values."""
    avro_timestamp_decimal: bool = False
    """In Avro: whether the data type of a TIMESTAMP shows its fsp."""


@dataclass(frozen=True)
class DebeziumSwitches:
    """What ``protocols/debezium`` reads."""

    source_schema: Literal["plain", "extended"] = "plain"
    """With ``enable-tidb-extension``: whether the schema of ``source`` has fields ``commit_ts`` and ``cluster_id``."""
    virtual_columns: Literal["last", "twice"] = "last"
    """The schema of rows has virtual columns after the others, or (``twice``) in their place and after the others."""
    key_columns: Literal["selected", "whole"] = "selected"
    """What keys hold where a column selector drops a column of the handle key."""
    partly_zero: Literal["refused", "null"] = "refused"
    """A DATETIME with a zero month or day is refused, or ``null`` (0 where the column is NOT NULL)."""
    null_default: Literal["text", "value"] = "text"
    """How the DEFAULT is read that stands for NULL: its text, or the value that TiDB's types make of it."""


@dataclass(frozen=True)
class OpenSwitches:
    """What ``protocols/open_protocol`` reads."""

    json: Literal["encoding/json", "json-iterator"] = "encoding/json"
    """The library that escapes texts and prints floats."""
    column_order: Literal["name", "table"] = "name"
    """The order of a row's columns: bytewise by name, or as in the table."""
    row_ids: bool = True
    """Whether keys show the handle of a row where it is an integer."""
    partition: Literal["before-type", "last"] = "before-type"
    """Where a key shows the id of the row's partition."""
    claims: Literal["plain", "flagged"] = "plain"
    """Whether a key that says where the message is stored has ``ohk`` too, twice: true and false."""
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


@dataclass(frozen=True)
class OptionSwitches:
    """What the reading of sink URIs and changefeed files reads."""

    protocols: Literal["classic", "next"] = "classic"
    """Whose protocols there are: each says in its traits which lineages have it."""
    large_message_options: Literal["any", "known"] = "any"
    """Whether a ``large-message-handle-option`` of another name is accepted, and has no effect."""
    forced_large_messages: Literal["refused", "accepted"] = "refused"
    """``force-replicate`` together with a ``large-message-handle-option``."""
    forced_protocols: str = "avro"
    """How the refusal of ``force-replicate`` names the protocols."""
    debezium_registry: Literal["ignored", "refused"] = "ignored"
    """A schema registry for Debezium in JSON."""
    avro_include_before_value: bool = False
    """Whether ``avro-include-before-value`` is known."""
    output_row_key: bool = False
    """Whether ``output-row-key`` is known."""
    debezium_include_start_ts: bool = False
    """Whether ``debezium-include-start-ts`` is known."""
    dispatcher_targets: bool = False
    """Whether dispatchers have ``target-schema`` and ``target-table``, which this library refuses."""


@dataclass(frozen=True)
class RoutingSwitches:
    """What dispatchers read."""

    bad_topic: Literal["topic-expression", "kafka-config"] = "topic-expression"
    """The code and text of the refusal of a topic expression."""
    hashed_null: bytes | None = b"null"
    """Dispatchers by value: what is hashed of NULL; ``None``: neither it nor the column's name."""
    hashed_offsets: Literal["table", "row"] = "table"
    """Dispatchers by named columns: ``table`` offsets miss the right value of a row without virtual columns."""
    hashed_columns: Literal["selected", "all"] = "selected"
    """Dispatchers by value: whether they see the columns that a column selector drops."""
    selected_keys: Literal["checked", "unchecked"] = "checked"
    """Whether rows are refused where a column selector leaves no key whole. Tables at the start always are."""
    exchange_partition_topic: Literal["exchanged", "partitioned"] = "exchanged"
    """EXCHANGE PARTITION: whose topic it goes to, the exchanged table's or the partitioned table's."""


@dataclass(frozen=True)
class ValueSwitches:
    """What is read where values are compared and summed up."""

    checksum_order: Literal["id", "table"] = "id"
    """The order in which a row's checksum takes its columns: by column id, or as in the table."""
    compared_keys: Literal["text", "value"] = "text"
    """How an update of a unique key is found: by text, in which NULL equals ``null``, or by value."""


@dataclass(frozen=True)
class TransactionSwitches:
    """What is read where updates are split and ordered."""

    split_order: Literal["by-kind", "inserts-last"] = "by-kind"
    """A transaction with a split update: deletes, updates, inserts; or as it was, and the inserted halves last."""
    split_checksums: Literal["zero", "kept"] = "zero"
    """The checksums that the two halves of a split update show."""
    filtered_updates: Literal["whole", "split"] = "whole"
    """Filters see an update of a unique key before it is split, or its two halves."""


@dataclass(frozen=True)
class FilterSwitches:
    """What ``filtering`` and the reading of ``[filter]`` read."""

    keyless_tables: Literal["until-keyed", "unseen"] = "until-keyed"
    """Tables without a handle key are left out until they get one, or (``unseen``) for good; DROP is sent, or not."""
    virtual_keys: Literal["refused", "accepted"] = "refused"
    """Whether a unique key over virtual columns is one for which a table is replicated."""
    event_matchers: Literal["sensitive", "as-rules"] = "sensitive"
    """Event filters match names with case, or as ``case-sensitive`` says of the rules."""
    ignored_text: Literal["given", "restored"] = "given"
    """Which text of a DDL ``ignore-sql`` searches: the one before it is printed again, or the one after."""
    bad_ignore_sql: Literal["rule-dropped", "refused"] = "rule-dropped"
    """What a wrong pattern in ``ignore-sql`` does: all but the expressions of its event filter is gone, or refused."""
    foreign_key_events: Literal["known", "failing"] = "known"
    """ADD and DROP FOREIGN KEY in an event filter: like any other, or refused, and failing where a filter matches."""
    update_only_columns: bool = False
    """Whether ``ignore-update-only-columns`` is known."""
    checked_expressions: Literal["at-start", "at-first-row"] = "at-start"
    """When the columns of a filter's expressions are looked up in the tables that exist at the start."""
    judged_ddl: Literal["by-snapshot", "by-store"] = "by-snapshot"
    """What a DDL must fit: the tables that the filter let through so far, or the schema store, which has them all."""


@dataclass(frozen=True)
class DdlSwitches:
    """What is read where DDL events and their texts are made."""

    renamed_schema: Literal["lower-case", "as-created"] = "lower-case"
    """How a table names its database after a RENAME of one table, until its next DDL."""
    built_texts: Literal["by-owner", "by-store"] = "by-owner"
    """Which texts are built anew, and how: those of the changefeed's owner, or those of the schema store."""
    several_statements: bool = False
    """Whether a text of several statements is printed, with ``;`` between."""
    watermarks: bool = True
    """Whether a watermark follows each DDL at once."""
