"""The URI of an external storage, as TiCDC reads and prints it.

In: ``claim-check-storage-uri``. Out: the folder of the objects, its name in messages, and the parameters of the
connection. Rule sources: ``pingcap/tidb: pkg/objstore/parse.go`` (ParseRawURL, parseBackend, ExtractQueryParameters)
and the ``URI()`` of each of its storages. The printed form has no parameters and therefore no secrets.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from ticdc_emit.config.secrets import Secret, hides_arguments
from ticdc_emit.errors import ConfigError

__all__ = ["StorageUri"]

_OPTION = "claim-check-storage-uri"
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
_ENCODED_PLUS = "%2B"
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class StorageUri:
    """A parsed storage URI. ``kind``: ``file``, ``s3``, ``gcs``, ``azure``, or ``memory`` (of this process, for tests).

    ``root``: the folder, without a slash at its end; for an object store it begins with the bucket. ``location``: the
    folder's name in messages. ``parameters``: the query by name, in lower case with ``-`` for ``_``.
    """

    kind: str
    root: str
    location: str
    parameters: Secret[dict[str, str]]

    @classmethod
    @hides_arguments
    def parse(cls, uri: str) -> StorageUri:
        """Read a URI, or a path of this machine; :class:`ConfigError` for one that names no known storage."""
        if _BROKEN_ESCAPE.search(uri):
            raise ConfigError(
                "the storage URI has a % that escapes nothing", remedy="Write %25 for a percent sign", option=_OPTION
            )
        # TiCDC keeps + as it is, because secret keys contain it
        try:
            parts = urlsplit(uri.replace("+", _ENCODED_PLUS))
        except ValueError:
            raise ConfigError(
                "the storage URI cannot be read", remedy="Use file://, s3://, gcs:// or azure://", option=_OPTION
            ) from None
        kind = _KINDS.get(parts.scheme)
        if kind is None:
            raise ConfigError(
                f"the storage {parts.scheme} is not supported",
                remedy="Use file://, s3://, gcs:// or azure://",
                option=_OPTION,
            )
        parameters: dict[str, str] = {}
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            parameters.setdefault(name.lower().replace("_", "-"), value)
        path = unquote(parts.path)
        if kind == "file":
            path = path if parts.scheme else os.path.abspath(uri)  # noqa: PTH100 - what Go's filepath.Abs gives
            return cls(kind, path.rstrip("/"), f"file://{path}".removesuffix("/"), Secret(parameters))
        bucket = unquote(parts.netloc.rpartition("@")[2])
        if not bucket:
            raise ConfigError(
                f"the storage URI names no bucket of {kind}", remedy=f"Write {kind}://BUCKET/FOLDER", option=_OPTION
            )
        root = f"{bucket}/{path.strip('/')}".rstrip("/")
        return cls(kind, root, f"{kind}://{root}", Secret(parameters))
