"""Distinctive secrets, one for each place that a changefeed takes one from, and what a test looks for them in.

A secret is looked for as it is, and in base64 wherever it may stand in what was encoded.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import pickle
import traceback
from collections.abc import Iterable
from typing import Any

_PLACES = (
    "userinfo",
    "sasl-password",
    "registry-login",
    "storage-key",
    "storage-token",
    "file-sasl-password",
    "oauth-secret",
    "glue-access-key",
    "glue-secret-key",
    "glue-token",
    "librdkafka",
    "state-login",
)
SECRETS = {place: f"zQ{number:02d}".join(("c4N", "aRy7")) for number, place in enumerate(_PLACES)}
"""Put together here, so that no line of source in a traceback holds one."""


def _forms(secret: str) -> Iterable[bytes]:
    data = secret.encode()
    yield data
    for before in range(3):
        coded = base64.b64encode(b"x" * before + data)
        # the letters that depend on what stands beside the secret are left out
        yield coded[(before * 8 + 5) // 6 : len(coded) - 4]


def leaks(text: str | bytes) -> list[str]:
    """Return the places whose secrets the text holds."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return [place for place, secret in SECRETS.items() if any(form in data for form in _forms(secret))]


def sink_uri(authority: str = "127.0.0.1:1", *, protocol: str = "canal-json", more: str = "") -> str:
    """Return a sink URI with a secret wherever one can stand."""
    secret = SECRETS
    return (
        f"kafka://me:{secret['userinfo']}@{authority}/t?protocol={protocol}&enable-tidb-extension=true"
        f"&dial-timeout=1s&sasl-user=me&sasl-password={secret['sasl-password']}{more}"
    )


def changefeed(
    *, storage: str = "s3://bucket/claims", claim_check: bool = True, oauth: str | None = None
) -> dict[str, Any]:
    """Return a changefeed's file as a mapping, with secrets in it; ``oauth``: host and port of a token endpoint."""
    kafka: dict[str, Any] = {"sasl-password": SECRETS["file-sasl-password"]}
    if oauth is not None:
        kafka |= {
            "sasl-oauth-client-id": "me",
            "sasl-oauth-client-secret": base64.b64encode(SECRETS["oauth-secret"].encode()).decode(),
            "sasl-oauth-token-url": f"http://me:{SECRETS['userinfo']}@{oauth}/token",
        }
    if claim_check:
        kafka["large-message-handle"] = {
            "large-message-handle-option": "claim-check",
            "claim-check-storage-uri": f"{storage}?access-key=me&secret-access-key={SECRETS['storage-key']}"
            f"&session-token={SECRETS['storage-token']}",
        }
    return {"sink": {"kafka-config": kafka}}


def shown_error(error: BaseException) -> str:
    """Return everything that a log, a debugger or another process may show of an error, locals of its frames too."""
    from rich.console import Console
    from rich.traceback import Traceback

    trace = error.__traceback__
    while trace is not None and "/ticdc_emit/" not in trace.tb_frame.f_code.co_filename:
        trace = trace.tb_next  # the caller's own frames have what the caller put there
    out = io.StringIO()
    everything = Traceback.from_exception(
        type(error),
        error,
        trace,
        show_locals=True,
        locals_max_length=10_000,
        locals_max_string=100_000,
        locals_hide_dunder=False,
        max_frames=0,
        width=1_000,
    )
    Console(file=out, width=100_000, soft_wrap=True).print(everything)
    plain = "".join(traceback.format_exception(error))
    context = vars(error).get("context")
    return "\n".join([out.getvalue(), plain, str(error), repr(error), repr(error.args), repr(context)])


def shown_object(found: object) -> str:
    """Return everything that printing an object may show."""
    from rich.pretty import pretty_repr

    texts = [repr(found), str(found), f"{found}", pretty_repr(found, max_width=10_000)]
    if hasattr(found, "__dict__"):
        texts.append(repr(vars(found)))
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        try:
            texts.append(repr(dataclasses.asdict(found)))
        except (TypeError, pickle.PicklingError):  # a part that cannot be copied
            texts.append(repr([getattr(found, each.name) for each in dataclasses.fields(found)]))
    return "\n".join(texts)
