"""The "TiCDC Row Data Checksum Verification Based on Avro" document as tests.

The document is one consumer program. Where it refuses or crashes on what TiCDC really sends, the row says what
``ticdc_emit.verify_checksum`` does instead (``tests/unit/protocols/avro/test_avro_checksum.py``):

====================================================== ============================================== ==================
the document                                           the bytes                                      seen in
====================================================== ============================================== ==================
TIMESTAMP: the text of the message                     the checksum is over the text in UTC: accepted checksum_all_types
                                                       only where the changefeed's zone is UTC
a clock set back makes two instants one text: not said TiCDC marks the row with the other instant     times_dst
                                                       as corrupted
``strings.Split(allowed, ",")``                        a comma inside an element is ``\\,``            enums_sets
labels of ``allowed`` are those of the value           ``''`` in an element is ``'`` in ``allowed``   enums_sets
no case for VECTOR (the program ends)                  ``TiDBVECTORFloat32``: dimensions, float32s    vectors
"0" is a checksum like any other                       it stands where there is none: both halves of  txn_checksum
                                                       a split UPDATE
goes on with an empty value after saying "skip"        a delete has a null value                      checksum_utc
a corrupted row ends the program                       TiCDC says so itself: ``_tidb_corrupted``      checksum_corrupted
"column IDs are used to sort the fields"               only with integrity checks; without, fields    checksum_column_
                                                       have table order and there is no checksum      order
====================================================== ============================================== ==================
"""

from __future__ import annotations

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import ConfigError

_URI = "kafka://127.0.0.1:9092/avro-checksum-test?protocol=avro"
_STRINGS = "&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
_CORRECTNESS = "[integrity]\nintegrity-check-level = 'correctness'\n"
_REGISTRY = "http://127.0.0.1:8081"


@pytest.mark.parametrize(
    "options",
    [
        _STRINGS,  # the extension is off
        "&enable-tidb-extension=true&avro-decimal-handling-mode=string",
        "&enable-tidb-extension=true&avro-bigint-unsigned-handling-mode=string",
        "&enable-tidb-extension=true" + _STRINGS.replace("=string", "=precise", 1),
    ],
)
def test_what_the_feature_must_have(options: str) -> None:
    with pytest.raises(ConfigError):
        load_changefeed(_URI + options, _CORRECTNESS, schema_registry=_REGISTRY)
