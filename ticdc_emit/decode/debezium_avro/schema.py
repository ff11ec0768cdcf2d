"""The schemas of Debezium's messages in Avro: an envelope with two images of one row and its source, or a flat key.

In: a schema text, as a registry has it. Out: the columns, and the schema that fastavro reads by. A message's schema is
foreign input and could nest without limit, so any other schema is refused before decoding. Rule source: reference
``pingcap/ticdc: pkg/sink/codec/debezium/avro.go`` (toAvroSchema).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ticdc_emit.decode.avro_fields import check_field, decimal_scales, only_type, plain_type
from ticdc_emit.decode.connect.records import DebeziumField
from ticdc_emit.decode.errors import OTHER_SCHEMAS, DecodeError
from ticdc_emit.json_depth import parsed

__all__ = ["RowSchema", "read_schema"]

_ENVELOPE = ["before", "after", "source", "op", "ts_ms"]
_KEY, _VALUE = "Key", "Envelope"
_CONNECT = {"int": "int32", "long": "int64"}


@dataclass(frozen=True)
class RowSchema:
    """The content of a registered schema.

    ``table``: namespace and name of the table, in Avro's form. ``names``: the column of each field. ``plain``: the
    schema that a decoder reads by. ``scales``: the decimals' digits after the point, by field.
    """

    table: str
    columns: tuple[DebeziumField, ...]
    names: Mapping[str, str]
    plain: Mapping[str, Any] = field(repr=False)
    scales: Mapping[str, int] = field(repr=False)


def read_schema(text: str, part: str) -> RowSchema:
    """Return the schema of a part, ``key`` or ``value``. Raises :class:`DecodeError` for one that is not TiCDC's."""
    try:
        record = _record(parsed(text.encode()))
        full, end = _full_name(record), _KEY if part == "key" else _VALUE
        if not full.endswith(end):
            raise ValueError(f"its name does not end in {end}")
        table = full[: -len(end)]
        if part == "key":
            return _made(table, record, _plain_record(record))
        fields = {each["name"]: each for each in record["fields"]}
        if list(fields) != _ENVELOPE:
            raise ValueError("it is not an envelope")
        row, source = _record(only_type(fields["before"]["type"])), _record(fields["source"]["type"])
        if _full_name(row) != table or only_type(fields["after"]["type"]) not in (table, row["name"]):
            raise ValueError("its images belong to another table")
        kinds: list[Any] = [["null", _plain_record(row)], ["null", "row"], _plain_record(source, "source")]
        kinds += [plain_type(fields[name]["type"]) for name in _ENVELOPE[3:]]
        members = [{"name": name, "type": kind} for name, kind in zip(_ENVELOPE, kinds, strict=True)]
        return _made(table, row, {"type": "record", "name": "envelope", "fields": members})
    except ValueError as fault:
        raise DecodeError(
            f"the schema does not describe Debezium's rows: {fault}", remedy=OTHER_SCHEMAS, part=part
        ) from fault


def _made(table: str, row: Mapping[str, Any], plain: Mapping[str, Any]) -> RowSchema:
    columns = tuple(map(_column, row["fields"]))
    names = {each["name"]: column.name for each, column in zip(row["fields"], columns, strict=True)}
    return RowSchema(table, columns, names, plain, decimal_scales(row))


def _record(schema: Any) -> Mapping[str, Any]:
    if not isinstance(schema, Mapping) or schema.get("type") != "record" or not isinstance(schema.get("fields"), list):
        raise ValueError("it is not a record")
    if not isinstance(schema.get("name"), str) or not isinstance(schema.get("namespace", ""), str):
        raise ValueError("it has no name")
    for each in schema["fields"]:
        if not isinstance(each, Mapping) or not isinstance(each.get("name"), str):
            raise ValueError("a field has no name")
    return schema


def _full_name(record: Mapping[str, Any]) -> str:
    return f"{record.get('namespace', '')}.{record['name']}"


def _plain_record(record: Mapping[str, Any], name: str = "row") -> dict[str, Any]:
    for each in record["fields"]:
        check_field(each)
    fields = [{"name": each["name"], "type": plain_type(each["type"])} for each in record["fields"]]
    return {"type": "record", "name": name, "fields": fields}


def _column(described: Mapping[str, Any]) -> DebeziumField:
    """Return a column. ``type`` is Kafka Connect's, except ``bytes`` for base64 text."""
    kind = only_type(described["type"])
    told: Mapping[str, Any] = kind if isinstance(kind, Mapping) else {"type": kind}
    name, tidb_type = described.get("connect.field", described["name"]), described.get("tidb_type")
    semantic, parameters = told.get("connect.name"), told.get("connect.parameters", {})
    texts = [name, semantic or "", tidb_type or ""]
    if not all(isinstance(text, str) for text in texts) or not isinstance(parameters, Mapping):
        raise ValueError(f"the field {described['name']!r:.100} has a property of the wrong type")
    connect = told.get("connect.type") or _CONNECT.get(told["type"], told["type"])
    return DebeziumField(name, connect, isinstance(described["type"], list), semantic, parameters, None, tidb_type)
