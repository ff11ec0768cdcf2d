"""Kafka Connect's own JsonConverter: many messages through one JVM."""

from __future__ import annotations

import json
import subprocess
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ticdc_emit.testing.java import short_lived_jvm

_PROGRAM = Path(__file__).parent / "connect" / "Convert.java"
_JVM = ("-Xmx384m", *short_lived_jvm())


def can_compile(java: Path) -> bool:
    """Return whether this Java can run a source file: a runtime without compiler cannot."""
    answer = subprocess.run([str(java), "--list-modules"], capture_output=True, text=True, check=False, timeout=60)
    return "jdk.compiler" in answer.stdout


def connected(java: Path, jars: Path, messages: Iterable[tuple[bytes, bytes]]) -> list[dict[str, Any]]:
    """Return what the converter makes of each message's key and value (``key``, ``value``), or its ``error``.

    A struct is a dict, an array a list, any other value ``[type, value]`` with bytes as base64; null is ``None``.
    """
    given = "".join(f"{b64encode(key).decode()} {b64encode(value).decode()}\n" for key, value in messages)
    command = [str(java), *_JVM, "-cp", str(jars / "*"), str(_PROGRAM)]
    answer = subprocess.run(command, input=given.encode(), capture_output=True, check=False, timeout=240)
    if answer.returncode:
        raise RuntimeError(f"the converter ended with {answer.returncode}:\n{answer.stderr.decode()[-4000:]}")
    return [json.loads(line) for line in answer.stdout.decode().split("\n")[:-1]]  # texts may hold other line ends
