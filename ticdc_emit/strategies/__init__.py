"""Hypothesis strategies for tests of programs that read TiCDC's messages (extra ``strategies``).

    @given(histories(), changefeeds())
    def test_my_consumer(history, feed):
        assert my_tables(history.messages(feed.sink_uri, changefeed=feed.changefeed)) == history.tables()

Rows are ``dict[str, str | None]`` of canonical text. A wrong argument raises :class:`~ticdc_emit.errors.StrategyError`
when a strategy is made.
"""

from __future__ import annotations

from ticdc_emit.errors import importing

with importing("ticdc_emit.strategies needs hypothesis", extra="strategies", package="hypothesis"):
    import hypothesis  # noqa: F401

from ticdc_emit.strategies.changefeeds import PROTOCOLS, FeedOptions, changefeeds
from ticdc_emit.strategies.columns import TYPES, names, tables
from ticdc_emit.strategies.ddl import DDL_KINDS, ddl
from ticdc_emit.strategies.deliveries import Delivery, deliveries, redelivered
from ticdc_emit.strategies.failures import watch_failures
from ticdc_emit.strategies.histories import changes, histories, rows
from ticdc_emit.strategies.values import values

__all__ = [
    "DDL_KINDS",
    "PROTOCOLS",
    "TYPES",
    "Delivery",
    "FeedOptions",
    "changefeeds",
    "changes",
    "ddl",
    "deliveries",
    "histories",
    "names",
    "redelivered",
    "rows",
    "tables",
    "values",
    "watch_failures",
]
