"""``docs/control.md``: its tables are the code's, and its commands run."""

from __future__ import annotations

from api_client import running_api
from documented import blocks_of

from tests import control_page
from ticdc_emit.emulator import guard, recording, server, source, ticdc_api
from ticdc_emit.sql import json_depth


def test_the_page_has_the_tables_of_the_code() -> None:
    text = control_page.PAGE.read_text(encoding="utf-8")
    assert text == control_page.page(text), "python -m tests.control_page"


def test_the_commands_of_the_page_run() -> None:
    blocks = [block.code for block in blocks_of("docs/control.md") if block.language == "sh"]
    commands = [line for block in blocks for line in block.splitlines() if line.startswith("curl")]
    assert len(commands) > 8
    with running_api() as api:
        for command in commands:
            answer = api.curl(command)
            assert answer.status_code == 200, f"{command}: {answer.text}"


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    text = " ".join(control_page.PAGE.read_text(encoding="utf-8").split())
    mib = 1 << 20
    for words in (
        f"a body above {guard.MOST_BODY_BYTES // mib} MiB",
        f"more than {guard.BODY_TIMEOUT_S:.0f} seconds",
        f"nested more than {json_depth.DEEPEST} levels",
        f"more than {guard.MOST_AT_ONCE} requests at once",
        f"{recording.MOST_MESSAGES:,} of each topic-partition, {recording.MOST_BYTES // mib} MiB in all",
        f"more than {server.MOST_CONNECTIONS} connections",
        f"more than {ticdc_api.MOST_CHANGEFEEDS} changefeeds",
        f"Changes are kept up to {source.MOST_BYTES // mib} MiB",
    ):
        assert words in text
