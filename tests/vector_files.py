"""The recorded vectors that the tests read: one gzip file per case, by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.vectors import read_document

VECTORS = Path(__file__).parent / "vectors" / "classic"
RAW_TEXT = "adv_raw_latin1"
"""The case whose latin1 columns hold bytes that are not UTF-8. Avro and Debezium carry them, so readers refuse them."""


def vector_names(lineage: str = "classic") -> list[str]:
    """Return the names of all cases of a lineage, in order."""
    return sorted(path.name.removesuffix(".json.gz") for path in (VECTORS.parent / lineage).glob("*.json.gz"))


def readable_names(lineage: str = "classic") -> list[str]:
    """Return the names of the cases whose messages a reader can give back as the rows that went in."""
    return [name for name in vector_names(lineage) if name != RAW_TEXT]


def vector_path(name: str, lineage: str = "classic") -> Path:
    """Return the file of a case."""
    return VECTORS.parent / lineage / f"{name}.json.gz"


def load_vector(name: str, lineage: str = "classic") -> dict[str, Any]:
    """Read a case anew, so that a test may change what it gets."""
    return read_document(vector_path(name, lineage))
