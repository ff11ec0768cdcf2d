"""The keyword arguments of :class:`~ticdc_emit.spark.TicdcSink`, for the functions that hand them on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ticdc_emit.changefeed.report import ReportCallback
from ticdc_emit.config.named import LoadOptions
from ticdc_emit.delivery.contract import Sink
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
    """What ``Traffic.sink`` takes besides the sink URI: generated traffic knows its tables and DDL."""

    sink: Sink | None


class ReplayOptions(_RunOptions, total=False):
    """What ``replay`` hands on to the sink that it makes."""

    table: str | None
    ddl: Iterable[tuple[int, str] | tuple[int, str, str]]


class SinkOptions(TrafficSinkOptions, ReplayOptions, total=False):
    """What :class:`~ticdc_emit.spark.TicdcSink` takes besides the sink URI and the schema."""
