"""The "TiCDC Debezium Protocol" document: where it and TiCDC differ.

Where the document's own text differs from what TiCDC sends, the bytes win:

====================================================== ============================================== ==================
the document says                                      the bytes                                      seen in
====================================================== ============================================== ==================
key of a row: ``"optional":true``                      ``false``: a handle key has no NULLs           cluster_id
key of a row: ``fields`` first, ``type`` last          ``type``, ``name``, ``optional``, ``fields``   any
value of a row: ``op`` before ``before``, ``after``    so; a DELETE has ``after`` before ``before``   any
keys hold "primary key or unique index columns"        the handle key; none: an empty payload         no_primary_key
``schema.version`` is text                             a number                                       any
DDL: ``schema.name`` is                                ``io.debezium.connector.mysql.                 any
``{cluster}.{schema}.{table}.SchemaChangeValue``       SchemaChangeValue``
DDL: ``source`` in the schema is ``field`` first       ``type`` first, as in the schema of a row      any
RENAME: ``id`` is ``"test"."table2","test"."table1"``  the old name first                             rename_tables
INT: ``"length":0``                                    null                                           cluster_id
``"defaultCharsetName":""``                            the table's, say ``utf8mb4``                   cluster_id
``primaryKeyColumnNames`` is text                      a list of texts                                any
``enumValues`` is ``['e1','e2']``                      a list of texts with quotes: ``["'e1'"]``      doc_debezium_notes
ENUM ``("c,\\'d','g,''h")`` becomes                    a quote inside stays single: ``'g,'h'``;       doc_debezium_notes
``('c,'d', 'g,''h')``                                  a comma in ``allowed`` is ``\\,``
TIME default '1000-00-00 01:00:00.000' becomes         tableChanges show it whole; it means one hour  doc_debezium_notes
"1000-00-00"
utf8_unicode_ci: no ``charsetName``                    ``utf8``                                       doc_debezium_notes
FLOAT: wrong flen                                      null, unless digits of the fraction are given; doc_debezium_notes
                                                       FLOAT(p > 24) is DOUBLE                        floats
every DDL is an event                                  not foreign keys, TTL, shard bits, auto-id     ddl_rest
                                                       cache
DDL and WATERMARK events from v9.0.0 on                already before                                 watermarks
DATE, DATETIME that do not exist not said              NULL; in a NOT NULL column 0                   times_ny
years below 100 not said                               0069 is 2069, 0070 is 1970                     times_partial_zero
TIMESTAMP before 1970-01-01 00:00:01 not said          1970-01-01T00:00:00Z; as TiCDC compares them,  times_ny: zeros
                                                       by the changefeed's clocks
NULL in a column with a DEFAULT not said               the default                                    null_with_default
BIGINT UNSIGNED not said                               wraps: 18446744073709551615 is -1              doc_debezium
``output-old-value`` not mentioned                     false: an UPDATE has no ``before`` at all      doc_debezium
``source`` has commit_ts and cluster_id                its schema has neither, but ``sequence``,      any
                                                       which no payload has
====================================================== ============================================== ==================
"""

from __future__ import annotations

import pytest

from ticdc_emit import Encoder
from ticdc_emit.errors import SchemaError

_URI = "kafka://127.0.0.1:9092/topic-name?kafka-version=2.4.0&protocol=debezium"


@pytest.mark.parametrize("kind", ["geometry", "point", "linestring", "polygon", "geometrycollection"])
def test_no_spatial_types(kind: str) -> None:
    with pytest.raises(SchemaError):
        Encoder(_URI, f"create table test.t (c {kind})")
