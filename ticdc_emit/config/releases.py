"""The places where TiCDC's two lineages differ, as independent switches: one record for each part that reads them.

A :class:`Release` is one frozen record of them. The defaults are those of ``classic``, and :data:`NEXT` lists its
differences; a further release is stated as differences from its neighbour. Code reads a switch, never a release's name.

Rule source: both lineages side by side, pingcap/tiflow c7b2588 and pingcap/ticdc b813e76.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean

__all__ = [
    "CLASSIC",
    "NEXT",
    "RELEASES",
    "AvroSwitches",
    "CanalJsonSwitches",
    "DdlSwitches",
    "DebeziumSwitches",
    "DeliverySwitches",
    "FilterSwitches",
    "OpenSwitches",
    "OptionSwitches",
    "Release",
    "RoutingSwitches",
    "SimpleSwitches",
    "TransactionSwitches",
    "ValueSwitches",
]


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
    delete_mark: bool = False
    """With ``avro-enable-watermark``: whether the value of a delete is a byte 3 and its commit_ts."""


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


@dataclass(frozen=True)
class DebeziumSwitches:
    """The switches of ``protocols/debezium/encoder``."""

    source_schema: Literal["plain", "extended"] = "plain"
    """With ``enable-tidb-extension``: whether the schema of ``source`` has fields ``commit_ts`` and ``cluster_id``."""
    virtual_columns: Literal["last", "twice"] = "last"
    """The schema of rows has virtual columns after the others, or (``twice``) in their place and after the others."""
    key_columns: Literal["selected", "whole"] = "selected"
    """The columns of keys if a column selector drops a column of the handle key."""
    partly_zero: Literal["refused", "null"] = "refused"
    """A DATETIME with a zero month or day is refused, or ``null`` (0 where the column is NOT NULL)."""
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


@dataclass(frozen=True)
class OptionSwitches:
    """The switches of the readers of sink URIs and changefeed files.

    An option or protocol does not name the releases that know it: what a release lacks is one of its differences from
    its neighbour.
    """

    unknown: frozenset[str] = frozenset(
        {
            "avro-include-before-value",
            "debezium-include-start-ts",
            "debezium.include-start-ts",
            "ignore-update-only-columns",
            "output-row-key",
            "target-schema",
            "target-table",
        }
    )
    """Options that are ignored as unknown ones. If several tables have an option of a name, its table is before it."""
    unknown_protocols: frozenset[str] = frozenset({"debezium-avro"})
    """Protocols that are refused as unknown ones."""
    large_message_options: Literal["any", "known"] = "any"
    """Whether a ``large-message-handle-option`` of another name is accepted, and has no effect."""
    forced_large_messages: Literal["refused", "accepted"] = "refused"
    """``force-replicate`` together with a ``large-message-handle-option``."""
    forced_protocols: str = "avro"
    """How the refusal of ``force-replicate`` names the protocols."""
    debezium_registry: Literal["ignored", "refused"] = "ignored"
    """A schema registry for Debezium in JSON."""


@dataclass(frozen=True)
class RoutingSwitches:
    """The switches of dispatchers."""

    bad_topic: Literal["topic-expression", "kafka-config"] = "topic-expression"
    """The code and text of the refusal of a topic expression."""
    hashed_null: bytes | None = b"null"
    """Dispatchers by value: the text that is hashed for NULL; ``None``: neither it nor the column's name is hashed."""
    hashed_offsets: Literal["table", "row"] = "table"
    """Dispatchers by named columns: with ``table`` offsets, rows without virtual columns give the wrong value."""
    hashed_columns: Literal["selected", "all"] = "selected"
    """Dispatchers by value: whether they see the columns that a column selector drops."""
    selected_keys: Literal["checked", "unchecked"] = "checked"
    """Whether rows are refused if a column selector leaves no complete key. Tables that exist at the start always
    are.
    """
    exchange_partition_topic: Literal["exchanged", "partitioned"] = "exchanged"
    """EXCHANGE PARTITION: whether it goes to the topic of the exchanged table or of the partitioned table."""


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


