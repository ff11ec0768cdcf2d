"""Column defaults in Avro schemas.

In: a column with the default that TiDB stores. Out: the JSON text of the schema's ``default``, as Go prints TiCDC's
value of it. Rule sources: semantics 2.1 (type table); reference ``pingcap/tiflow: pkg/sink/codec/avro/avro.go``
(columnToAvroData, which parses defaults as if they were values), ``linkedin/goavro: record.go`` and ``integer.go`` (a
union's default must survive float64).
"""

from __future__ import annotations

import base64
import re

import numpy as np

from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.avro.types import AvroOptions, AvroType
from ticdc_emit.protocols.gojson import float_text, json_text
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType

__all__ = ["default_text"]

_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_LONG_LIMIT = 1 << 63


def default_text(column: Column, kind: AvroType, options: AvroOptions) -> str | None:
    """Return the default as JSON text; ``None`` if the schema has none; :class:`SchemaError` for an invalid one."""
    default = column.default
    if default is None:
        return None
    if column.type is MySQLType.VECTOR_FLOAT32 and options.switches.vector_default == "refused":
        raise _refused(column, "a VECTOR default has no Avro value")
    if kind == "decimal":
        _parsed(column, _NUMBER)
        return None
    if kind == "bytes":
        raw = default if isinstance(default, bytes) else default.encode()
        return json_text(base64.b64encode(raw).decode())
    if kind == "string":
        return json_text(default if isinstance(default, str) else default.decode("utf-8", "replace"))
    if kind in ("float", "double"):
        return float_text(_float(column, single=kind == "float"))
    return str(_integer(column, kind))


def _parsed(column: Column, form: re.Pattern[str]) -> str:
    text = column.default
    if not isinstance(text, str) or not form.fullmatch(text):
        raise _refused(column, f"the default {text!r} is not a {column.type.name} value")
    return text


def _float(column: Column, *, single: bool) -> float:
    text = _parsed(column, _NUMBER)
    with np.errstate(over="ignore"):
        value = float(np.float32(text)) if single else float(text)
    if value in (float("inf"), float("-inf")):
        raise _refused(column, f"the default {text} is out of range")
    return value


def _integer(column: Column, kind: AvroType) -> int:
    number = int(_parsed(column, _INTEGER))
    if kind == "int":
        return number
    limit = _LONG_LIMIT * 2 if column.unsigned else _LONG_LIMIT
    if number >= limit:
        raise _refused(column, f"the default {number} is out of range")
    wrapped = number - 2 * _LONG_LIMIT if number >= _LONG_LIMIT else number
    if column.nullable and float(wrapped) >= _LONG_LIMIT:
        raise _refused(column, f"the default {number} of a nullable column loses its value as a double")
    return wrapped


def _refused(column: Column, why: str) -> SchemaError:
    return SchemaError(why, remedy="Change the column's DEFAULT", column=column.name)
