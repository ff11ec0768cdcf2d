"""The part of names that Avro and Debezium share: what schema names allow of a database, table, column or cluster.

Rule source: semantics 2.1 "Naming"; reference ``pingcap/tiflow: pkg/sink/codec/common/helper.go`` (SanitizeName).
"""

from __future__ import annotations

import re

__all__ = ["sanitize"]

_OTHER = re.compile(r"[^A-Za-z0-9_]")
_LEADING_DIGIT = re.compile(r"[0-9]")


def sanitize(name: str) -> str:
    """Return the name with an underscore for every character that schema names refuse, and before a leading digit."""
    clean = _OTHER.sub("_", name)
    return "_" + clean if _LEADING_DIGIT.match(clean) else clean
