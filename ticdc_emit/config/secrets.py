"""Secrets are shown nowhere: values that do not print, and texts with ``****`` in the place of secrets.

:func:`hide` knows the secrets; :func:`mask_uri` and :func:`mask_text` do not, and go by the names of parameters.
"""

from __future__ import annotations

import logging
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from functools import cache, wraps
from importlib import import_module
from itertools import chain
from typing import Generic, ParamSpec, TypeVar
from urllib.parse import quote, unquote, unquote_plus

from ticdc_emit.errors import TicdcEmitError

T = TypeVar("T")
P = ParamSpec("P")
MASK = "****"


class Secret(Generic[T]):
    """A value that never prints. Not a dataclass: ``dataclasses.asdict`` of a config must not open it."""

    __slots__ = ("_value",)
    _value: T

    def __init__(self, value: T) -> None:
        object.__setattr__(self, "_value", value)

    def reveal(self) -> T:
        """Return the value itself, for the place that needs it."""
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
    """Decorate a function with secrets in clear text: its errors lose its frames, whose variables many tools print."""

    @wraps(function)
    def hidden(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TicdcEmitError as error:
            del args, kwargs
            raise error.with_traceback(None)  # noqa: B904 - the same error, with the cause that it had

    return hidden


# -- secrets that are known, in the texts of others --------------------------------------------------------------------

_A_WORD = 4
"""A shorter secret is a part of many words, so it is masked only as a whole word."""
_SHORT_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def hide(text: str, secrets: Iterable[str | bytes]) -> str:
    """Return ``text`` with every secret masked: as it is, percent-encoded, escaped as in JSON, and in base64."""
    forms = {form for secret in secrets for form in _forms(secret)} if text else ()
    spans = sorted({found.span() for form in forms for found in re.finditer(form, text)})
    shown, at = [], 0
    for start, end in spans:
        if start >= at:
            shown += [text[at:start], MASK]
        at = max(at, end)
    return "".join([*shown, text[at:]])


def _forms(secret: str | bytes) -> Iterator[str]:
    data = secret.encode("utf-8", "surrogateescape") if isinstance(secret, str) else secret
    if not data:
        return
    letters = data.decode("utf-8", "replace")
    for form in (re.escape(letters), *("".join(map(write, letters)) for write in (_percent, _json))):
        yield form if len(letters) >= _A_WORD else rf"(?<![^\W_]){form}(?![^\W_])"
    for encode in (b64encode, urlsafe_b64encode) if len(data) > _A_WORD else ():
        for before in range(3):  # without the letters that depend on the neighbours of the secret
            coded = encode(bytes(before) + data).decode()
            yield re.escape(coded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6])


def _percent(letter: str) -> str:
    """Return a pattern of a letter in a URL: itself or percent-encoded; a form writes ``+`` for a blank."""
    coded = "".join(f"%(?i:{byte:02x})" for byte in letter.encode())
    return coded if letter in "%+" else f"(?:{coded}|[{re.escape(letter)}{'+' if letter == ' ' else ''}])"


