"""Spark's warnings about the library's own plans are quiet, and nothing else of a session's logging changes."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit.spark.session import LOGGERS, quiet_for_good, without_size_warnings
from ticdc_emit.traffic.generate import generate
from ticdc_emit.traffic.sample_schemas import sample_schema

pytestmark = pytest.mark.spark

OTHER = "org.apache.spark.sql.execution"


@pytest.fixture
def log4j(spark: Any) -> Any:
    """log4j of a user's session: without the levels that the library gives to sessions of its own."""
    if not hasattr(spark, "_jsparkSession"):
        pytest.skip("over Spark Connect the server logs")
    forget(spark._jvm.org.apache.logging.log4j)
    yield spark._jvm.org.apache.logging.log4j
    forget(spark._jvm.org.apache.logging.log4j)
    quiet_for_good(spark)


def forget(log4j: Any) -> None:
    context = log4j.LogManager.getContext(False)
    for name in LOGGERS:
        context.getConfiguration().removeLogger(name)
    context.updateLoggers()


def levels(log4j: Any) -> list[str]:
    return [log4j.LogManager.getLogger(name).getLevel().name() for name in (*LOGGERS, OTHER)]


def test_levels_are_those_of_before_after_overlapping_blocks(spark: Any, log4j: Any) -> None:
    before = levels(log4j)
    with without_size_warnings(spark):
        with without_size_warnings(spark):
            assert levels(log4j) == ["ERROR", "ERROR", before[-1]]
        assert levels(log4j) == ["ERROR", "ERROR", before[-1]]
    assert levels(log4j) == before


def test_a_level_that_the_user_has_set_stays(spark: Any, log4j: Any) -> None:
    log4j.core.config.Configurator.setLevel(LOGGERS[0], log4j.Level.DEBUG)
    with without_size_warnings(spark):
        assert levels(log4j)[:2] == ["DEBUG", "ERROR"]
    assert levels(log4j)[0] == "DEBUG"


def test_a_write_is_quiet_and_leaves_the_levels(spark: Any, log4j: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    traffic = generate(spark, "sysbench", tables=["sbtest.sbtest1"], rows=10)
    sink = traffic.sink("memory://quiet/t?protocol=canal-json&partition-num=1")
    during: list[list[str]] = []
    send = sink.changefeed.run
    monkeypatch.setattr(
        sink.changefeed, "run", lambda *args, **more: during.append(levels(log4j)) or send(*args, **more)
    )
    before = levels(log4j)
    assert sink.write(traffic.mixed()).rows == 10
    sink(traffic.mixed().limit(0), 1)
    assert [each[:2] for each in during] == [["ERROR", "ERROR"]] * 2
    assert levels(log4j) == before


@pytest.mark.parametrize("more", ["", "; create table test.other (id int primary key)"])
def test_code_of_many_columns_is_compiled(spark: Any, more: str) -> None:
    """With the switch, code that the JVM refuses is an error instead of a stack trace and a slower plan."""
    spark.conf.set("spark.sql.codegen.fallback", "false")
    try:
        traffic = generate(spark, sample_schema("all_types") + more, rows=300, rate=100, ddl_rate=5)
        assert len(traffic.mixed().collect()) == 300
        assert all(frame.count() for frame in traffic.tables().values())
    finally:
        spark.conf.unset("spark.sql.codegen.fallback")
