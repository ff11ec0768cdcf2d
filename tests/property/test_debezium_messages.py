"""Random tables, values and options: what the Debezium encoder writes, the reader gives back as the oracle says.

The payload is compared too, as JSON has it: the reader may not hide what other consumers would see.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import pytest
from debezium_cases import BUILD_MS, DebeziumCase, debezium_cases
from debezium_oracle import OracleColumn, connect_type, payload, schema_default, told
from hypothesis import given, settings
from hypothesis_profiles import examples
from random_tables import COMMIT_TS

from ticdc_emit.errors import InvalidValueError
from ticdc_emit.protocols.debezium.decoder import DebeziumReader
from ticdc_emit.protocols.debezium_common.records import DebeziumRow


def _bits(columns: Mapping[str, OracleColumn], image: Mapping[str, Any]) -> dict[str, Any]:
    """Return an image whose floats compare by their bits (JSON has 5 for 5.0), other values by their type too."""
    formats = {"float": "<f", "double": "<d"}
    return {
        name: struct.pack(formats[connect_type(columns[name])], value)
        if value is not None and connect_type(columns[name]) in formats
        else (type(value), value)
        for name, value in image.items()
    }


def _first(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


def _whole(text: str) -> float:
    return -0.0 if text == "-0" else int(text)


@settings(max_examples=examples(200))
@given(debezium_cases())
def test_what_went_in_comes_out(case: DebeziumCase) -> None:
    reader, columns, zone = DebeziumReader(case.has_schema), case.columns(), case.made.zone
    options = {"has_schema": case.has_schema, "extension": case.extension}
    if case.refused():
        with pytest.raises(InvalidValueError, match="default in place of NULL"):
            case.messages()
        return
    messages = case.messages()
    assert len(messages) == len(case.made.rows)
    for place, ((op, row), (key, value)) in enumerate(zip(case.made.rows, messages, strict=True)):
        read = reader.read(key, value)
        assert isinstance(read, DebeziumRow)
        source, stamp = read.source, COMMIT_TS + place
        assert (read.op, read.ts_ms, source.commit_ts, source.ts_ms) == (op, BUILD_MS, stamp, stamp >> 18)
        assert (source.db, source.table) == (case.made.schema, case.made.table)
        assert (source.name, source.cluster_id) == (case.cluster_id, case.cluster_id)
        given_row = case.image(row)
        expected = _bits(
            columns, {one.name: told(one, given_row[one.name], zone, **options) for one in columns.values()}
        )
        shown = _bits(columns, {one.name: payload(one, given_row[one.name], zone) for one in columns.values()})
        sent = json.loads(value, object_pairs_hook=_first, parse_int=_whole)["payload"]
        old = op == "d" or (op == "u" and case.old_value)
        for name, image, there in (("before", read.before, old), ("after", read.after, op != "d")):
            assert (image is not None) == there
            if image is not None:
                assert list(image) == case.made.names
                assert _bits(columns, image) == expected
                assert _bits(columns, sent[name]) == shown
        assert set(read.key) == set(case.made.key)
        assert _bits(columns, read.key) == {name: expected[name] for name in read.key}
        if read.fields is not None:
            types = [(field.name, field.type, not field.optional) for field in read.fields]
            assert types == [(one.name, connect_type(one), one.not_null) for one in columns.values()]
            assert all((field.tidb_type is not None) == case.extension for field in read.fields)
            for field in read.fields:
                default, number = field.default, type(field.default) is int
                assert (float(default) if number else default) == schema_default(columns[field.name])
