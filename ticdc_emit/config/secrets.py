"""Keep secrets out of every repr, log line, error and report.

:class:`Secret` holds a value that only :meth:`Secret.reveal` gives back.  :func:`mask_uri` and :func:`mask_text`
rewrite what people read, and :func:`hides_arguments` keeps a call's arguments out of tracebacks.  Which query
parameters are sensitive follows ``pkg/util/uri.go`` of pingcap/tiflow: any whose name contains one of its words (so
``keyspace`` and ``kafka-client-id`` are masked too), plus the signature of an Azure SAS.  A whole userinfo is masked,
not only its password: a schema registry's user is an API key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Generic, ParamSpec, TypeVar
from urllib.parse import quote, unquote_plus

from ticdc_emit.errors import TicdcEmitError

__all__ = ["MASK", "Secret", "hides_arguments", "is_host_list", "is_sensitive_name", "mask_text", "mask_uri"]

MASK = "****"

T = TypeVar("T")
P = ParamSpec("P")

_SENSITIVE_WORDS = (
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "access",
    "token",
    "secret",
    "key",
    "signature",
    "credential",
    "private",
    "client",
)
_SENSITIVE_NAMES = frozenset({"sig"})
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_URI_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^\s\"'<>]+")
_HOST = r"(?:\[[^\]]*\]|[^:\[\],]+)(?::[0-9]*)?"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*\Z")
_ASSIGNMENT = re.compile(
    r"(?i)(?P<name>[\w.\-]*(?:" + "|".join(_SENSITIVE_WORDS) + r")[\w.\-]*[\"']?\s*[=:]\s*)"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s,;&\"']+)"
)


class Secret(Generic[T]):
    """A value that never prints: ``repr``, ``str`` and ``format`` are ``****``.

    Immutable; compares, hashes and pickles by its value.  Deliberately no dataclass: ``dataclasses.asdict`` of a config
    must not open it.
    """

    __slots__ = ("_value",)
    _value: T

    def __init__(self, value: T) -> None:
        object.__setattr__(self, "_value", value)

    def reveal(self) -> T:
        """The value itself, for the one place that needs it."""
        return self._value

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Secret is immutable")

    def __eq__(self, other: object) -> bool:
        return self._value == other._value if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> tuple[type[Secret[T]], tuple[T]]:
        return Secret, (self._value,)

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MASK


def hides_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """``function``, whose arguments or locals are secrets in the clear: its errors leave it without its frames.

    Many tools print a traceback with the local variables of every frame.  The library's own errors say all that there
    is to say; any other exception passes with its traceback whole.
    """

    @wraps(function)
    def hidden(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TicdcEmitError as error:
            del args, kwargs
            raise error.with_traceback(None)  # noqa: B904 - the same error, with the cause that it had

    return hidden


def is_sensitive_name(name: str) -> bool:
    """Whether a parameter of this name is masked."""
    lowered = name.lower()
    return lowered in _SENSITIVE_NAMES or any(word in lowered for word in _SENSITIVE_WORDS)


def mask_uri(uri: str) -> str:
    """``uri`` with userinfo, sensitive query values, nested URIs' secrets and the fragment masked.

    Everything else stays as written.  A text without ``scheme://`` is treated as one whose authority comes first.
    Never raises: broken URIs are masked by the widest reading.
    """
    scheme = _SCHEME.match(uri)
    prefix, rest = (scheme.group(), uri[scheme.end() :]) if scheme else ("", uri)
    userinfo = _userinfo_end(rest)
    rest = rest[userinfo:]
    body, fragment_mark, _ = rest.partition("#")
    path, query_mark, query = body.partition("?")
    masked_query = "&".join(_mask_pair(pair) for pair in query.split("&")) if query else ""
    return "".join(
        (
            prefix,
            f"{MASK}@" if userinfo else "",
            path,
            query_mark,
            masked_query,
            f"#{MASK}" if fragment_mark else "",
        )
    )


def mask_text(text: str) -> str:
    """Free text (a log line, another library's error) with URIs masked and ``password=...``-like values replaced."""
    masked = _URI_IN_TEXT.sub(lambda found: mask_uri(found.group()), text)
    return _ASSIGNMENT.sub(lambda found: found["name"] + MASK, masked)


def is_host_list(authority: str) -> bool:
    """Whether this is ``host[:port]``, once or separated by commas, and nothing else."""
    return _HOSTS.match(authority) is not None


def _userinfo_end(rest: str) -> int:
    """Where the userinfo ends (after its ``@``), 0 if there is none.

    People paste passwords unescaped.  So ``@`` counts in the path and in a query's text before its first ``=`` too, and
    anywhere if what stands in the place of the authority is no list of hosts.
    """
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if authority and "@" not in authority and not is_host_list(authority):
        return rest.rfind("@") + 1
    before_query = rest.partition("?")[0]
    before_value = rest.partition("=")[0]
    return max(before_query.rfind("@"), before_value.rfind("@")) + 1


def _mask_pair(pair: str) -> str:
    name, mark, value = pair.partition("=")
    if not mark:
        # Perhaps the rest of an unescaped password.
        return MASK if pair else pair
    if is_sensitive_name(unquote_plus(name)):
        return f"{name}={MASK}"
    plain = unquote_plus(value)
    masked = mask_uri(plain)
    return pair if masked == plain else f"{name}={quote(masked, safe=':/?=*@,')}"
