"""Reports add up, say what they mean as JSON and as text, and reach Prometheus under TiCDC's names."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest
from rich.console import Console

from ticdc_emit.cli.console import print_summary
from ticdc_emit.delivery.base import DeliveryReport, PartitionCount
from ticdc_emit.observe.reports import ChangefeedMetrics, log_report, report_line
from ticdc_emit.pipeline.report import ReportLog, RunReport, RunTotal
from ticdc_emit.tso import compose

MS = 1_700_000_000_000


def report(batch_id: int = 7, **given: object) -> RunReport:
    values: dict[str, object] = {
        "batch_id": batch_id,
        "rows": 1000,
        "late_rows": 3,
        "delivery": DeliveryReport({("t", 1): PartitionCount(600, 6000), ("t", 0): PartitionCount(410, 4100)}, 2),
        "seconds": 0.5,
        "watermark": compose(MS),
        "max_commit_ts": compose(MS + 3_000, 5),
        "controls": {"ddl": 2, "watermark": 6, "bootstrap": 2},
        "ddl_events": 1,
        "claims": 4,
        "finished_ms": MS + 60_000,
    }
    return RunReport(**{**values, **given})  # type: ignore[arg-type]


def test_what_a_report_derives() -> None:
    one = report()
    assert (one.messages, one.bytes, one.retries) == (1010, 10_100, 2)
    assert (one.rows_per_second, one.messages_per_second) == (2000, 2020)
    assert one.messages_by_kind == {"rows": 1000, "ddl": 2, "watermark": 6, "bootstrap": 2}
    assert sum(one.messages_by_kind.values()) == one.messages
    assert one.lag_ms == 3_000
    assert one.wall_lag_ms is None
    assert report(live=True).wall_lag_ms == 60_000
    assert report(watermark=None, live=True).lag_ms is report(watermark=None, live=True).wall_lag_ms is None
    assert report(seconds=0.0).rows_per_second == 0


def test_a_total_is_the_sum_and_the_end_of_a_run_belongs_to_its_last_batch() -> None:
    end = report(8, rows=0, watermark=compose(MS + 3_000, 5), delivery=DeliveryReport({("u", 0): PartitionCount(1, 9)}))
    total = RunTotal.of([report(7), report(8), end])
    assert (total.batches, total.last_batch_id, total.rows, total.late_rows) == (2, 8, 2000, 9)
    assert (total.messages, total.bytes, total.retries, total.claims, total.ddl_events) == (2021, 20_209, 4, 12, 3)
    assert total.delivery.per_partition["t", 1] == PartitionCount(1200, 12_000)
    assert total.controls == {"ddl": 6, "watermark": 18, "bootstrap": 6}
    assert (total.seconds, total.lag_ms) == (1.5, 0)
    assert RunTotal.of([]).to_dict()["watermark"] is None


def test_json_holds_plain_values() -> None:
    read = json.loads(report().to_json())
    assert read == report().to_dict()
    assert read["partitions"][0] == {"topic": "t", "partition": 0, "messages": 410, "bytes": 4100}
    assert (read["batch_id"], read["retries"], read["lag_ms"], read["wall_lag_ms"]) == (7, 2, 3000, None)
    assert json.loads(RunTotal.of([report()]).to_json())["batches"] == 1


def test_a_line() -> None:
    assert report_line(report()) == (
        "batch 7: 1,000 rows, 1,010 messages, 2,000 rows/s, watermark 2023-11-14 22:13:20.000Z, lag 3.0 s, "
        "3 late rows dropped, 4 objects stored, 2 retries"
    )
    quiet = report(watermark=None, late_rows=0, claims=0, delivery=DeliveryReport(), seconds=0.0)
    assert report_line(quiet) == "batch 7: 1,000 rows, 0 messages"
    assert "lag 60.0 s" in report_line(report(live=True))
    assert report_line(RunTotal.of([report(1), report(2)])).startswith("2 batches: 2,000 rows")
    assert "watermark 4199-11-24 01:22:57.663Z" in report_line(report(watermark=2**64 - 1))


def test_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ticdc_emit.pipeline"):
        log_report(report())
    assert caplog.messages == [report_line(report())]


def test_the_command_line_prints_the_lines() -> None:
    out = io.StringIO()
    print_summary(Console(file=out, width=100, color_system=None), report())
    assert "t partition 1: 600 messages, 6,000 bytes" in out.getvalue()
    assert "1,000 rows, 1,010 messages, 10,100 bytes in 0.5 s (2,000 rows/s)" in out.getvalue()
    assert str(report()) == out.getvalue().rstrip("\n")


def test_one_of_a_thing_is_singular() -> None:
    one = DeliveryReport({("t", 0): PartitionCount(1, 1)}, retries=1)
    single = report(rows=1, late_rows=1, skipped={"a.b": 1}, filtered={"rules": 1}, claims=1, seconds=0.0, delivery=one)
    assert str(single) == (
        "t partition 0: 1 message, 1 byte\n"
        "1 row, 1 message, 1 byte in 0.0 s, 1 late row dropped, 1 bad row skipped, 1 row filtered"
    )
    assert report_line(single).startswith("batch 7: 1 row, 1 message, watermark")
    assert report_line(single).endswith(
        "1 late row dropped, 1 bad row skipped, 1 row filtered, 1 object stored, 1 retry"
    )
    assert "batch: 1 row, 1 message, 1 byte" in repr(RunTotal.of([single]))


def test_metrics_have_ticdc_s_names_and_labels() -> None:
    prometheus = pytest.importorskip("prometheus_client")
    registry = prometheus.CollectorRegistry()
    metrics = ChangefeedMetrics("orders", namespace="shop", registry=registry)
    other = metrics.labelled("users")
    metrics(report(7))
    metrics(report(8, watermark=compose(MS + 1_000)))
    other(report(1, watermark=None))
    feed = {"namespace": "shop", "changefeed": "orders"}
    kafka = {**feed, "type": "RowSink"}

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    assert value("ticdc_sink_table_sink_total_rows_count", **feed) == 2000
    assert value("ticdc_sink_batch_row_count_count", **kafka) == 2
    assert value("ticdc_sink_batch_row_count_sum", **kafka) == 2000
    assert value("ticdc_sink_batch_row_count_bucket", **kafka, le="512.0") == 0
    assert value("ticdc_sink_write_bytes_total", **kafka) == 20_200
    assert value("ticdc_sink_ddl_exec_count", **kafka) == 2
    assert value("ticdc_sink_mq_claim_check_send_message_count", **feed) == 8
    assert value("ticdc_sink_kafka_producer_retry_count", **feed) == 2
    assert value("ticdc_owner_checkpoint_ts", **feed) == MS + 1_000
    assert value("ticdc_owner_checkpoint_ts_lag", **feed) == 59.0
    assert value("ticdc_owner_checkpoint_lag_histogram_count", **feed) == 2
    assert value("ticdc_emit_messages_total", **feed, kind="watermark") == 12
    assert value("ticdc_sink_table_sink_total_rows_count", namespace="default", changefeed="users") == 1000
    assert value("ticdc_owner_checkpoint_ts", namespace="default", changefeed="users") is None
    text = prometheus.generate_latest(registry).decode()
    assert 'ticdc_sink_ddl_exec_count{changefeed="orders",namespace="shop",type="RowSink"} 2.0' in text


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from ticdc_emit.errors import MissingDependencyError

    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingDependencyError, match="pip install"):
        ChangefeedMetrics("x")


def test_a_failing_callback_is_logged_and_the_rest_are_called(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []

    def broken(each: RunReport) -> None:
        raise ValueError("no room")

    log = ReportLog((broken, lambda each: seen.append(each.batch_id)))
    log.add(report(3))
    log.add(report(4))
    assert seen == [3, 4]
    assert "on_report failed for batch 3" in caplog.text
    assert "no room" in caplog.text
    assert log.total.batches == 2
