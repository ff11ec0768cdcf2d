"""What a sink URI and a changefeed file are refused with, by release: the lines of ``refusals.txt``.

A line has releases, a URI (or what follows ``kafka://h:9092/t?protocol=``), TOML, the message (``…`` for any text;
``loads`` for none), and a part of the whole error.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from ticdc_emit.config import ConfigWarning, load_changefeed
from ticdc_emit.errors import ConfigError

REFUSED = Path(__file__).with_name("refusals.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", REFUSED)
def test_it_is_refused(line: str) -> None:
    releases, uri, toml, message, *more = (part.replace("\\n", "\n") for part in line.split(" | "))
    if not re.match(r"=|[a-z0-9+]+://", uri):
        uri = f"kafka://h:9092/t?protocol={uri}"
    pattern = ".*".join(map(re.escape, message.split("…")))
    for release in releases.split():
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConfigWarning)
            if message == "loads":
                load_changefeed(uri.removeprefix("="), toml, release=release)
                continue
            with pytest.raises(ConfigError) as refused:
                load_changefeed(uri.removeprefix("="), toml, release=release)
        assert re.fullmatch(pattern, refused.value.message, re.DOTALL)
        assert "".join(more) in str(refused.value)
        code = re.match(r"\[(CDC:\w+)\]", message)
        assert code is None or refused.value.code == code[1]
