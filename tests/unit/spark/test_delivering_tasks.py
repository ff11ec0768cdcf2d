"""How many of Spark's tasks deliver a batch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ticdc_emit.pipeline.plan import Plan
from ticdc_emit.spark.batch import SparkBatch


def delivering_tasks(targets: int, cores: int | None, **settings: str) -> int:
    """``cores``: ``None`` for a session of Spark Connect, which has no context."""
    conf = {name.replace("_", "."): value for name, value in settings.items()}
    session: dict[str, Any] = {"conf": conf}
    if cores is not None:
        session["sparkContext"] = SimpleNamespace(defaultParallelism=cores)
    batch = SparkBatch({"s.t": cast("Any", SimpleNamespace(sparkSession=SimpleNamespace(**session)))}, None)
    plan = SimpleNamespace(targets=tuple(("t", number) for number in range(targets)))
    return batch._bucket_count(cast("Plan", plan))


@pytest.mark.parametrize(
    ("targets", "cores", "settings", "tasks"),
    [
        (0, 2, {}, 1),
        (3, 2, {}, 3),
        (1000, 2, {}, 8),
        (1000, 100, {}, 200),
        (1000, 100, {"spark_sql_shuffle_partitions": "7"}, 7),
        (1000, 2, {"spark_dynamicAllocation_enabled": "true"}, 200),
        (1000, None, {}, 200),
    ],
)
def test_as_many_as_cores_can_balance(targets: int, cores: int | None, settings: dict[str, str], tasks: int) -> None:
    assert delivering_tasks(targets, cores, **settings) == tasks
