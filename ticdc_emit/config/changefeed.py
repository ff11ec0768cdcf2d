"""A changefeed's whole configuration as one frozen record; fields are TiCDC's option names in snake_case."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as Choice

from ticdc_emit.config.binding import KAFKA_TABLE, declare
from ticdc_emit.config.codec import CodecConfig
from ticdc_emit.config.filters import FilterConfig
from ticdc_emit.config.kafka import KafkaConfig
from ticdc_emit.config.releases import CLASSIC, Release
from ticdc_emit.config.storage import StorageConfig
from ticdc_emit.config.uri import SinkUri
from ticdc_emit.hints import hold_names

DISPATCHER_NAMES = ("default", "table", "ts", "index-value", "rowid", "columns")
"""The values of a dispatcher's ``partition``, in any case. TiCDC treats any other value as ``table``."""


@dataclass(frozen=True)
class DispatchRule:
    """One ``[[sink.dispatchers]]`` entry; ``partition`` holds a deprecated ``dispatcher`` too.

    ``target_schema``, ``target_table``: the names that messages show, "" for the own ones.
    """

    matcher: tuple[str, ...] = declare((), "matcher", "", in_uri=False)
    topic: str = declare("", "topic", "", in_uri=False)
    partition: str = declare("", "partition", "", in_uri=False)
    columns: tuple[str, ...] = declare((), "columns", "", in_uri=False)
    index: str = declare("", "index", "", in_uri=False)
    target_schema: str = declare("", "target-schema", "", in_uri=False)
    target_table: str = declare("", "target-table", "", in_uri=False)

    def __post_init__(self) -> None:
        hold_names(self, "matcher", "columns")

    @property
    def renames(self) -> bool:
        """Whether the rule gives tables other names."""
        return bool(self.target_schema or self.target_table)


@dataclass(frozen=True)
class ColumnSelector:
    """One ``[[sink.column-selectors]]`` entry."""

    matcher: tuple[str, ...] = declare((), "matcher", "", in_uri=False)
    columns: tuple[str, ...] = declare((), "columns", "", in_uri=False)

    def __post_init__(self) -> None:
        hold_names(self, "matcher", "columns")


@dataclass(frozen=True)
class Integrity:
    """``[integrity]``: row checksums if ``integrity_check_level`` is ``correctness``."""

    integrity_check_level: str = "none"
    corruption_handle_level: str = "warn"

    @property
    def enabled(self) -> bool:
        return self.integrity_check_level == "correctness"


@dataclass(frozen=True)
class ChangefeedConfig:
    """All options of a sink URI and a changefeed file."""

    sink_uri: SinkUri
    codec: CodecConfig
    kafka: KafkaConfig
    storage: StorageConfig | None = None
    """The options of a storage sink; ``None`` for a sink of messages."""
    dispatchers: tuple[DispatchRule, ...] = ()
    column_selectors: tuple[ColumnSelector, ...] = ()
    case_sensitive: bool = declare(False, "case-sensitive", "", in_uri=False)
    force_replicate: bool = False
    filter: FilterConfig = field(default_factory=FilterConfig)
    ddl_text: Choice["restored", "as-given"] = "restored"
    """DDL as TiCDC prints it, or the caller's text."""
    sql_mode: str = ""
    """The session's SQL mode, under which DDL is read."""
    bdr_mode: bool = declare(False, "bdr-mode", "", in_uri=False)
    """Whether the cluster replicates in both directions, so that only the primary's DDL is sent."""
    bdr_role: Choice["", "primary", "secondary"] = ""
    """The role that ADMIN SET BDR ROLE gave the cluster."""
    integrity: Integrity = field(default_factory=Integrity)
    output_raw_change_event: bool = declare(False, "output-raw-change-event", KAFKA_TABLE, in_uri=False)
    send_bootstrap_interval_in_sec: int = declare(120, "send-bootstrap-interval-in-sec", "sink", in_uri=False)
    send_bootstrap_in_msg_count: int = declare(10_000, "send-bootstrap-in-msg-count", "sink", in_uri=False, bits=32)
    send_bootstrap_to_all_partition: bool = declare(True, "send-bootstrap-to-all-partition", "sink", in_uri=False)
    send_all_bootstrap_at_start: bool = declare(False, "send-all-bootstrap-at-start", "sink", in_uri=False)
    bootstrap_enabled: bool = False
    """Protocol given as exactly ``simple`` (TiCDC compares the text) and both bootstrap limits above zero."""
    time_zone: str = "UTC"
    """IANA name of the zone in which TIMESTAMP values are written."""
    cluster_id: str = "default"
    release: Release = CLASSIC
