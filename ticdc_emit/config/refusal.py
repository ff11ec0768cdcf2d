"""TiCDC's refusals as :class:`ConfigError`, and warnings of what TiCDC accepts without effect, made in one place.

In: an RFC error code, TiCDC's text, the option at fault.  Out: an error whose ``message`` is TiCDC's own line
(``[CDC:Code]text``), so that it can be compared with TiCDC's output (``pkg/errors/cdc_errors.go`` of pingcap/tiflow
holds codes and templates).  The text that TiCDC's callers add around that line is left out.
"""

from __future__ import annotations

import logging

from ticdc_emit.caller import warn_caller
from ticdc_emit.errors import ConfigError, TicdcEmitWarning

__all__ = ["ConfigWarning", "bind_refused", "refused", "warn_of_option"]

logger = logging.getLogger(__name__)


class ConfigWarning(TicdcEmitWarning):
    """Options without effect, or with another one than their text says: unknown ones, options of TiCDC that this
    library does not use, and mistyped values that TiCDC replaces.
    """


def warn_of_option(text: str) -> None:
    """Warn of an option (:class:`ConfigWarning`)."""
    # The log repeats the warning for runs that collect logs only; at INFO, or a bare console would show it twice.
    logger.info(text)
    warn_caller(text, ConfigWarning)


def refused(code: str, text: str, *, option: str, remedy: str = "") -> ConfigError:
    """Return the refusal ``[CDC:code]text`` of ``option``; the caller raises it."""
    return ConfigError(f"[CDC:{code}]{text}", remedy=remedy, option=option, code=f"CDC:{code}")


def bind_refused(cause: str, *, option: str, remedy: str = "") -> ConfigError:
    """Return the refusal of a URI parameter that does not parse. TiCDC uses an error code of MySQL for every sink."""
    return refused("ErrMySQLInvalidConfig", f"MySQL config invalid: {cause}", option=option, remedy=remedy)
