"""Profiles: TiCDC's two lineages, each as the records of its switches (:mod:`ticdc_emit.config.switches`).

``classic`` is pingcap/tiflow, ``next`` is pingcap/ticdc (the new architecture).  A profile lists its differences from
the defaults. Code reads the switch that it needs, never the profile's name. Out: :class:`Profile`, an attribute of
every :class:`~ticdc_emit.config.ChangefeedConfig`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.config.switches import (
    AvroSwitches,
    CanalJsonSwitches,
    DdlSwitches,
    DebeziumSwitches,
    DeliverySwitches,
    FilterSwitches,
    OpenSwitches,
    OptionSwitches,
    RoutingSwitches,
    SimpleSwitches,
    TransactionSwitches,
    ValueSwitches,
)
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean

__all__ = ["CLASSIC", "NEXT", "PROFILES", "Profile"]


@dataclass(frozen=True)
class Profile:
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
    def parse(cls, profile: str | Profile) -> Profile:
        """Return the profile of that name; a :class:`Profile` is returned as it is.

        Raises :class:`ConfigError` for an unknown name.
        """
        if isinstance(profile, Profile):
            return profile
        try:
            return PROFILES[profile]
        except KeyError:
            raise ConfigError(
                f"unknown profile {profile!r}",
                remedy=f"{did_you_mean(str(profile), PROFILES)}Use one of: {', '.join(PROFILES)}",
                option="profile",
            ) from None


CLASSIC = Profile("classic")
NEXT = Profile(
    "next",
    options=OptionSwitches(
        protocols="next",
        large_message_options="known",
        forced_large_messages="accepted",
        forced_protocols="avro or debezium-avro",
        debezium_registry="refused",
        avro_include_before_value=True,
        output_row_key=True,
        debezium_include_start_ts=True,
        dispatcher_targets=True,
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
        update_only_columns=True,
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

PROFILES = {profile.name: profile for profile in (CLASSIC, NEXT)}
