"""The recorded vectors that the tests read: one gzip file per case, by its name."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

__all__ = ["VECTORS", "load_vector", "vector_names", "vector_path"]

VECTORS = Path(__file__).parent / "vectors" / "classic"


def vector_names() -> list[str]:
    """Return the names of all cases, in order."""
    return sorted(path.name.removesuffix(".json.gz") for path in VECTORS.glob("*.json.gz"))


def vector_path(name: str) -> Path:
    """Return the file of a case."""
    return VECTORS / f"{name}.json.gz"


def load_vector(name: str) -> dict[str, Any]:
    """Read a case anew, so that a test may change what it gets."""
    case: dict[str, Any] = json.loads(gzip.decompress(vector_path(name).read_bytes()))
    return case
