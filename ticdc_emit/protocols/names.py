"""Names that several formats share: of tables and columns in schemas, of labels, of kinds of DDL.

Rule sources: semantics 2.1 "Naming", 2.2 "DDL type map"; reference ``pingcap/tiflow: pkg/sink/codec/common/helper.go``
(SanitizeName, EscapeEnumAndSetOptions), ``pkg/sink/codec/canal/canal_entry.go`` (convertDdlEventType) and
``pkg/sink/codec/simple/message.go`` (getDDLType).
"""

from __future__ import annotations

import re

_OTHER = re.compile(r"[^A-Za-z0-9_]")
_LEADING_DIGIT = re.compile(r"[0-9]")


def sanitize(name: str) -> str:
    """Return the name with an underscore for every character that is invalid in schema names, and before a leading
    digit.
    """
    clean = _OTHER.sub("_", name)
    return "_" + clean if _LEADING_DIGIT.match(clean) else clean


def escaped_label(label: str) -> str:
    """Return a label as written in a comma-separated list of labels."""
    # Debezium's rules, in their order.
    return label.replace(",", "\\,").replace("\\'", "'").replace("''", "'")


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
