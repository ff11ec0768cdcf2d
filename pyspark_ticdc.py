"""Where Spark looks for ``format("ticdc")``: a module ``pyspark_...`` on Python's path that has a ``DefaultSource``.

So a session needs no ``ticdc_emit.spark.register``. Spark imports this module when it first meets a format that none of
its jars has.
"""

from ticdc_emit.spark.datasource import TicdcDataSource as DefaultSource

__all__ = ["DefaultSource"]
