"""The "TiCDC Canal-JSON Protocol" document: where it and TiCDC differ, and what the recorded messages lack as tests.

The statements of the document were run through TiCDC (``doc_canal_tp_int`` and ``doc_canal_types`` of
``tests/vectors``; commit_ts and clock are those of the run). Where the document's own text differs from the
bytes that TiCDC sends, the bytes win:

====================================================== ============================================== ==================
the document says                                      the bytes                                      seen in
====================================================== ============================================== ==================
columns of sqlType, mysqlType, data, old stand in      table order                                    doc_canal_tp_int
alphabetical order
``data`` before ``old`` in a DML message               ``old`` before ``data`` (DDL and WATERMARK:    doc_canal_tp_int
                                                       ``data`` before ``old``)
comments in the JSON, a comma after the last member    plain JSON, no white space                     any
Canal: ``decimal(10, 4)``                              ``decimal(10,4)``, with content-compatible     doc_canal_types
``old`` of an UPDATE has all columns                   so by default; only the changed ones with      doc_canal_tp_int
                                                       only-output-updated-columns or
                                                       content-compatible
mysqlType has no parameters                            so by default; content-compatible prints them  doc_canal_types
``enable-tidb-extension`` is for Canal-JSON only       Avro and Debezium read it too                  doc_debezium
SQL of a DDL shown without what TiDB adds              printed as the event has it                    ddl_lifecycle
type code of a NULL in an unsigned column not said     the base code                                  integers_unsigned
====================================================== ============================================== ==================
"""

from __future__ import annotations

import json
from typing import Any

from ticdc_emit import Encoder

_URI = "kafka://127.0.0.1:9092/topic-name?kafka-version=2.6.0&protocol=canal-json"


def _sent(column: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    encoder = Encoder(_URI, f"create table test.t (c {column})", force_replicate=True)
    return [json.loads(value) for value in encoder.encode(rows).column("value").to_pylist()]


def test_integer_sql_type_of_mixed_rows() -> None:
    """The code belongs to the row's own value, of an update to the new one; NULL has the base code."""
    images: list[dict[str, Any]] = [{"c": value} for value in (0, 127, 128, 255, None)]
    rows = [{"op": "c", "commit_ts": 1 << 18, "after": image} for image in images]
    rows += [{"op": "d", "commit_ts": 2 << 18, "before": image} for image in images]
    rows += [{"op": "u", "commit_ts": 3 << 18, "before": {"c": 5}, "after": image} for image in images]
    found = sorted(
        (message["data"][0]["c"] or "", message["sqlType"]["c"]) for message in _sent("tinyint unsigned", rows)
    )
    assert found == sorted([("0", -6), ("127", -6), ("128", 5), ("255", 5), ("", -6)] * 3)


def test_binary_values_are_latin1() -> None:
    every = bytes(range(256))
    (message,) = _sent("varbinary(256)", [{"op": "c", "commit_ts": 1 << 18, "after": {"c": every}}])
    assert message["data"][0]["c"].encode("latin-1") == every
