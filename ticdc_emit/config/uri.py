"""Sink URIs and storage URIs, parsed as Go's ``net/url`` does, secrets wrapped.

Schemes of sinks: TiCDC's ``kafka`` and ``kafka+ssl``, three embedded sinks of this library, ``jsonl://DIRECTORY``,
``memory://NAME`` and ``stdout://`` (also ``-``), and those of TiCDC's storage sink. Others are refused by name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, unquote_plus, urlsplit

from ticdc_emit.config.document import refused
from ticdc_emit.config.secrets import MASK, Secret, hides_arguments, is_host_list, mask_uri, shown_names
from ticdc_emit.errors import ConfigError, shown
from ticdc_emit.hints import did_you_mean

KAFKA_SCHEMES = frozenset({"kafka", "kafka+ssl"})
STORAGE_SCHEMES = frozenset({"file", "s3", "gcs", "gs", "azblob", "azure", "noop"})
EMBEDDED_SCHEMES = frozenset({"jsonl", "memory", "stdout"})
FRAMINGS = ("json", "base64", "binary")
"""How ``stdout://`` separates messages (``delivery/stdout.py``); the first is the default."""
DEFAULT_EMBEDDED_TOPIC = "ticdc"

CLAIM_CHECK_OPTION = "claim-check-storage-uri"
_KINDS = {
    "": "file",
    "file": "file",
    "local": "file",
    "s3": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "azure": "azure",
    "azblob": "azure",
    "memory": "memory",
}
STORAGE_PARAMETERS: dict[str, tuple[str, ...]] = {
    "file": (),
    "memory": (),
    "s3": (
        *("endpoint", "region", "access-key", "secret-access-key", "session-token", "release", "provider"),
        *("force-path-style", "use-accelerate-endpoint", "storage-class", "acl", "sse", "sse-kms-key-id"),
    ),
    "gcs": ("endpoint", "credentials-file"),
    "azure": ("endpoint", "account-name", "account-key", "sas-token"),
}
"""The parameters of a storage URI, by kind."""
REFUSED_PARAMETERS: dict[str, tuple[str, ...]] = {
    "s3": ("role-arn", "external-id"),
    "gcs": ("storage-class", "predefined-acl"),
    "azure": ("access-tier", "encryption-scope", "encryption-key"),
}
"""Those that TiDB acts on and this library does not."""

_PARTS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?"
)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, repr=False)
class SinkUri:
    """A parsed sink URI.  ``str()`` and ``repr()`` show it masked."""

    scheme: str
    hosts: tuple[str, ...]
    """``host:port`` of each broker; empty for other sinks."""
    path: str
    """Directory of a ``jsonl`` sink, name of a ``memory`` sink, empty for ``stdout``, bucket and folder of a storage
    sink, else the path as written (slashes included).
    """
    topic: str
    params: tuple[tuple[str, Secret[str]], ...]
    """Query parameters in order, decoded. All are wrapped, because any of them may hold a secret."""
    dropped: tuple[str, ...]
    """Parts that Go silently drops: parameters with a bare ``;`` or a broken percent escape, and text after ``#``."""
    raw: Secret[str]

    @property
    def embedded(self) -> bool:
        """Whether this is one of the library's own sinks."""
        return self.scheme in EMBEDDED_SCHEMES

    @property
    def stored(self) -> bool:
        """Whether this is TiCDC's storage sink."""
        return self.scheme in STORAGE_SCHEMES

    @property
    def storage_parameters(self) -> tuple[str, ...]:
        """The names of parameters that are about the storage itself: its region, its keys ..."""
        kind = _KINDS.get(self.scheme, "")
        known = {*STORAGE_PARAMETERS.get(kind, ()), *REFUSED_PARAMETERS.get(kind, ())}
        return tuple(name for name, _ in self.params if name.lower().replace("_", "-") in known)

    @property
    def storage(self) -> Secret[str]:
        """The URI of the storage, with these parameters alone."""
        place, _, query = self.raw.reveal().partition("#")[0].partition("?")
        pairs = (pair for pair in query.split("&") if unquote_plus(pair.partition("=")[0]) in self.storage_parameters)
        return Secret(f"{place}?{'&'.join(pairs)}".removesuffix("?"))

    def get(self, name: str) -> str | None:
        """Return the first value of a parameter, None where it is absent."""
        return next((value.reveal() for key, value in self.params if key == name), None)

    def __str__(self) -> str:
        return mask_uri(self.raw.reveal())

    def __repr__(self) -> str:
        return f"SinkUri({str(self)!r})"

    @classmethod
    def parse(cls, text: str) -> SinkUri:
        """:class:`~ticdc_emit.errors.ConfigError` for a URI that is wrong, has an unsupported scheme or no topic."""
        parts = _PARTS.match(f"stdout://{text[1:]}" if text == "-" or text.startswith("-?") else text)
        if parts is None or _CONTROL.search(text) or _BAD_ESCAPE.search(parts["authority"] + parts["path"]):
            raise _invalid(
                "Write kafka://host:port[,host:port]/topic?..., jsonl://DIRECTORY?..., memory://NAME?..., "
                "stdout://?..., file:///DIRECTORY?... or s3://BUCKET/FOLDER?..."
            )
        scheme = parts["scheme"].lower()
        params, dropped = _parse_query(parts["query"] or "")
        if "#" in text:
            dropped.append("text after #")
        authority = parts["authority"].rpartition("@")[2]
        path = unquote(parts["path"])
        hosts: tuple[str, ...] = ()
        if scheme in KAFKA_SCHEMES:
            hosts, topic = tuple(authority.split(",")), path.strip("/")
            if not is_host_list(authority) or "@" in path:
                raise _invalid("Percent-encode / ? # and @ in a user name or password; a port is a number")
            if not topic:
                raise refused(
                    "ErrKafkaInvalidConfig",
                    "no topic is specified in sink-uri",
                    option="sink-uri",
                    remedy="Add the default topic after the brokers: kafka://host:port/topic",
                )
        elif scheme in EMBEDDED_SCHEMES:
            path = authority + path if scheme == "jsonl" else (authority + path).strip("/")
            topic = next((value for name, value in params if name == "topic" and value), DEFAULT_EMBEDDED_TOPIC)
            if scheme == "stdout":
                _check_stdout(path, params)
            elif not path.strip("/"):
                raise _invalid("Name the directory or the store: jsonl:///tmp/out?... or memory://name?...")
        elif scheme in STORAGE_SCHEMES:
            # TiCDC would drop what stands before the path, so that file://./out is /out
            if scheme == "file" and (authority or not path.strip("/")):
                raise _invalid(
                    "Give the whole path of a folder after three slashes, such as file:///tmp/out?protocol=csv; "
                    "jsonl://./out writes messages as lines of JSON"
                )
            path, topic = authority + path, DEFAULT_EMBEDDED_TOPIC
        else:
            raise refused(
                "ErrSinkURIInvalid",
                f"the sink scheme ({scheme}) is not supported",
                option="sink-uri",
                remedy="This library writes to kafka://, kafka+ssl://, jsonl://, memory:// and stdout:// sinks, and to "
                "the storage sinks file://, s3://, gcs:// and azblob://",
            )
        wrapped = tuple((name, Secret(value)) for name, value in params)
        return cls(scheme, hosts, path, topic, wrapped, tuple(dropped), Secret(text))


