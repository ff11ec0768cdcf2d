"""Read URI parameters as TiCDC binds them, and merge the URI with the changefeed file.

In: the sink URI's parameters and a table of the file.  Out: typed values; a text that does not parse is refused with
TiCDC's message.  Rules: gin's query binding (an empty text is ``false`` or 0, the first of several values counts) and
``mergo.Merge`` with override.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ticdc_emit.config.document import Section, hinted
from ticdc_emit.config.gotext import GoSyntaxError, parse_bool, parse_duration_ms, parse_int
from ticdc_emit.config.refusal import bind_refused
from ticdc_emit.config.secrets import MASK, Secret, shown_names
from ticdc_emit.config.sink_uri import SinkUri
from ticdc_emit.errors import ConfigError

__all__ = ["MergedOptions", "UriParameters", "merge"]

T = TypeVar("T")

_AFTER_A_SECRET = "a parameter after a secret (percent-encode & in a password)"


def merge(file_value: T | None, uri_value: T | None) -> T | None:
    """Return the URI's value over the file's.

    As in the reference, a false, zero or empty URI value does not replace a value that the file sets: ``mergo`` takes
    it for "not given".
    """
    if uri_value is None or (not uri_value and file_value is not None):
        return file_value
    return uri_value


class UriParameters:
    """Typed readers of a URI's query that remember what was read; None for a missing parameter."""

    def __init__(self, uri: SinkUri) -> None:
        self._uri = uri
        self._read: set[str] = set()

    def text(self, name: str) -> str | None:
        self._read.add(name)
        return self._uri.get(name)

    def boolean(self, name: str) -> bool | None:
        return self._bound(name, parse_bool, "false", "Give true or false")

    def integer(self, name: str, bits: int = 64) -> int | None:
        """Return a signed integer of that many bits."""
        return self._bound(name, lambda text: parse_int(text, bits), "0", f"Give a whole number of {bits} bits")

    def _bound(self, name: str, parse: Callable[[str], T], empty: str, remedy: str) -> T | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            return parse(text or empty)
        except GoSyntaxError as error:
            raise bind_refused(str(error), option=name, remedy=remedy) from None

    def unread(self) -> list[str]:
        """Names of the parameters that nothing has read, and the parts of the URI that were dropped as malformed."""
        shown = shown_names(name for name, _ in self._uri.params)
        names = [
            # A name without a value may be the rest of an unescaped password.
            label if value.reveal() else "a parameter without a value"
            for label, (name, value) in zip(shown, self._uri.params, strict=True)
            if name not in self._read
        ]
        names = [_AFTER_A_SECRET if name == MASK else hinted(name, self._read) for name in names]
        return list(dict.fromkeys([*names, *self._uri.dropped]))


class MergedOptions:
    """Options that the URI and one table of the file give under the same name; None if neither does."""

    def __init__(self, uri: UriParameters, table: Section) -> None:
        self._uri = uri
        self._table = table

    def text(self, name: str) -> str | None:
        """None for an empty text too: TiCDC takes it for "not given"."""
        return merge(self._table.text(name), self._uri.text(name)) or None

    def boolean(self, name: str) -> bool | None:
        return merge(self._table.boolean(name), self._uri.boolean(name))

    def integer(self, name: str, bits: int = 64) -> int | None:
        """Return a signed integer of that many bits."""
        return merge(self._table.integer(name, bits), self._uri.integer(name, bits))

    def integer_or(self, name: str, default: int, bits: int = 64) -> int:
        """Return the integer, or ``default``; zero is a value."""
        value = self.integer(name, bits)
        return default if value is None else value

    def secret(self, name: str) -> Secret[str] | None:
        text = self.text(name)
        return Secret(text) if text else None

    def duration_ms(self, name: str, default: int) -> int:
        """Return a Go duration in milliseconds."""
        text = self.text(name)
        if not text:
            return default
        try:
            return parse_duration_ms(text)
        except GoSyntaxError as error:
            raise ConfigError(str(error), option=name, remedy="Write a duration such as 10s") from None
