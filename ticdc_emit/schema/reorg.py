"""Whether MODIFY COLUMN rewrites the data. If it does, TiDB replaces the column by a new one with a new id.

Rule source: pingcap/tidb ``pkg/ddl/modify_column.go`` (``noReorgDataStrict``).
"""

from __future__ import annotations

from ticdc_emit.schema.model import Column
from ticdc_emit.schema.typenames import UNSPECIFIED_LENGTH, default_length
from ticdc_emit.schema.types import INTEGER_TYPES, LABEL_TYPES, STRING_TYPES, MySQLType

__all__ = ["needs_reorg"]

_CHAR, _VARCHARS = MySQLType.STRING, (MySQLType.VARCHAR, MySQLType.VAR_STRING)


def needs_reorg(old: Column, new: Column, *, indexed: bool) -> bool:
    """Return whether the stored data of ``old`` must be rewritten for ``new``. ``indexed``: whether an index has the
    column.
    """
    if old.type is new.type:
        return _same_type_differs(old, new)
    if {old.type, new.type} <= STRING_TYPES:
        to_char = old.type in _VARCHARS and new.type is _CHAR
        index_changes = indexed and old.type is _CHAR and new.type in _VARCHARS
        return to_char or index_changes or _shrinks(old, new)
    if {old.type, new.type} <= INTEGER_TYPES:
        return default_length(new.type)[0] < default_length(old.type)[0] or old.unsigned != new.unsigned
    return True


def _same_type_differs(old: Column, new: Column) -> bool:
    kind = old.type
    if kind is MySQLType.NEWDECIMAL:
        return (old.flen, old.decimal, old.unsigned) != (new.flen, new.decimal, new.unsigned)
    if kind in LABEL_TYPES:
        return old.elems != new.elems[: len(old.elems)]
    if kind in INTEGER_TYPES:
        return old.unsigned != new.unsigned
    if kind is _CHAR and old.is_binary:
        return old.flen != new.flen
    if kind is MySQLType.VECTOR_FLOAT32:
        return new.flen not in (UNSPECIFIED_LENGTH, old.flen)
    return _shrinks(old, new)


def _shrinks(old: Column, new: Column) -> bool:
    shorter = new.flen > 0 and (new.flen < old.flen or new.decimal < old.decimal)
    return shorter or old.unsigned != new.unsigned
