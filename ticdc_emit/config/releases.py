"""TiCDC's releases: what each one sends, as differences from its neighbour.

A :class:`Release` is one frozen record of the switches of ``config/switches.py``. ``classic`` and ``next`` are the
newest of the two lineages (pingcap/tiflow c7b2588, pingcap/ticdc b813e76), ``master`` has what came after ``next``. All
others are named by lineage and version, and each is stated as its differences from the next newer one. Code reads a
switch, never a release's name.

Rule source: the tags of both repositories, side by side. A comment names the change that made the difference (T:
pingcap/tiflow, C: pingcap/ticdc).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

from ticdc_emit.config.switches import (
    AvroSwitches,
    CanalJsonSwitches,
    CsvSwitches,
    DdlSwitches,
    DebeziumSwitches,
    Defect,
    DeliverySwitches,
    FilterSwitches,
    OpenSwitches,
    OptionSwitches,
    RoutingSwitches,
    SimpleSwitches,
    StorageSwitches,
    TransactionSwitches,
    ValueSwitches,
)
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean


@dataclass(frozen=True)
class Release:
    """The switches of one release. The defaults are those of ``classic``."""

    name: str
    options: OptionSwitches = OptionSwitches()
    canal_json: CanalJsonSwitches = CanalJsonSwitches()
    avro: AvroSwitches = AvroSwitches()
    simple: SimpleSwitches = SimpleSwitches()
    debezium: DebeziumSwitches = DebeziumSwitches()
    open_protocol: OpenSwitches = OpenSwitches()
    csv: CsvSwitches = CsvSwitches()
    storage: StorageSwitches = StorageSwitches()
    routing: RoutingSwitches = RoutingSwitches()
    delivery: DeliverySwitches = DeliverySwitches()
    values: ValueSwitches = ValueSwitches()
    transactions: TransactionSwitches = TransactionSwitches()
    filtering: FilterSwitches = FilterSwitches()
    ddl: DdlSwitches = DdlSwitches()

    def but(self, name: str, **differences: Mapping[str, Any]) -> Release:
        """Return a release that differs from this one: by record, its switches with their values."""
        records = {record: replace(getattr(self, record), **changed) for record, changed in differences.items()}
        return replace(self, name=name, **records)

    @classmethod
    def parse(cls, release: str | Release) -> Release:
        """Return the release of that name; a :class:`Release` is returned as it is.

        A name is one of :data:`RELEASES`, a version (``8.5.3``, ``v8.5.3``), or a lineage and a version
        (``next-8.5.7``). Two numbers mean the newest release of the line. Raises
        :class:`~ticdc_emit.errors.ConfigError` for a version that is not in the table, and for one that both lineages
        have.
        """
        if isinstance(release, Release):
            return release
        if release in RELEASES:
            return RELEASES[release]
        meant, nearest = _meant(str(release))
        if not meant:
            known = " and ".join(each.name for each in nearest)
            hint = f"The nearest to it: {known}. " if known else did_you_mean(str(release), RELEASES)
            raise ConfigError(
                f"unknown release {release!r}",
                remedy=f"{hint}Use one of: {', '.join(RELEASES)}",
                option="release",
            )
        if len(meant) > 1:
            names = " or ".join(each.name for each in meant)
            raise ConfigError(
                f"two TiCDCs have the version {release}, of the classic and of the new architecture",
                remedy=f"Use {names}: the new one runs where the TiCDC servers have newarch = true",
                option="release",
            )
        return meant[0]


_MYSQL_RULES = frozenset({"filter.do-dbs", "filter.do-tables", "filter.ignore-dbs", "filter.ignore-tables"})
_OLD_OPTIONS = _MYSQL_RULES | {"enable-old-value"}
"""Options that no newer release knows."""

CLASSIC = Release("classic")

CLASSIC_8_5_7 = CLASSIC.but(
    "classic-8.5.7",
    options=dict(
        rows_only=frozenset({"debezium"}),  # T#11674, T#11877
        unknown=CLASSIC.options.unknown | {"csv.output-field-header"},
    ),
    debezium=dict(tidb_types=False, long_binary_default="shown"),  # T#12061, T#11674
    avro=dict(null_default="null-first"),  # T#12191
    canal_json=dict(compared_vectors=Defect("comparing a VECTOR crashes", "8.5.0 to 8.5.7", "classic")),  # T#11895
    filtering=dict(system_schemas=frozenset({"lightning_task_info"})),  # T#12095
)
CLASSIC_8_5_6 = CLASSIC_8_5_7.but("classic-8.5.6", options=dict(unknown=CLASSIC_8_5_7.options.unknown | {"max-retry"}))
CLASSIC_8_5_5 = CLASSIC_8_5_6.but("classic-8.5.5")
CLASSIC_8_5_4 = CLASSIC_8_5_5.but(
    "classic-8.5.4",
    debezium=dict(  # T#12475
        null_label_defaults=Defect(
            "a Debezium row with NULL in an ENUM or SET with a DEFAULT fails", "8.5.1 to 8.5.4", "classic-8.5.5"
        )
    ),
)
CLASSIC_8_5_3 = CLASSIC_8_5_4.but(
    "classic-8.5.3",
    routing=dict(virtual_dispatcher_columns="accepted", missing_columns="list"),  # T#12254
    filtering=dict(
        ddl_left_out=frozenset({"add foreign key", "drop foreign key"}),  # T#12329
        ignored_start_ts="ignored",  # T#12287
    ),
)
CLASSIC_8_5_2 = CLASSIC_8_5_3.but(
    "classic-8.5.2",
    debezium=dict(
        selected_rows=Defect("a Debezium row with dropped columns crashes", "8.1.2 to 8.5.2", "classic-8.5.3")
    ),  # T#12210
    routing=dict(dispatcher_names="exact-case", hashed_names="given"),  # T#12132, T#12236
)
_NO_NULL_TEXT = Defect(
    "a nullable text, ENUM or SET column with the DEFAULT 'null' fails",
    "7.1.6, 8.1.2 to 8.5.1",
    "classic-7.5.7, classic-8.5.2",
)
CLASSIC_8_5_1 = CLASSIC_8_5_2.but(
    "classic-8.5.1",
    avro=dict(null_default="value-first", null_text_default=_NO_NULL_TEXT),  # T#11995
    values=dict(column_defaults="original", json_doubles="old"),  # T#12038
)
CLASSIC_8_5_0 = CLASSIC_8_5_1.but(
    "classic-8.5.0",
    debezium=dict(  # T#11976
        defaults="stored",
        null_values="null",
        null_label_defaults=None,
        declared_floats="float",
        virtual_columns="left-out",
        early_timestamps="as-given",
        short_years="as-given",
        partly_zero="null",
    ),
    filtering=dict(rename_names="new"),  # T#11956
)
CLASSIC_8_1_2 = CLASSIC_8_5_0.but(
    "classic-8.1.2",
    options=dict(unknown=CLASSIC_8_5_0.options.unknown | {"claim-check-raw-value"}),
    debezium=dict(
        keys=False,  # T#11649
        names="as-given",
        defaults="none",
        allowed_labels="joined",
    ),
    canal_json=dict(compared_vectors=None),
    routing=dict(bad_topic="bare"),  # T#11161
    values=dict(checksum_version="first-only"),  # T#11523, T#11526
    filtering=dict(
        system_schemas=frozenset(),
        ddl_left_out=frozenset({"add foreign key", "drop foreign key", "create tables"}),  # T#11804
        new_ids="unchecked",
    ),
)
CLASSIC_7_5_7 = CLASSIC_8_1_2.but(
    "classic-7.5.7",
    options=dict(
        unknown=CLASSIC_8_1_2.options.unknown - _MYSQL_RULES | {"debezium-disable-schema", "debezium.output-old-value"},
        unknown_protocols=CLASSIC.options.unknown_protocols | {"debezium"},
    ),
    avro=dict(null_default="null-first", null_text_default=None),  # T#12006
    open_protocol=dict(zerofill_flag=True),
    routing=dict(  # T#12234, T#11611
        dispatcher_names="any-case", hashed_names="found", failed_tables="full-name", bad_topic="named"
    ),
    values=dict(column_defaults="default"),  # T#12051
    filtering=dict(  # T#12287, T#11956
        ignored_start_ts="discarded",
        rename_names="old",
        event_kinds="by-statement",
        new_ids="checked",
        bdr_ddl="none",
    ),
)
_SINCE_7_5 = frozenset(
    {
        *("claim-check-storage-uri", "delete-only-output-handle-key-columns", "dispatchers.columns"),
        *("encoding-format", "glue-schema-registry-config", "index", "large-message-handle-compression"),
        *("open.output-old-value", "send-all-bootstrap-at-start", "send-bootstrap-in-msg-count"),
        *("send-bootstrap-interval-in-sec", "send-bootstrap-to-all-partition"),
    }
)
CLASSIC_7_1_6 = CLASSIC_7_5_7.but(
    "classic-7.1.6",
    options=dict(
        unknown=CLASSIC_7_5_7.options.unknown - _OLD_OPTIONS | _SINCE_7_5,
        unknown_protocols=CLASSIC_7_5_7.options.unknown_protocols | {"simple"},
        large_message_options=frozenset({"handle-key-only"}),
        forced_large_messages="refused-by-option",
        forced_protocols="",
    ),
    open_protocol=dict(unknown_option_reduces=True),
    avro=dict(
        null_default="value-first",
        null_text_default=_NO_NULL_TEXT,
        first_subject="value",
        size_limit=False,
    ),
    routing=dict(bad_topic="bare"),
    values=dict(column_defaults="original"),
    filtering=dict(
        ddl_left_out=CLASSIC_7_5_7.filtering.ddl_left_out
        | {"alter table partition by", "alter table remove partitioning"},
        ignored_start_ts="ignored",
        rename_names="new",
        new_ids="unchecked",
    ),
)

_MASTER_OPTIONS = frozenset(
    f"debezium{mark}{name}-handling-mode" for mark in "-." for name in ("bigint-unsigned", "binary", "decimal")
) | {"simple-include-start-ts", "simple.include-start-ts"}

NEXT = CLASSIC.but(
    "next",
    options=dict(
        unknown=_MASTER_OPTIONS | _OLD_OPTIONS,
        unknown_protocols=frozenset({"canal", "maxwell", "craft", "csv"}),
        other_large_message_options="refused",
        forced_large_messages="accepted",
        forced_protocols="avro or debezium-avro",
        debezium_registry="refused",
        bad_parameter="by-reader",
        bad_delivery="one-code",
        zero_delivery="refused",
        bad_size="bare",
        least_flush_ms=100,
        least_file_bytes=1 << 10,
    ),
    canal_json=dict(empty_mysql_type="null", pk_names="whole", selected_updates="compared", compared_values="text"),
    avro=dict(
        key_columns="primary-key",
        bit_bytes="fixed",
        virtual_columns="null",
        vector_default="shown",
        empty_keys="failing",
        registered_with="update-ts",
        deleted_value="commit-ts",
    ),
    simple=dict(
        column_order="table",
        pre_table_schema="exchange-partition",
        exchange_partition="ALTER",
        avro_bit="string",
        avro_timestamp_decimal=True,
    ),
    debezium=dict(
        source_schema="extended",
        virtual_columns="twice",
        key_columns="whole",
        partly_zero="null",
        null_default="value",
    ),
    open_protocol=dict(
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
    csv=dict(handle_keys="left-out"),
    storage=dict(
        order="data-first",
        numbers="free",
        newer_schemas="rows-discarded",
        versions="dispatcher",
        labels=True,
        flushed_by_ddl="own-tables",
        empty_schemas="null",
        lower_checkpoints="skipped",
        column_selectors=True,
        dispatcher_ids=True,
    ),
    routing=dict(
        bad_topic="kafka-config",
        hashed_null=None,
        hashed_offsets="row",
        hashed_columns="all",
        selected_keys="unchecked",
        exchange_partition_topic="partitioned",
        placeholders="one-by-one",
        target_rules="obeyed",
        view_names="all",
    ),
    delivery=dict(message_limit="topic"),
    values=dict(checksum_order="table", compared_keys="value"),
    transactions=dict(split_order="inserts-last", split_checksums="kept", filtered_updates="split"),
    filtering=dict(
        keyless_tables="unseen",
        virtual_keys="accepted",
        event_matchers="as-rules",
        ignored_text="restored",
        bad_ignore_sql="refused",
        foreign_key_events="failing",
        checked_expressions="at-first-row",
        judged_ddl="by-store",
    ),
    ddl=dict(
        renamed_schema="as-created",
        built_texts="by-store",
        view_texts="stored",
        several_statements=True,
        watermarks=False,
    ),
)

_NEWEST_OPTIONS = NEXT.options.unknown | {
    "avro-include-before-value",
    "debezium-include-start-ts",
    "debezium.include-start-ts",
    "ignore-update-only-columns",
}

NEXT_8_5_8 = NEXT.but(
    "next-8.5.8",
    options=dict(
        unknown=_NEWEST_OPTIONS,  # C#5903, C#5154, C#6008
        unknown_protocols=NEXT.options.unknown_protocols | {"debezium-avro"},  # C#5475
        forced_protocols="avro",
        debezium_registry="ignored",  # C#5475
    ),
    debezium=dict(source_schema="plain"),  # C#5475
    delivery=dict(message_limit="lowered"),  # C#6010
    storage=dict(column_selectors=False),  # C#5595
    ddl=dict(surviving_partitions="old"),  # C#5964
)
NEXT_8_5_7 = NEXT_8_5_8.but(
    "next-8.5.7",
    options=dict(  # C#5772, C#5811
        other_large_message_options="accepted",
        bad_parameter="as-mysql",
        bad_delivery="own-codes",
        zero_delivery="accepted",
        bad_size="named",
    ),
    routing=dict(bad_topic="named"),  # C#5811
)
_SPOOL = frozenset({"spool-base-dir", "spool-disk-quota"})
_DELETES = Defect(
    "a DELETE of a table with a key crashes", "8.5.4 to 8.5.6, 26.3.1 to 26.3.3", "next-8.5.7, next-26.3.4"
)
NEXT_8_5_6 = NEXT_8_5_7.but(
    "next-8.5.6",
    options=dict(
        unknown=_NEWEST_OPTIONS  # C#5300
        | {"max-retry", "target-schema", "target-table", "use-table-id-as-path", *_SPOOL}
    ),
    canal_json=dict(empty_mysql_type="object"),
    avro=dict(keyed_deletes=_DELETES, deleted_value="none"),  # C#5302
    ddl=dict(view_texts="given", partition_names="stripped"),  # C#5317, C#5316
)
NEXT_8_5_5 = NEXT_8_5_6.but(
    "next-8.5.5",
    options=dict(unknown=NEXT_8_5_6.options.unknown | {"open.output-old-value"}),  # C#3973
    simple=dict(floats="exponent"),  # C#3973
    open_protocol=dict(before_values="raw", time_fraction=False),  # C#3973, C#4249
    routing=dict(hashed_fractions=False),  # C#3973
    storage=dict(dispatcher_ids=False),
    filtering=dict(virtual_keys="refused"),  # C#4299
    ddl=dict(quoted_names="as-given", partition_table_id="none"),  # C#4410, C#2884
)
NEXT_8_5_4 = NEXT_8_5_5.but(
    "next-8.5.4",
    canal_json=dict(null_text="null", unselected_before="empty"),  # C#3959
    debezium=dict(null_labels="empty"),  # C#3798
    storage=dict(order="index-first", labels=False),
    values=dict(handle_key="joined"),  # C#3564
)
NEXT_8_5_4_RELEASE_1 = NEXT_8_5_4.but(
    "next-8.5.4-release.1",
    ddl=dict(partition_table_id="table"),  # C#2884
    filtering=dict(database_ddl="sent"),
)

NEXT_26_3_4 = NEXT.but(
    "next-26.3.4",
    options=dict(
        unknown=_NEWEST_OPTIONS | {"max-retry", "target-schema", "target-table"},
        other_large_message_options="accepted",
        bad_parameter="as-mysql",
        bad_delivery="own-codes",
        zero_delivery="accepted",
        bad_size="named",
    ),
    canal_json=dict(empty_mysql_type="object"),
    avro=dict(
        deleted_value=Defect(
            "with avro-enable-watermark a DELETE fails if a column that is not of the key is NOT NULL without DEFAULT",
            "26.3.4",
            "next",
        )
    ),
    routing=dict(bad_topic="named"),
    delivery=dict(message_limit="lowered"),
    filtering=dict(virtual_keys="refused"),
    ddl=dict(view_texts="given", surviving_partitions="old"),
)
NEXT_26_3_3 = NEXT_26_3_4.but(
    "next-26.3.3",
    options=dict(unknown=NEXT_26_3_4.options.unknown | _SPOOL),
    avro=dict(keyed_deletes=_DELETES, deleted_value="none"),  # C#5590
    storage=dict(column_selectors=False),  # C#5595
)
NEXT_26_3_2 = NEXT_26_3_3.but(
    "next-26.3.2",
    options=dict(  # C#5551
        unknown_protocols=NEXT_8_5_7.options.unknown_protocols, forced_protocols="avro", debezium_registry="ignored"
    ),
    debezium=dict(source_schema="plain"),
)
NEXT_26_3_1 = NEXT_26_3_2.but("next-26.3.1")

MASTER = NEXT.but(
    "master",
    options=dict(unknown=NEXT.options.unknown - _MASTER_OPTIONS),  # C#6263, C#6143
    debezium=dict(exact_defaults=True),  # C#6263
    routing=dict(placeholders="at-once", target_rules="left-out", view_names="tables"),  # C#6259
)

LINEAGES = {
    "classic": (
        CLASSIC_7_1_6,
        CLASSIC_7_5_7,
        CLASSIC_8_1_2,
        CLASSIC_8_5_0,
        CLASSIC_8_5_1,
        CLASSIC_8_5_2,
        CLASSIC_8_5_3,
        CLASSIC_8_5_4,
        CLASSIC_8_5_5,
        CLASSIC_8_5_6,
        CLASSIC_8_5_7,
        CLASSIC,
    ),
    "next": (
        NEXT_8_5_4_RELEASE_1,
        NEXT_8_5_4,
        NEXT_8_5_5,
        NEXT_8_5_6,
        NEXT_8_5_7,
        NEXT_8_5_8,
        NEXT_26_3_1,
        NEXT_26_3_2,
        NEXT_26_3_3,
        NEXT_26_3_4,
        NEXT,
        MASTER,
    ),
}
"""The releases of each lineage, the oldest of each line first."""

RELEASES = {each.name: each for each in (CLASSIC, NEXT, MASTER, *LINEAGES["classic"], *LINEAGES["next"])}
"""All releases by name, the newest first."""


def releases_with(test: Callable[[Release], bool]) -> str:
    """Return the names of the releases that pass a test, with ``to`` between the first and the last of neighbours."""
    spans = []
    for releases in LINEAGES.values():
        for passes, group in groupby(releases, key=test):
            names = [each.name for each in group]
            if passes:
                spans.append(names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}")
    return ", ".join(spans)


_VERSION = re.compile(r"(?:(classic|next)-)?v?([0-9]+\.[0-9]+)(?:\.([0-9]+)(?:-release\.([0-9]+))?)?", re.IGNORECASE)
_FINAL = 10
"""The number of the release candidate that became the final release: 8.5.4 is 8.5.4-release.10."""


class _Version(NamedTuple):
    """A version as its text names it. ``lineage`` is "" if it names none, ``patch`` None for a whole line.

    ``patch``: its number, and that of the release candidate, which only the new architecture has.
    """

    lineage: str
    line: tuple[int, ...]
    patch: tuple[int, int] | None

    @classmethod
    def read(cls, text: str) -> _Version | None:
        written = _VERSION.fullmatch(text.strip())
        if written is None:
            return None
        lineage, line, patch, candidate = written.groups()
        named = "next" if candidate and not lineage else (lineage or "").lower()
        if candidate and named == "classic":
            return None
        numbers = tuple(map(int, line.split(".")))
        return cls(named, numbers, (int(patch), int(candidate or _FINAL)) if patch else None)


def _meant(text: str) -> tuple[list[Release], list[Release]]:
    """Return the release of each lineage that a version means, and the one nearest to it: older, or else the oldest."""
    wanted = _Version.read(text)
    meant: list[Release] = []
    nearest: list[Release] = []
    if wanted is None:
        return meant, nearest
    for lineage in [wanted.lineage] if wanted.lineage else LINEAGES:
        known = [(have[1:], each) for each in LINEAGES[lineage] if (have := _Version.read(each.name))]
        meant += [each for (line, patch), each in known if (line, wanted.patch or patch) == (wanted.line, patch)][-1:]
        older = [each for have, each in known if have < (wanted.line, wanted.patch or (0, 0))]
        nearest += older[-1:] or [known[0][1]]
    return meant, nearest
