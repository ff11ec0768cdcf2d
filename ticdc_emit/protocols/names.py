"""Names that several formats share: of tables and columns in schemas, of labels. Rule source: ``pingcap/tiflow:
pkg/sink/codec/common/helper.go`` (SanitizeName, EscapeEnumAndSetOptions).
"""

from __future__ import annotations

import re

_OTHER = re.compile(r"[^A-Za-z0-9_]")


def sanitize(name: str) -> str:
    """Return the name with an underscore for each character invalid in schema names, and before a leading digit."""
    clean = _OTHER.sub("_", name)
    return "_" + clean if clean[:1].isdigit() else clean


def escaped_label(label: str) -> str:
    """Return a label as written in a comma-separated list of labels."""
    # Debezium's rules, in their order.
    return label.replace(",", "\\,").replace("\\'", "'").replace("''", "'")
