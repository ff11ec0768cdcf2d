"""ticdc_emit: emit the exact bytes that TiCDC would put on Kafka, without a TiDB cluster.

* :class:`Encoder`: row changes in, messages out, without Spark.
* :class:`ticdc_emit.spark.TicdcSink`: a ``foreachBatch`` sink for PySpark (extra ``spark``).
* :class:`Catalog`: table schemas from TiDB's DDL, version by version.
* :func:`restore_ddl`: a DDL statement as TiCDC writes it.
* :func:`load_changefeed`: TiCDC's own configuration, sink URI and changefeed TOML.

Importing this package imports neither pyspark nor confluent_kafka; the names above are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ticdc_emit.config import ChangefeedConfig, load_changefeed
    from ticdc_emit.encoder import Encoder
    from ticdc_emit.errors import TicdcEmitError
    from ticdc_emit.plan.restore import restore_ddl
    from ticdc_emit.schema.catalog import Catalog, catalog_from_sql

__all__ = [
    "Catalog",
    "ChangefeedConfig",
    "Encoder",
    "TicdcEmitError",
    "catalog_from_sql",
    "load_changefeed",
    "restore_ddl",
]
__version__ = "0.1.0"

_HOMES = {
    "Catalog": "schema.catalog",
    "ChangefeedConfig": "config",
    "Encoder": "encoder",
    "TicdcEmitError": "errors",
    "catalog_from_sql": "schema.catalog",
    "load_changefeed": "config",
    "restore_ddl": "plan.restore",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
