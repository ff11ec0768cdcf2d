"""How a changefeed shows its progress: log lines, tables and Prometheus metrics, made of the reports of batches.

A report has no message, option or connection, so there is no secret to show.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ticdc_emit.errors import importing
from ticdc_emit.hints import counted
from ticdc_emit.pipeline.report import RunReport, RunTotal, left_out, shown_lag, shown_watermark
from ticdc_emit.tso import physical_ms

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


logger = logging.getLogger("ticdc_emit.pipeline")


def report_line(report: RunReport | RunTotal) -> str:
    """Return ``batch 7: 120,000 rows, 71,808 rows/s, watermark 2026-01-01 ...``, without what is zero or unknown."""
    parts = [counted(report.rows, "row"), counted(report.messages, "message")]
    if report.rows_per_second >= 1:
        parts.append(f"{report.rows_per_second:,.0f} rows/s")
    if report.watermark is not None:
        parts += [f"watermark {shown_watermark(report.watermark)}", f"lag {shown_lag(report)}"]
    parts += left_out(report)
    rare = (
        (sum(report.filtered_ddl.values()), "DDL filtered", "DDL filtered"),
        (report.claims, "object stored", "objects stored"),
        (report.retries, "retry", "retries"),
    )
    parts += [counted(count, thing, things) for count, thing, things in rare if count]
    return f"{report.name}: {', '.join(parts)}"


def log_report(report: RunReport) -> None:
    """Log the line of a report (``on_report=log_report``): logger ``ticdc_emit.pipeline``, level INFO."""
    logger.info("%s", report_line(report))


_SINK_TYPE = "RowSink"  # TiCDC's word for every sink of messages
_FEED = ("namespace", "changefeed")
_BATCH_ROWS = tuple(2.0**power for power in range(18))
_LAGS = (
    *(step / 2 for step in range(1, 21)),
    *(float(second) for second in range(11, 21)),
    *(float(second) for second in range(21, 592, 30)),
    *(float(second) for second in range(900, 3601, 300)),
    *(4000.0, 8000.0, 16000.0, 32000.0),
)


class ChangefeedMetrics:
    """``TicdcSink(..., on_report=ChangefeedMetrics("orders"))``: metrics that each finished batch updates.
    ``changefeed`` and ``namespace`` are the labels that TiCDC gives its metrics. ``registry``: by default
    prometheus_client's; changefeeds of one share one object by :meth:`labelled`. Raises
    :class:`~ticdc_emit.errors.MissingDependencyError`.
    """

    def __init__(
        self, changefeed: str, *, namespace: str = "default", registry: CollectorRegistry | None = None
    ) -> None:
        self._metrics = _registered(registry)
        self._feed = (namespace, changefeed)

    def labelled(self, changefeed: str, *, namespace: str = "default") -> ChangefeedMetrics:
        """Return the same metrics for another changefeed, because a registry accepts each name once."""
        other = object.__new__(ChangefeedMetrics)
        other._metrics, other._feed = self._metrics, (namespace, changefeed)
        return other

    def __call__(self, report: RunReport) -> None:
        metrics, feed = self._metrics, self._feed
        metrics["rows"].labels(*feed).inc(report.rows)
        metrics["batch"].labels(*feed, _SINK_TYPE).observe(report.rows)
        metrics["bytes"].labels(*feed, _SINK_TYPE).inc(report.bytes)
        metrics["ddl"].labels(*feed, _SINK_TYPE).inc(report.ddl_events)
        metrics["claims"].labels(*feed).inc(report.claims)
        metrics["retries"].labels(*feed).set(report.retries)
        metrics["late"].labels(*feed).inc(report.late_rows)
        metrics["skipped"].labels(*feed).inc(report.skipped_rows)
        metrics["discarded"].labels(*feed).inc(report.discarded_rows)
        for rule, count in report.filtered.items():
            metrics["filtered"].labels(*feed, rule).inc(count)
        metrics["seconds"].labels(*feed).inc(report.seconds)
        for kind, count in report.messages_by_kind.items():
            metrics["messages"].labels(*feed, kind).inc(count)
        if report.watermark is not None:
            reached = physical_ms(report.watermark)
            lag = (report.finished_ms - reached) / 1000
            metrics["checkpoint"].labels(*feed).set(reached)
            metrics["checkpoint_lag"].labels(*feed).set(lag)
            metrics["checkpoint_lags"].labels(*feed).observe(lag)


def _registered(registry: CollectorRegistry | None) -> dict[str, Any]:
    with importing("metrics need prometheus_client", extra="metrics"):
        from prometheus_client import REGISTRY, Counter, Gauge, Histogram
    place = registry if registry is not None else REGISTRY
    # prometheus_client would append _total to a counter's name, which TiCDC's dashboards do not ask for: it is a gauge
    rows = (
        ("rows", Gauge, "ticdc_sink_table_sink_total_rows_count", "Row changes sent.", ""),
        ("bytes", Counter, "ticdc_sink_write_bytes_total", "Bytes of keys and values sent.", "type"),
        ("ddl", Gauge, "ticdc_sink_ddl_exec_count", "DDL events sent.", "type"),
        ("claims", Gauge, "ticdc_sink_mq_claim_check_send_message_count", "Messages in the claim-check storage.", ""),
        ("retries", Gauge, "ticdc_sink_kafka_producer_retry_count", "Connections tried again in the last batch.", ""),
        ("checkpoint", Gauge, "ticdc_owner_checkpoint_ts", "The watermark, in ms since the epoch.", ""),
        ("checkpoint_lag", Gauge, "ticdc_owner_checkpoint_ts_lag", "Wall clock less the watermark, in seconds.", ""),
        ("late", Counter, "ticdc_emit_late_rows_total", "Row changes dropped because a watermark had passed them.", ""),
        ("skipped", Counter, "ticdc_emit_skipped_rows_total", "Bad row changes that were skipped.", ""),
        ("discarded", Counter, "ticdc_emit_discarded_rows_total", "Row changes that a storage sink has discarded.", ""),
        ("filtered", Counter, "ticdc_emit_filtered_rows_total", "Row changes not replicated, by rule.", "rule"),
        ("seconds", Counter, "ticdc_emit_batch_seconds_total", "Seconds spent on batches.", ""),
        ("messages", Counter, "ticdc_emit_messages_total", "Messages sent, by what they say.", "kind"),
    )
    made: dict[str, Any] = {
        key: kind(name, text, [*_FEED, *label.split()], registry=place) for key, kind, name, text, label in rows
    }
    for key, name, text, label, buckets in (
        ("batch", "ticdc_sink_batch_row_count", "Row changes of a batch.", "type", _BATCH_ROWS),
        ("checkpoint_lags", "ticdc_owner_checkpoint_lag_histogram", "Wall clock less the watermark, in s.", "", _LAGS),
    ):
        made[key] = Histogram(name, text, [*_FEED, *label.split()], buckets=buckets, registry=place)
    return made
