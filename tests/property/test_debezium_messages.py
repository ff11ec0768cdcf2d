"""Random tables, values and options: what the Debezium encoder writes, the reader gives back as the oracle says."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import pytest
from debezium_cases import BUILD_MS, DebeziumCase, debezium_cases
from debezium_oracle import OracleColumn, connect_type, payload, schema_default
from hypothesis import given, settings
from hypothesis_profiles import examples
from random_tables import COMMIT_TS

from ticdc_emit.errors import InvalidValueError
from ticdc_emit.protocols.debezium.decoder import DebeziumReader
from ticdc_emit.protocols.events import RowEvent


def _bits(columns: Mapping[str, OracleColumn], image: Mapping[str, Any]) -> dict[str, Any]:
    """Return an image whose floats compare by their bits (JSON has 5 for 5.0), other values by their type too."""
    formats = {"float": "<f", "double": "<d"}
    return {
        name: struct.pack(formats[connect_type(columns[name])], value)
        if value is not None and connect_type(columns[name]) in formats
        else (type(value), value)
        for name, value in image.items()
    }


_OPS = {"c": "insert", "u": "update", "d": "delete"}


@settings(max_examples=examples(200))
@given(debezium_cases())
def test_what_went_in_comes_out(case: DebeziumCase) -> None:
    reader, columns, zone = DebeziumReader(case.has_schema), case.columns(), case.made.zone
    if case.refused():
        with pytest.raises(InvalidValueError, match="default in place of NULL"):
            case.messages()
        return
    messages = case.messages()
    assert len(messages) == len(case.made.rows)
    for place, ((op, row), (key, value)) in enumerate(zip(case.made.rows, messages, strict=True)):
        read = reader.read(key, value)
        assert isinstance(read, RowEvent)
        stamp = COMMIT_TS + place
        assert (read.op, read.commit_ts, read.commit_ms) == (_OPS[op], stamp, stamp >> 18)
        assert (read.schema, read.table) == (case.made.schema, case.made.table)
        sent, source = read.message.payload, read.message.payload["source"]
        assert (sent["ts_ms"], source["name"], source["cluster_id"]) == (BUILD_MS, case.cluster_id, case.cluster_id)
        given_row = case.image(row)
        shown = _bits(columns, {one.name: payload(one, given_row[one.name], zone) for one in columns.values()})
        old = op == "d" or (op == "u" and case.old_value)
        for image, there in ((read.before, old), (read.after, op != "d")):
            assert (image is not None) == there
            if image is not None:
                assert list(image) == case.made.names
                assert _bits(columns, image) == shown
        key_image = read.key or {}
        assert set(key_image) == set(case.made.key)
        assert _bits(columns, key_image) == {name: shown[name] for name in key_image}
        if read.message.fields is not None:
            types = [(field.name, field.type, not field.optional) for field in read.message.fields]
            assert types == [(one.name, connect_type(one), one.not_null) for one in columns.values()]
            assert all((field.tidb_type is not None) == case.extension for field in read.message.fields)
            for field in read.message.fields:
                default, number = field.default, type(field.default) is int
                assert (float(default) if number else default) == schema_default(columns[field.name])
