"""``curl`` command lines as requests, for the tests of pages that show them."""

from __future__ import annotations

import shlex
from typing import NamedTuple
from urllib.parse import urlsplit


class CurlRequest(NamedTuple):
    """``path``: with the query. ``headers``: as given, but not one that is malformed, which curl leaves out."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None


_WITHOUT_VALUE = ("-s", "-sf", "-f", "-i", "-sS")


def curl_request(command: str) -> CurlRequest:
    """Read a command; ``ValueError`` for an option that is not known here."""
    words = iter(shlex.split(command))
    assert next(words) == "curl"
    method, body, url, headers = "", None, "", dict[str, str]()
    for word in words:
        if word in ("-X", "--request"):
            method = next(words)
        elif word in ("-H", "--header"):
            name, _, value = next(words).partition(":")
            if name.replace("-", "").isalnum():
                headers[name] = value.strip()
        elif word in ("-d", "--data", "--data-binary"):
            body = next(words).encode()
        elif word in _WITHOUT_VALUE:
            continue
        elif word.startswith("-"):
            raise ValueError(f"the option {word} of curl is not known here")
        else:
            url = word
    parts = urlsplit(url if "://" in url else f"http://{url}")
    headers.setdefault("Host", parts.netloc)
    if body is not None:
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    return CurlRequest(method or ("GET" if body is None else "POST"), path or "/", headers, body)