@dataclass(frozen=True)
class Release:
    """The switches of one lineage. The defaults are those of ``classic``."""

    name: str
    options: OptionSwitches = OptionSwitches()
    canal_json: CanalJsonSwitches = CanalJsonSwitches()
    avro: AvroSwitches = AvroSwitches()
    simple: SimpleSwitches = SimpleSwitches()
    debezium: DebeziumSwitches = DebeziumSwitches()
    open_protocol: OpenSwitches = OpenSwitches()
    routing: RoutingSwitches = RoutingSwitches()
    delivery: DeliverySwitches = DeliverySwitches()
    values: ValueSwitches = ValueSwitches()
    transactions: TransactionSwitches = TransactionSwitches()
    filtering: FilterSwitches = FilterSwitches()
    ddl: DdlSwitches = DdlSwitches()

    @classmethod
    def parse(cls, release: str | Release) -> Release:
        """Return the release of that name; a :class:`Release` is returned as it is.

        Raises :class:`ConfigError` for an unknown name.
        """
        if isinstance(release, Release):
            return release
        try:
            return RELEASES[release]
        except KeyError:
            raise ConfigError(
                f"unknown release {release!r}",
                remedy=f"{did_you_mean(str(release), RELEASES)}Use one of: {', '.join(RELEASES)}",
                option="release",
            ) from None


CLASSIC = Release("classic")
NEXT = Release(
    "next",
    options=OptionSwitches(
        unknown=frozenset(),
        unknown_protocols=frozenset({"canal", "maxwell", "craft", "csv"}),
        large_message_options="known",
        forced_large_messages="accepted",
        forced_protocols="avro or debezium-avro",
        debezium_registry="refused",
    ),
    canal_json=CanalJsonSwitches(
        empty_mysql_type="null", pk_names="whole", selected_updates="compared", compared_values="text"
    ),
    avro=AvroSwitches(
        key_columns="primary-key",
        bit_bytes="fixed",
        virtual_columns="null",
        vector_default="shown",
        empty_keys="failing",
        registered_with="update-ts",
        delete_mark=True,
    ),
    simple=SimpleSwitches(
        column_order="table",
        pre_table_schema="exchange-partition",
        exchange_partition="ALTER",
        avro_bit="string",
        avro_timestamp_decimal=True,
    ),
    debezium=DebeziumSwitches(
        source_schema="extended",
        virtual_columns="twice",
        key_columns="whole",
        partly_zero="null",
        null_default="value",
    ),
    open_protocol=OpenSwitches(
        json="json-iterator",
        column_order="table",
        row_ids=False,
        partition="last",
        claims="flagged",
        empty_names="shown",
        empty_before="shown",
        nulled_columns="nameless",
        compared_vectors="number",
        generated_columns="unmarked",
    ),
    routing=RoutingSwitches(
        bad_topic="kafka-config",
        hashed_null=None,
        hashed_offsets="row",
        hashed_columns="all",
        selected_keys="unchecked",
        exchange_partition_topic="partitioned",
    ),
    delivery=DeliverySwitches(message_limit="topic"),
    values=ValueSwitches(checksum_order="table", compared_keys="value"),
    transactions=TransactionSwitches(split_order="inserts-last", split_checksums="kept", filtered_updates="split"),
    filtering=FilterSwitches(
        keyless_tables="unseen",
        virtual_keys="accepted",
        event_matchers="as-rules",
        ignored_text="restored",
        bad_ignore_sql="refused",
        foreign_key_events="failing",
        checked_expressions="at-first-row",
        judged_ddl="by-store",
    ),
    ddl=DdlSwitches(
        renamed_schema="as-created",
        built_texts="by-store",
        several_statements=True,
        watermarks=False,
    ),
)

RELEASES = {release.name: release for release in (CLASSIC, NEXT)}
