"""Spark's standalone cluster on this machine: a master, and workers that know nothing of this environment."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pyspark

from ticdc_emit.testing.addresses import free_ports
from ticdc_emit.testing.java import java_env
from ticdc_emit.testing.kraft import ServerProcess
from ticdc_emit.testing.running import Running

_HOME = Path(pyspark.__file__).parent
_KEPT = ("HOME", "PATH", "TMPDIR")


class _Daemon(ServerProcess):
    def __init__(self, name: str, folder: Path, master_page: int, alive: int, *arguments: object) -> None:
        super().__init__(name, folder)
        self._page = f"http://127.0.0.1:{master_page}/json/"
        self._alive = alive
        self._arguments = [str(each) for each in arguments]

    def _command(self) -> Sequence[str]:
        """Return a command that is given no variable of Python: a worker elsewhere has none of these either."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        own = {"SPARK_HOME": str(_HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "384m"}
        given = {**kept, **own, **java_env()}
        variables = [f"{name}={value}" for name, value in given.items()]
        return ["env", "-i", *variables, str(_HOME / "bin" / "spark-class"), *self._arguments]

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self._page, timeout=5) as answer:
                return int(json.load(answer)["aliveworkers"]) >= self._alive
        except OSError:
            return False


class StandaloneCluster(Running):
    """A master at ``url`` and ``workers`` of one core each."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        port, page, *own = free_ports(2 + 2 * workers)
        self.url = f"spark://127.0.0.1:{port}"
        self.folder = folder
        self._stack = ExitStack()
        master = ("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", page)
        self._daemons = [_Daemon("Spark master", folder / "master", page, 0, *master)]
        for number in range(workers):
            place = ("--host", "127.0.0.1", "--port", own.pop(), "--webui-port", own.pop(), "-c", 1, "-m", "1g")
            main, work = "org.apache.spark.deploy.worker.Worker", folder / f"worker-{number}"
            worker = (main, *place, "-d", work / "work", self.url)
            self._daemons.append(_Daemon(f"Spark worker {number}", work, page, number + 1, *worker))

    def start(self) -> StandaloneCluster:
        for daemon in self._daemons:
            self._stack.enter_context(daemon)
        return self

    def stop(self) -> None:
        self._stack.close()
