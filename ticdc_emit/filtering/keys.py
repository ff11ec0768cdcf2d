"""Which tables have a handle key: a primary key, or a unique key over columns that are NOT NULL.

TiCDC replicates only these tables, unless ``force-replicate`` is set. Views need no key.

Rule sources: pingcap/tiflow ``cdc/model/schema_storage.go`` (IsEligible, IsIndexUnique); pingcap/ticdc
``pkg/common/table_info.go``.
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.schema.model import TableInfo

__all__ = ["KeyRule"]


@dataclass(frozen=True)
class KeyRule:
    """``forced``: every table is replicated. ``virtual_keys``: whether a unique key over virtual columns counts."""

    forced: bool
    virtual_keys: bool

    @classmethod
    def of(cls, config: ChangefeedConfig) -> KeyRule:
        return cls(config.force_replicate, config.profile.filtering.virtual_keys == "accepted")

    def allows(self, info: TableInfo) -> bool:
        """Return whether this version of a table (or view) can be replicated."""
        if self.forced or info.is_view or info.whole_handle_key:
            return True
        return self.virtual_keys and _has_virtual_key(info)


def _has_virtual_key(info: TableInfo) -> bool:
    """Return whether a unique key has only declared columns that are NOT NULL; an expression's column is hidden."""
    filled = {column.name for column in info.columns if not column.nullable and not column.hidden}
    return any(index.unique and filled.issuperset(index.columns) for index in info.indexes)
