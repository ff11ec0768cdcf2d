"""Where Spark looks for ``format("ticdc")``: a module ``pyspark_...`` on Python's path that has a ``DefaultSource``.

So a session needs no ``ticdc_emit.spark.register``. Spark imports this module when it first meets a format that none of
its jars has. Spark 4.0, which lacks what the format needs, does so too: its ``ticdc`` is one that says this when it is
used, so that other formats do not suffer.
"""

from contextlib import suppress

from pyspark.sql.datasource import DataSource

from ticdc_emit.spark import register


class DefaultSource(DataSource):
    """Raises :class:`~ticdc_emit.errors.MissingDependencyError` where it is used."""

    def __init__(self, options: object) -> None:
        register(None)  # it raises before it looks at the session

    @classmethod
    def name(cls) -> str:
        return "ticdc"


with suppress(ImportError):
    from ticdc_emit.spark.datasource import TicdcDataSource as DefaultSource  # type: ignore[assignment]

__all__ = ["DefaultSource"]
