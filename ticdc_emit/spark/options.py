"""The keyword arguments of :class:`~ticdc_emit.spark.TicdcSink`, for the functions that pass them on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ticdc_emit.config.named import LoadOptions
from ticdc_emit.delivery.contract import Sink
from ticdc_emit.pipeline.report import ReportCallback
from ticdc_emit.registry.contract import SchemaRegistry

__all__ = ["ReplayOptions", "SinkOptions", "TrafficSinkOptions"]


class _RunOptions(LoadOptions, total=False):
    changefeed: str | os.PathLike[str] | Mapping[str, Any] | None
    clock: Literal["commit", "wall"] | int
    watermark_interval: float | None
    allowed_lateness: float
    late: Literal["error", "emit", "drop"]
    validate: Literal["task", "batch"]
    bad_rows: Literal["refuse", "skip"]
    bad_rows_path: str | None
    state_uri: str | None
    verbatim_json: bool
    heartbeat: float | None
    librdkafka: Mapping[str, Any] | None
    registry: SchemaRegistry | None
    on_report: ReportCallback | Iterable[ReportCallback]


class TrafficSinkOptions(_RunOptions, total=False):
    """The arguments of ``Traffic.sink`` besides the sink URI; generated traffic has its own tables and DDL."""

    sink: Sink | None


class ReplayOptions(_RunOptions, total=False):
    """The arguments that ``replay`` passes to its sink."""

    table: str | None
    ddl: Iterable[tuple[int, str] | tuple[int, str, str]]


class SinkOptions(TrafficSinkOptions, ReplayOptions, total=False):
    """The arguments of :class:`~ticdc_emit.spark.TicdcSink` besides the sink URI and the schema."""
