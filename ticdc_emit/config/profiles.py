"""Profiles: the places where TiCDC's two lineages differ, as independent switches.

``classic`` is pingcap/tiflow, ``next`` is pingcap/ticdc (the new architecture).  A profile is stated as differences
over its parent, and an encoder reads a switch, never the profile's name.  A switch enters together with the code that
reads it.  Out: :class:`Profile`, carried by every :class:`~ticdc_emit.config.ChangefeedConfig`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ticdc_emit.errors import ConfigError

__all__ = ["CLASSIC", "NEXT", "PROFILES", "Profile"]


@dataclass(frozen=True)
class Profile:
    """One lineage's bytes.  The defaults of the switches are those of ``classic``."""

    name: str
    canal_empty_mysql_type: Literal["object", "null"] = "object"
    """Canal-JSON ``mysqlType`` of a message that shows no column: ``{}`` or ``null``."""
    avro_key_columns: Literal["handle-key", "primary-key"] = "handle-key"
    """Avro: what keys hold. A table whose handle key is a unique index has none with ``primary-key``."""
    avro_bit_bytes: Literal["minimal", "fixed"] = "minimal"
    """Avro: BIT values in as few bytes as hold them, or in as many as the column has."""
    simple_column_order: Literal["id", "table"] = "id"
    """Simple: the order of a table schema's columns."""
    simple_pre_table_schema: Literal["all", "exchange-partition"] = "all"
    """Simple: which DDL messages show the schema before them."""
    simple_exchange_partition: Literal["QUERY", "ALTER"] = "QUERY"
    """Simple: the type of EXCHANGE PARTITION."""
    simple_avro_bit: Literal["long", "string"] = "long"
    """Simple in Avro: the branch of BIT values."""
    simple_avro_timestamp_decimal: bool = False
    """Simple in Avro: whether the data type of a TIMESTAMP shows its fsp."""
    hashed_null: bytes | None = b"null"
    """Dispatchers by value: what is hashed of NULL; ``None``: neither it nor the column's name."""
    hashed_offsets: Literal["table", "row"] = "table"
    """Dispatchers by named columns: ``table`` offsets miss the right value of a row without virtual columns."""
    hashed_columns: Literal["selected", "all"] = "selected"
    """Dispatchers by value: whether they see the columns that a column selector drops."""
    exchange_partition_topic: Literal["exchanged", "partitioned"] = "exchanged"
    """EXCHANGE PARTITION: whose topic it goes to, the exchanged table's or the partitioned table's."""
    renamed_schema: Literal["lower-case", "as-created"] = "lower-case"
    """How a table names its database after a RENAME of one table, until its next DDL."""
    split_order: Literal["by-kind", "inserts-last"] = "by-kind"
    """A transaction with a split update: deletes, updates, inserts; or as it was, and the inserted halves last."""
    keyless_tables: Literal["until-keyed", "unseen"] = "until-keyed"
    """Tables without a handle key are left out until they get one, or (``unseen``) for good; DROP is sent, or not."""
    virtual_keys: Literal["refused", "accepted"] = "refused"
    """Whether a unique key over virtual columns is one for which a table is replicated."""
    split_checksums: Literal["zero", "kept"] = "zero"
    """The checksums that the two halves of a split update show."""
    event_matchers: Literal["sensitive", "as-rules"] = "sensitive"
    """Event filters match names with case, or as ``case-sensitive`` says of the rules."""
    ignored_text: Literal["given", "restored"] = "given"
    """Which text of a DDL ``ignore-sql`` searches: the one before it is printed again, or the one after."""
    bad_ignore_sql: Literal["rule-dropped", "refused"] = "rule-dropped"
    """What a wrong pattern in ``ignore-sql`` does: all but the expressions of its event filter is gone, or refused."""
    foreign_key_events: Literal["known", "failing"] = "known"
    """ADD and DROP FOREIGN KEY in an event filter: like any other, or refused, and failing where a filter matches."""
    filtered_updates: Literal["whole", "split"] = "whole"
    """Filters see an update of a unique key before it is split, or its two halves."""
    update_only_columns: bool = False
    """Whether ``ignore-update-only-columns`` is known."""
    checked_expressions: Literal["at-start", "at-first-row"] = "at-start"
    """When the columns of a filter's expressions are looked up in the tables that exist at the start."""
    ddl_watermarks: bool = True
    """Whether a watermark follows each DDL at once."""
    judged_ddl: Literal["by-snapshot", "by-store"] = "by-snapshot"
    """What a DDL must fit: the tables that the filter let through so far, or the schema store, which has them all."""

    @classmethod
    def parse(cls, profile: str | Profile) -> Profile:
        """The profile of that name; a :class:`Profile` passes through.  :class:`ConfigError` for an unknown name."""
        if isinstance(profile, Profile):
            return profile
        try:
            return PROFILES[profile]
        except KeyError:
            raise ConfigError(
                f"unknown profile {profile!r}", remedy=f"Use one of: {', '.join(PROFILES)}", option="profile"
            ) from None


CLASSIC = Profile("classic")
NEXT = replace(
    CLASSIC,
    name="next",
    canal_empty_mysql_type="null",
    avro_key_columns="primary-key",
    avro_bit_bytes="fixed",
    simple_column_order="table",
    simple_pre_table_schema="exchange-partition",
    simple_exchange_partition="ALTER",
    simple_avro_bit="string",
    simple_avro_timestamp_decimal=True,
    hashed_null=None,
    hashed_offsets="row",
    hashed_columns="all",
    exchange_partition_topic="partitioned",
    renamed_schema="as-created",
    split_order="inserts-last",
    split_checksums="kept",
    keyless_tables="unseen",
    virtual_keys="accepted",
    event_matchers="as-rules",
    ignored_text="restored",
    bad_ignore_sql="refused",
    foreign_key_events="failing",
    filtered_updates="split",
    update_only_columns=True,
    checked_expressions="at-first-row",
    ddl_watermarks=False,
    judged_ddl="by-store",
)

PROFILES = {profile.name: profile for profile in (CLASSIC, NEXT)}
