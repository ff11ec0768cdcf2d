"""The kind of a TiDB DDL action, one of the eight words of Canal-JSON and Simple.

Rule sources: semantics 2.2 "DDL type map"; reference ``pingcap/tiflow: pkg/sink/codec/canal/canal_entry.go``
(convertDdlEventType) and ``pkg/sink/codec/simple/message.go`` (getDDLType).
"""

from __future__ import annotations

__all__ = ["ddl_kind"]

_KINDS = {
    "CREATE": ("create table",),
    "RENAME": ("rename table", "rename tables"),
    "CINDEX": ("add index", "add foreign key", "add primary key"),
    "DINDEX": ("drop index", "drop foreign key", "drop primary key"),
    "ALTER": (
        "add column",
        "drop column",
        "modify column",
        "add columns",
        "drop columns",
        "rebase auto_increment ID",
        "set default value",
        "modify table comment",
        "rename index",
        "add partition",
        "drop partition",
        "truncate partition",
        "modify table charset and collate",
        "alter index visibility",
        "alter table multi-schema change",
        "alter table reorganize partition",
        "alter table partition by",
        "alter table remove partitioning",
    ),
    "ERASE": ("drop table",),
    "TRUNCATE": ("truncate table",),
}
_KIND_OF_ACTION = {action: kind for kind, actions in _KINDS.items() for action in actions}


def ddl_kind(action: str) -> str:
    """Return the kind of a TiDB DDL action (``CREATE``, ``ALTER`` ...); ``QUERY`` for actions without a kind of their
    own.
    """
    return _KIND_OF_ACTION.get(action, "QUERY")