def _check_stdout(path: str, params: Sequence[tuple[str, str]]) -> None:
    if path:
        raise _invalid("Standard output has no host and no path: stdout://?protocol=canal-json; topic= names the topic")
    for name, value in params:
        if name == "framing" and value not in FRAMINGS:
            raise ConfigError(
                f"unknown framing {shown(value)}",
                remedy=f"{did_you_mean(value, FRAMINGS)}Give {', '.join(FRAMINGS[:-1])} or {FRAMINGS[-1]}",
                option="framing",
            )


def _invalid(remedy: str) -> ConfigError:
    # A URI that does not parse cannot be masked with certainty, so it is not shown, as in TiCDC.
    return refused("ErrSinkURIInvalid", "sink uri invalid '<invalid uri>'", option="sink-uri", remedy=remedy)


def _parse_query(query: str) -> tuple[list[tuple[str, str]], list[str]]:
    params: list[tuple[str, str]] = []
    dropped: list[str] = []
    pairs = query.split("&")
    shown = shown_names(unquote_plus(pair.partition("=")[0]) for pair in pairs)
    for pair, label in zip(pairs, shown, strict=True):
        name, mark, value = pair.partition("=")
        if ";" in pair or _BAD_ESCAPE.search(pair):
            # A pair without "=" may be the rest of an unescaped password: it is not shown.
            known = mark and label != MASK
            dropped.append(f"{name} (not percent-encoded)" if known else "a parameter that is not percent-encoded")
        elif pair:
            params.append((unquote_plus(name), unquote_plus(value)))
    return params, dropped


_ENCODED_PLUS = "%2B"


@dataclass(frozen=True)
class StorageUri:
    """A parsed storage URI. ``kind``: ``file``, ``s3``, ``gcs``, ``azure``, or ``memory`` (of this process, for tests).

    ``root``: the folder, for an object store from the bucket on. ``location``: the folder's name in messages.
    ``parameters``: by name, in lower case with ``-`` for ``_``. ``option``: the one that has the URI, for errors.
    """

    kind: str
    root: str
    location: str
    parameters: Secret[dict[str, str]]
    option: str = CLAIM_CHECK_OPTION

    @classmethod
    @hides_arguments
    def parse(cls, uri: str, option: str = CLAIM_CHECK_OPTION) -> StorageUri:
        """Read a URI, or a path of this machine; :class:`ConfigError` for one that names no known storage."""
        if _BAD_ESCAPE.search(uri):
            raise ConfigError(
                "the storage URI has a % that escapes nothing", remedy="Write %25 for a percent sign", option=option
            )
        # TiCDC keeps + as it is, because secret keys contain it
        try:
            parts = urlsplit(uri.replace("+", _ENCODED_PLUS))
        except ValueError:
            raise ConfigError(
                "the storage URI cannot be read", remedy="Use file://, s3://, gcs:// or azure://", option=option
            ) from None
        kind = _KINDS.get(parts.scheme)
        if kind is None:
            raise ConfigError(
                f"the storage {parts.scheme} is not supported",
                remedy="Use file://, s3://, gcs:// or azure://",
                option=option,
            )
        parameters: dict[str, str] = {}
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            parameters.setdefault(name.lower().replace("_", "-"), value)
        path = unquote(parts.path)
        if kind == "file":
            path = path if parts.scheme else os.path.abspath(uri)  # noqa: PTH100 - what Go's filepath.Abs gives
            return cls(kind, path.rstrip("/"), f"file://{path}".removesuffix("/"), Secret(parameters), option)
        bucket = unquote(parts.netloc.rpartition("@")[2])
        if not bucket:
            what = "container" if kind == "azure" else "bucket"
            raise ConfigError(
                f"the storage URI names no {what}",
                remedy=f"Write {parts.scheme}://{what.upper()}/FOLDER",
                option=option,
            )
        root = f"{bucket}/{path.strip('/')}".rstrip("/")
        return cls(kind, root, f"{kind}://{root}", Secret(parameters), option)
