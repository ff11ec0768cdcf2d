"""What this version leaves out of a conformance run, and how it tells.

Decided from the loaded configuration of a variant, never from the name of a file. Every entry is named in the report
with its counts. A feature leaves this list together with the code that brings it.
"""

from __future__ import annotations

from collections.abc import Callable

from ticdc_emit.config import NEXT, ChangefeedConfig
from ticdc_emit.config.merge import UriParameters

__all__ = ["SHARED_SUBJECT", "variant_left_out"]

SHARED_SUBJECT = "rows that TiCDC writes with another table's schema (one subject, one version, other fields): refused"
"""Depends on what TiCDC encoded before, and corrupts data."""


def _prints_row_keys(config: ChangefeedConfig) -> bool:
    # classic does not know the option and ignores it, so its bytes are compared
    return config.profile == NEXT and UriParameters(config.sink_uri).text("output-row-key") == "true"


def _shows_before(config: ChangefeedConfig) -> bool:
    return config.profile == NEXT and UriParameters(config.sink_uri).text("avro-include-before-value") == "true"


def _marks_deletes(config: ChangefeedConfig) -> bool:
    return config.profile == NEXT and config.codec.avro_enable_watermark


_VARIANTS: dict[str, Callable[[ChangefeedConfig], bool]] = {
    "output-row-key (profile next)": _prints_row_keys,
    "avro-include-before-value (profile next)": _shows_before,
    "avro-enable-watermark's mark of deletes (profile next)": _marks_deletes,
}


def variant_left_out(config: ChangefeedConfig) -> str | None:
    """Return what of a variant's configuration this version does not act on, ``None`` if it does on all."""
    return next((what for what, asked in _VARIANTS.items() if asked(config)), None)
