"""Mask secrets in the logs of other libraries with a filter on their loggers that knows the values.

In: names of loggers, and secrets. Out: nothing; their lines show ``****`` from then on. At DEBUG, botocore logs the
text that it signs, which holds the access key and the session token.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ticdc_emit.config.encoded_secrets import hide
from ticdc_emit.config.secrets import Secret

__all__ = ["AWS_LOGGERS", "HTTP_LOGGERS", "hide_in_logs"]

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
