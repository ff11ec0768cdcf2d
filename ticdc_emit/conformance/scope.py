"""What this version leaves out of a conformance run, and how it tells.

Decided from the loaded configuration of a variant and from the kind of an event, never from the name of a file. Every
entry is named in the report with its counts. A feature leaves this list together with the code that brings it.
"""

from __future__ import annotations

from collections.abc import Callable

from ticdc_emit.config import NEXT, ChangefeedConfig
from ticdc_emit.config.merge import UriParameters

__all__ = ["ROUTES", "SHARED_SUBJECT", "event_left_out", "variant_left_out"]

ROUTES = "routes (dispatcher configurations)"
SHARED_SUBJECT = "rows that TiCDC writes with another table's schema (one subject, one version, other fields): refused"
"""Depends on what TiCDC encoded before, and corrupts data."""


def _handles_large_messages(config: ChangefeedConfig) -> bool:
    handle = config.codec.large_message_handle
    return handle.handle_key_only or handle.claim_check or handle.compression not in ("", "none")


def _prints_row_keys(config: ChangefeedConfig) -> bool:
    # classic does not know the option and ignores it, so its bytes are compared
    return config.profile == NEXT and UriParameters(config.sink_uri).text("output-row-key") == "true"


def _shows_before(config: ChangefeedConfig) -> bool:
    return config.profile == NEXT and UriParameters(config.sink_uri).text("avro-include-before-value") == "true"


def _marks_deletes(config: ChangefeedConfig) -> bool:
    return config.profile == NEXT and config.codec.avro_enable_watermark


_VARIANTS: dict[str, Callable[[ChangefeedConfig], bool]] = {
    "large messages (handle-key-only, claim-check, compression)": _handles_large_messages,
    "column selectors": lambda config: bool(config.column_selectors),
    "output-row-key (profile next)": _prints_row_keys,
    "avro-include-before-value (profile next)": _shows_before,
    "avro-enable-watermark's mark of deletes (profile next)": _marks_deletes,
    "dispatchers": lambda config: bool(config.dispatchers),
}
_EVENTS = {"txn": "transactions (update splitting)"}


def variant_left_out(config: ChangefeedConfig) -> str | None:
    """Return what of a variant's configuration this version does not act on, ``None`` if it does on all."""
    return next((what for what, asked in _VARIANTS.items() if asked(config)), None)


def event_left_out(kind: str) -> str | None:
    """Return why events of this kind are not encoded, ``None`` if they are."""
    return _EVENTS.get(kind)
