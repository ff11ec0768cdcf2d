"""Pictures of messages for Python: an overview of topics, and the timeline of a partition or key.

In: messages and the changefeed that sent them. Out: plotly figures (extra ``plot``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.decode.invariants import Finding, Verifier
from ticdc_emit.decode.overview_figure import overview_figure
from ticdc_emit.decode.points import Point, Points
from ticdc_emit.decode.schemas import SchemaSource
from ticdc_emit.decode.timeline_figure import timeline_figure
from ticdc_emit.delivery.base import Message
from ticdc_emit.pictures import require_plotly

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["plot_messages", "plot_timeline"]


def plot_messages(
    messages: Iterable[Message], config: ChangefeedConfig | str, *, schemas: SchemaSource | None = None
) -> Figure:
    """Return an overview: messages by topic-partition over commit time, rate, lag to the watermark, sizes.

    ``config``: the changefeed that sent the messages, or its sink URI. ``schemas``: Avro schemas by id, default the
    changefeed's registry. Raises :class:`~ticdc_emit.errors.ConfigError` without a message.
    """
    points, _ = _verified(messages, config, schemas, None)
    return overview_figure(points)


def plot_timeline(
    messages: Iterable[Message],
    config: ChangefeedConfig | str,
    *,
    topic: str | None = None,
    partition: int | None = None,
    key: str | None = None,
    partitions: Mapping[str, int] | int | None = None,
    schemas: SchemaSource | None = None,
    most: int = 1000,
) -> Figure:
    """Return one partition's commit times against offsets, with the findings of :func:`~ticdc_emit.verify` marked.

    ``topic``, ``partition``: default those of the first finding, else of the busiest partition. ``key``: the handle key
    to follow (``id=7``), default the first finding's. ``most``: how many messages to draw. ``config``, ``schemas``: as
    for :func:`plot_messages`; ``partitions``: as for :func:`~ticdc_emit.verify`. Raises
    :class:`~ticdc_emit.errors.ConfigError` for a partition or key without messages.
    """
    points, findings = _verified(messages, config, schemas, partitions)
    return timeline_figure(points, findings, topic=topic, partition=partition, key=key, most=most)


def _verified(
    messages: Iterable[Message],
    config: ChangefeedConfig | str,
    schemas: SchemaSource | None,
    partitions: Mapping[str, int] | int | None,
) -> tuple[list[Point], list[Finding]]:
    require_plotly()
    points = Points()
    verifier = Verifier(config, schemas=schemas, watch=points.see)
    for message in messages:
        verifier.see(message)
    return points.all, verifier.finish(partitions)
