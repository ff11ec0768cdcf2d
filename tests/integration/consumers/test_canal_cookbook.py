"""Alibaba's Canal client reads Canal-JSON from a real broker: docs/cookbook.md#canal."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from comparison import Comparison, compared
from connect_json import can_compile
from cookbook_data import KEYS
from cookbook_send import Measured, Send, Sent
from missing_parts import java_and_jars, missing
from page_blocks import KAFKA, page_block
from wire_values import canal, shaped

from ticdc_emit.testing.java import short_lived_jvm

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CONSUMER, VERSION = "Canal client, flat messages", "1.1.8"
_JVM = ("-Xmx384m", *short_lived_jvm())


def _tables(sent: Sent, folder: Path) -> dict[str, dict[tuple[str, ...], dict[str, Any]]]:
    """Run the page's program, and return its tables by key."""
    java, jars = java_and_jars(Path(__file__).parent / "canal")
    if not can_compile(java):
        missing(f"{java} has no compiler; a JDK is needed")
    program = folder / "Tables.java"
    places = {KAFKA: sent.bootstrap, "shop_orders": sent.topics["orders"]}
    program.write_text(page_block("canal", "java", places=places), encoding="utf-8")
    command = [
        str(java),
        *_JVM,
        "-Dfile.encoding=UTF-8",
        "-Dstdout.encoding=UTF-8",
        "-cp",
        str(jars / "*"),
        str(program),
    ]
    answer = subprocess.run(command, capture_output=True, check=False, timeout=120)
    assert answer.returncode == 0, answer.stderr.decode()[-4000:]
    tables: dict[str, dict[tuple[str, ...], dict[str, Any]]] = {}
    for line in answer.stdout.decode().split("\n")[:-1]:
        table, row = line.split(" ", 1)
        values = json.loads(row)
        tables.setdefault(table, {})[tuple(values[name] for name in KEYS[table])] = values
    return tables


@pytest.mark.parametrize("options", ["enable-tidb-extension=true", "content-compatible=true"])
def test_canal_json(send: Send, measured: Measured, tmp_path: Path, options: str) -> None:
    sent = send("canal-json", options)
    read, total = _tables(sent, tmp_path), Comparison(0, 0, ())
    for table, expected in sent.data.tables(defaults=False).items():
        missing_columns = {name: None for row in expected.values() for name in row}
        rows = {key: missing_columns | row for key, row in read[table].items()}
        total += compared(table, shaped(table, expected, canal), rows)
    measured(CONSUMER, VERSION, "Canal-JSON", total)
