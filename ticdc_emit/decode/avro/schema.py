"""The schemas of TiCDC's Avro messages, which are flat records.

In: a schema text, as a registry has it. Out: the schema, and the schema that fastavro reads by. A message's schema is
foreign input, and Avro schemas can refer to themselves, nest without limit and contain lists of zero-size items, so a
few bytes can become gigabytes. TiCDC's have fields of plain types, each nullable or not, and with
``avro-include-before-value`` one more field: the row before the change, a record of the same kind or null. Any other
schema is refused before a decoder sees it. Rule source: reference ``pingcap/tiflow: pkg/sink/codec/avro/avro.go``
(columnToAvroSchema).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticdc_emit.decode.avro_fields import check_field, only_type, plain_type
from ticdc_emit.decode.errors import OTHER_SCHEMAS, DecodeError
from ticdc_emit.json_depth import parsed

__all__ = ["BEFORE", "before_schema", "plain_schema", "read_schema"]

BEFORE = "_ticdc_before"
"""The field of the row before the change."""


def read_schema(text: str) -> dict[str, Any]:
    """Return a schema of TiCDC's. Raises :class:`DecodeError` for any other text."""
    try:
        schema = parsed(text.encode())
        if not isinstance(schema, dict) or schema.get("type") != "record":
            raise ValueError("it is not a record")
        if not isinstance(schema.get("name"), str) or not isinstance(schema.get("namespace", ""), str):
            raise ValueError("it has no name")
        fields = schema.get("fields")
        if not isinstance(fields, list):
            raise ValueError("it has no fields")
        for field in fields:
            before = _before(field)
            for each in [field] if before is None else before["fields"]:
                check_field(each)
    except ValueError as fault:
        raise DecodeError(f"the schema does not describe a table: {fault}", remedy=OTHER_SCHEMAS) from fault
    return schema


def before_schema(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema of the row before the change; ``None`` if messages do not have it."""
    return next((before for field in schema["fields"] if (before := _before(field)) is not None), None)


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a schema that a decoder needs: names and plain types. Decimals are read as bytes
    (:func:`decimals`).
    """
    fields = [{"name": field["name"], "type": _plain_type(field)} for field in schema["fields"]]
    return {"type": "record", "name": schema["name"], "namespace": schema.get("namespace", ""), "fields": fields}


def _before(field: Any) -> Mapping[str, Any] | None:
    """Return the record in the field of the previous row. Raises ``ValueError`` for one that is not TiCDC's."""
    if not isinstance(field, Mapping) or field.get("name") != BEFORE:
        return None
    record = only_type(field.get("type"))
    if not isinstance(record, Mapping) or record.get("type") != "record":
        return None  # a column may have this name
    named = isinstance(record.get("name"), str) and isinstance(record.get("namespace", ""), str)
    if not named or not isinstance(record.get("fields"), list):
        raise ValueError(f"the field {BEFORE} is not a row")
    return record


def _plain_type(field: Mapping[str, Any]) -> Any:
    before = _before(field)
    return plain_type(field["type"]) if before is None else ["null", plain_schema(before)]
