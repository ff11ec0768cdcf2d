"""The warning that tables of a changefeed have no handle key, so that TiCDC does not replicate them."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ticdc_emit.caller import warn_caller
from ticdc_emit.errors import TicdcEmitWarning

__all__ = ["KeylessTableWarning", "warn_keyless"]

logger = logging.getLogger(__name__)


class KeylessTableWarning(TicdcEmitWarning):
    """Tables of a changefeed without a handle key: their rows and DDL are left out, as TiCDC does it."""


def warn_keyless(tables: Iterable[tuple[str, str]]) -> None:
    """Warn that tables are not replicated, once for all of them; it is logged too."""
    names = ", ".join(f"{schema}.{name}" for schema, name in tables)
    message = (
        f"Tables without a primary key or a unique key over NOT NULL columns are left out, as TiCDC does it: {names}. "
        "Add a key, or set force-replicate = true"
    )
    logger.info(message)
    warn_caller(message, KeylessTableWarning)
