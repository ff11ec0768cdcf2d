"""What the storage under a state store raises, as one masked error of this library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ticdc_emit.config.secrets import foreign_text
from ticdc_emit.errors import StateError

__all__ = ["STORAGE_REMEDY", "storage"]

STORAGE_REMEDY = "Check that the folder of state_uri is there and may be used, then run the batch again"


@contextmanager
def storage(what: str, remedy: str = STORAGE_REMEDY, batch_id: int | None = None) -> Iterator[None]:
    """Turn what the storage's client raises, of any type, into a masked :class:`StateError`."""
    try:
        yield
    except StateError:
        raise
    except Exception as error:
        raise StateError(
            f"the state store cannot be {what}: {type(error).__name__}: {foreign_text(str(error))}",
            remedy=remedy,
            batch_id=batch_id,
        ) from None
