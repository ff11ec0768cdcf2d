"""Where Spark looks for ``format("ticdc")``: a module ``pyspark_...`` on Python's path that has a ``DefaultSource``.

So a session needs no ``ticdc_emit.spark.register``. Spark imports this module when it first meets a format that none of
its jars has. Spark 4.0, which lacks what the format needs, does so too: its ``ticdc`` is one that says this when it is
used, so that other formats do not suffer.
"""

from contextlib import suppress

from pyspark.sql.datasource import DataSource

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.spark.session import data_source


class DefaultSource(DataSource):
    """Raises :class:`MissingDependencyError` where it is used."""

    def __init__(self, options: object) -> None:
        data_source()

    @classmethod
    def name(cls) -> str:
        return "ticdc"


with suppress(MissingDependencyError):
    DefaultSource = data_source()  # type: ignore[misc]

__all__ = ["DefaultSource"]
