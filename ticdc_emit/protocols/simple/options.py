"""What the sink URI, the changefeed and its profile say about the Simple protocol, resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["VERSION", "SimpleOptions"]

VERSION = 1
"""The protocol's version, which every message shows."""


@dataclass(frozen=True)
class SimpleOptions:
    """Options of both encodings. The defaults are those of the ``classic`` profile (semantics 1.2, B1 to B5).

    ``location``: the changefeed's time zone, as every TIMESTAMP names it. ``column_order``: that of a table schema's
    columns. ``pre_table_schema``: which DDL show the schema before them. ``exchange_partition``: that DDL's type.
    ``avro_bit``: the branch of BIT values. ``avro_timestamp_decimal``: whether a TIMESTAMP's data type shows its fsp.
    """

    encoding: Literal["json", "avro"] = "json"
    location: str = "UTC"
    enable_row_checksum: bool = False
    column_order: Literal["id", "table"] = "id"
    pre_table_schema: Literal["all", "exchange-partition"] = "all"
    exchange_partition: Literal["QUERY", "ALTER"] = "QUERY"
    avro_bit: Literal["long", "string"] = "long"
    avro_timestamp_decimal: bool = False