def _json(letter: str) -> str:
    units = letter.encode("utf-16-be").hex()
    coded = "".join(rf"\\u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4))
    short = _SHORT_ESCAPES.get(letter, letter if letter.isalnum() else f"\\{letter}")
    own = "" if letter == "\\" else f"|{re.escape(letter)}"
    return f"(?:{coded}|{re.escape(short)}{own})"


# -- secrets that are not known: by the names of parameters ------------------------------------------------------------

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
_CLIENT = ("client", "kafka-client")
"""Sensitive to TiCDC, but not a secret that people paste."""
_DEEPEST_URI = 4
_ENCODED_AT = re.compile(r"@|%(?:25)*40")
_URI_IN_TEXT = re.compile(r"(?<![A-Za-z0-9+.\-])[A-Za-z0-9+.\-]+://[^\s\"'<>]+")
_HOST = r"(?:\[[^\]]*\]|[^:\[\],]+)(?::[0-9]*)?"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*\Z")
_NAME = re.compile(r"(?<![\w.\-])(?P<name>[\w.\-]+)\\*[\"']?\s*[=:]\s*")
_VALUE = re.compile(
    # a quoted value ends with the same quote, escaped equally often
    r"(?P<quote>\\*[\"'])(?:.*?(?<!\\)(?P=quote)|.*)|(?P<kind>(?:Bearer|Basic|Digest|Negotiate)\s+)?[^\s,;&]*",
    re.DOTALL | re.IGNORECASE,
)
_AUTHORIZATION = re.compile(r"(?i)\b(Bearer|Basic)(\s+)(?![a-z]+\b)[A-Za-z0-9._~+/\-]{6,}=*")
_ACTS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def is_sensitive_name(name: str) -> bool:
    lowered = name.lower()
    return lowered in _SENSITIVE_NAMES or any(word in lowered for word in _SENSITIVE_WORDS)


def mask_uri(uri: str) -> str:
    """Return ``uri`` with userinfo, sensitive query values, nested URIs' secrets and the fragment masked.

    Never raises: in a broken URI, all that could be secret is masked. Without ``scheme://`` the authority is first.
    """
    return _mask_uri(uri, 0)


def mask_text(text: str) -> str:
    """Free text (a log line, another library's error) with URIs masked and ``password=...``-like values replaced."""
    masked = _URI_IN_TEXT.sub(lambda found: mask_uri(found.group()), text)
    return _AUTHORIZATION.sub(rf"\1\2{MASK}", _mask_assignments(masked))


def printable(text: str, keep: str = "") -> str:
    """Return ``text`` with what a terminal or a log acts on as JSON escapes it. ``keep``: what stays."""
    return _ACTS.sub(lambda found: found[0] if found[0] in keep else _escaped(found[0]), text)


def _escaped(character: str) -> str:
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"


def foreign_text(text: str) -> str:
    """Return what another program or a server said as this one may show it: masked and printable."""
    return printable(mask_text(text))


def uri_secrets(uri: str) -> tuple[str, ...]:
    """Return the decoded secrets of a URI: password, or user without one, and sensitive values."""
    rest = uri[scheme.end() :] if (scheme := _SCHEME.match(uri)) else uri
    end = _userinfo_end(rest)
    user, _, password = rest[: max(end - 1, 0)].partition(":")
    pairs = [pair.partition("=") for pair in rest.partition("?")[2].split("&")]
    values = [unquote_plus(value) for name, _, value in pairs if is_sensitive_name(unquote_plus(name))]
    return tuple(secret for secret in (unquote(password or user), *values) if secret)


def shown_names(names: Iterable[str]) -> list[str]:
    """Return the names of a query's parameters, safe to show: an unknown one after a secret may be the rest of it."""
    shown, after_secret = [], False
    for name in names:
        plain = name.lower().replace("_", "-")
        if not after_secret or plain in _known_parameters():
            after_secret = is_sensitive_name(name) and _known_parameters().get(plain, not plain.startswith(_CLIENT))
            shown.append(name)
        else:
            shown.append(MASK)
    return shown


@cache
def _known_parameters() -> dict[str, bool]:
    """Any other name may be the rest of a secret. Only here the modules that declare options are imported."""
    import_module("ticdc_emit.config.load")
    declared: dict[str, bool] = import_module("ticdc_emit.config.binding").PARAMETERS
    uri = import_module("ticdc_emit.config.uri")
    of_storage = [*uri.STORAGE_PARAMETERS.values(), *uri.REFUSED_PARAMETERS.values()]
    names = ["protocol", "topic", "transaction-atomicity", *chain.from_iterable(of_storage)]
    return dict.fromkeys(names, True) | declared


def is_host_list(authority: str) -> bool:
    """Return whether this is ``host[:port]``, once or separated by commas, and nothing else."""
    return _HOSTS.match(authority) is not None


def _mask_assignments(text: str) -> str:
    pieces, at = [], 0
    while named := _NAME.search(text, at):
        pieces.append(text[at : named.end()])
        at = named.end()
        if is_sensitive_name(named["name"]) or named["name"].lower().endswith("authorization"):
            value = _VALUE.match(text, at)
            assert value is not None  # it may be empty
            pieces.append((value["kind"] or "") + MASK)
            at = value.end()
    return "".join([*pieces, text[at:]])


def _mask_uri(uri: str, depth: int) -> str:
    if depth > _DEEPEST_URI:
        return MASK
    scheme = _SCHEME.match(uri)
    prefix, rest = (scheme.group(), uri[scheme.end() :]) if scheme else ("", uri)
    userinfo = _userinfo_end(rest)
    rest = rest[userinfo:]
    body, fragment_mark, _ = rest.partition("#")
    path, query_mark, query = body.partition("?")
    pairs = query.split("&") if query else []
    names = shown_names(unquote_plus(pair.partition("=")[0]) for pair in pairs)
    masked_query = "&".join(
        MASK if pair and name == MASK else _mask_pair(pair, depth) for pair, name in zip(pairs, names, strict=True)
    )
    return "".join(
        (prefix, f"{MASK}@" if userinfo else "", path, query_mark, masked_query, f"#{MASK}" if fragment_mark else "")
    )


def _userinfo_end(rest: str) -> int:
    """People paste unescaped passwords and escaped URIs: ``@`` counts in the path and before the first ``=``, too."""
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    encoded = _last_at(authority)
    if authority and "@" not in authority and not is_host_list(authority[encoded:]):
        return _last_at(rest)
    before_query = rest.partition("?")[0]
    before_value = rest.partition("=")[0]
    return max(before_query.rfind("@") + 1, before_value.rfind("@") + 1, encoded)


def _last_at(text: str) -> int:
    return max((found.end() for found in _ENCODED_AT.finditer(text)), default=0)


def _mask_pair(pair: str, depth: int) -> str:
    name, mark, value = pair.partition("=")
    if not mark:
        # Perhaps the rest of an unescaped password.
        return MASK if pair else pair
    if is_sensitive_name(unquote_plus(name)):
        return f"{name}={MASK}"
    # a URI within a URI may be encoded more than once
    encoded, plain = value, unquote_plus(value)
    for _ in range(_DEEPEST_URI):
        masked = _mask_uri(plain, depth + 1)
        if masked != plain:
            return f"{name}={quote(masked, safe=':/?=*@,')}"
        encoded, plain = plain, unquote_plus(plain)
        if encoded == plain:
            return pair
    return f"{name}={MASK}"


# -- lines of other libraries' loggers ---------------------------------------------------------------------------------

AWS_LOGGERS = (
    "botocore.auth",
    "botocore.awsrequest",
    "botocore.endpoint",
    "botocore.hooks",
    "botocore.httpsession",
    "botocore.parsers",
    "botocore.retries.standard",
    "aiobotocore.endpoint",
    "aiobotocore.httpsession",
    "s3fs",
)
"""Loggers of signed requests and their answers. A filter on their parent would not see these records."""
HTTP_LOGGERS = ("httpcore.connection", "httpcore.http11", "httpcore.proxy", "httpx")
"""Loggers of answers' headers, which may repeat a login."""


def hide_in_logs(loggers: Iterable[str], secrets: Iterable[Secret[str] | None]) -> None:
    """Mask the secrets in the lines of these loggers. May be called again, also with other secrets."""
    known = [secret for secret in secrets if secret is not None and secret.reveal()]
    for name in loggers if known else ():
        logger = logging.getLogger(name)
        masking = next((each for each in logger.filters if isinstance(each, _Masking)), None)
        if masking is None:
            masking = _Masking()
            logger.addFilter(masking)
        masking.add(known)


class _Masking(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._secrets: frozenset[Secret[str]] = frozenset()

    def add(self, secrets: Iterable[Secret[str]]) -> None:
        self._secrets |= frozenset(secrets)

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        shown = hide(text, (secret.reveal() for secret in self._secrets))
        if shown != text:
            record.msg, record.args = shown, None
        return True
