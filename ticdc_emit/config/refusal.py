"""TiCDC's refusals as :class:`ConfigError`, made in one place.

In: an RFC error code, TiCDC's text, the option at fault.  Out: an error whose ``message`` is TiCDC's own line
(``[CDC:Code]text``), so that it can be compared with TiCDC's output (``pkg/errors/cdc_errors.go`` of pingcap/tiflow
holds codes and templates).  The text that TiCDC's callers add around that line is left out.
"""

from __future__ import annotations

from ticdc_emit.errors import ConfigError

__all__ = ["bind_refused", "refused"]


def refused(code: str, text: str, *, option: str, remedy: str = "") -> ConfigError:
    """Return the refusal ``[CDC:code]text`` of ``option``; the caller raises it."""
    return ConfigError(f"[CDC:{code}]{text}", remedy=remedy, option=option, code=f"CDC:{code}")


def bind_refused(cause: str, *, option: str, remedy: str = "") -> ConfigError:
    """Return the refusal of a URI parameter that does not parse. TiCDC uses an error code of MySQL for every sink."""
    return refused("ErrMySQLInvalidConfig", f"MySQL config invalid: {cause}", option=option, remedy=remedy)
