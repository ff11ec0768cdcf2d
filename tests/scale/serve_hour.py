"""serve as an operator runs it: an hour of traffic, calls of tests beside it, an unread stderr, SIGTERM in a long call.

In: minutes and rows a second. Out: memory at the start, in the middle and at the end, what the server says that it
keeps, how long its answers take, what a reset gives back, and how long SIGTERM takes with a call under way.

    python tests/scale/serve_hour.py --minutes 20
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

_UPGRADE = {
    "Connection": "Upgrade, HTTP2-Settings",
    "Upgrade": "h2c",
    "HTTP2-Settings": "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAA",
}


_SMALL = "CREATE TABLE IF NOT EXISTS shop.own (id INT PRIMARY KEY); REPLACE INTO shop.own VALUES (1)"


class Server:
    """A child process whose stderr nobody reads, and the requests of Java's default client."""

    def __init__(self, rate: float, retain: int) -> None:
        command = [sys.executable, "-m", "ticdc_emit", "serve", "--schema", "shop", "--rate", f"{rate:g}", "--json"]
        addresses = ["--port", "0", "--registry-port", "0", "--control", "127.0.0.1:0", "--retain", str(retain)]
        self.process = subprocess.Popen([*command, *addresses], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["control"]

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, _UPGRADE), timeout=120) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    @property
    def megabytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) >> 10

    def line(self, when: str) -> str:
        """Memory, what is kept, rows so far, and the time of the slowest of twenty answers."""
        slowest = 0.0
        for _ in range(20):
            started = time.perf_counter()
            _, health = self.ask("/health")
            slowest = max(slowest, time.perf_counter() - started)
        _, traffic = self.ask("/traffic")
        kept, most = (health[name] >> 20 for name in ("retained_bytes", "retain_bytes"))
        rows = f"{traffic['rows']:>10,} rows, running: {traffic['running']}, slowest answer {slowest * 1000:.0f} ms"
        return f"{when:>12}  {self.megabytes:>5} MB  kept {kept:>4} of {most} MiB  {rows}"


def main(minutes: float, rate: float, retain: int) -> None:
    """Run it and print a line for each of ten moments."""
    server = Server(rate, retain)
    try:
        print(server.line("start"), flush=True)
        server.ask("/traffic/start", {})
        begin = time.monotonic()
        for number in range(1, 11):
            while time.monotonic() < begin + minutes * 6 * number:
                time.sleep(min(1.0, minutes))
                server.ask("/sql", {"sql": _SMALL})
            print(server.line(f"{minutes * number / 10:g} min"), flush=True)
        server.ask("/reset", {})
        print(server.line("after reset"), flush=True)
        for words, values in (("of 30,000 statements", 1), ("of one statement", 60_000)):
            print(f"SIGTERM in a call {words}: {_ended(server, values)}", flush=True)
            server = Server(rate, retain)
    finally:
        server.process.kill()


def _ended(server: Server, values: int) -> str:
    rows = [f"({number})" for number in range(max(values, 30_000))]
    parts = [", ".join(rows[start : start + values]) for start in range(0, len(rows), values)]
    script = "CREATE TABLE shop.long (id INT PRIMARY KEY);" + "".join(
        f"INSERT INTO shop.long VALUES {part};" for part in parts
    )
    answers: list[Any] = []
    call = threading.Thread(target=lambda: answers.append(server.ask("/sql", {"sql": script})))
    server.ask("/traffic/start", {})
    call.start()
    time.sleep(1)
    started = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    code = server.process.wait(60)
    seconds = time.monotonic() - started
    call.join()
    status, body = answers[0]
    assert server.process.stderr is not None
    shown = server.process.stderr.read().decode()
    return f"{seconds:.1f} s, exit code {code}, the client got {status} {body['error']['message']!r}, stderr {shown!r}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=2000)
    parser.add_argument("--retain", type=int, default=128, help="MiB, as --retain of serve")
    asked = parser.parse_args()
    main(asked.minutes, asked.rate, asked.retain)
