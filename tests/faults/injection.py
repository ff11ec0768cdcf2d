"""Faults in a running job: each is injected when the topic holds a given share of the changes.

A broker that leads partitions is killed and, later, restarted; a Spark Python worker dies in the middle of sending; the
driver and its JVM are killed and started again on the same checkpoint.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tests.kafka_cluster import KafkaCluster

from .driver import Driver
from .topic_log import Progress

_POLL_S = 0.1


@dataclass(frozen=True)
class FaultPlan:
    """The share of the changes at which each fault comes; ``None``: not at all."""

    kill_broker: float | None = 0.15
    kill_worker: float | None = 0.30
    restart_broker: float | None = 0.45  # behind the worker: the job may be nearly done when a broker is back
    kill_driver: float | None = 0.70


@dataclass
class Injected:
    brokers_killed: int = 0
    workers_killed: int = 0
    tasks_lost: int = 0
    drivers_killed: int = 0

    @property
    def interruptions(self) -> int:
        """How often a partition may have been begun again. A broker's death is none: the producer just goes on."""
        return self.tasks_lost + self.drivers_killed


class Injector:
    def __init__(
        self,
        cluster: KafkaCluster,
        driver: Driver,
        topic: str,
        rows: int,
        plan: FaultPlan,
        *,
        timeout_s: float,
        say: Callable[[str], None],
    ) -> None:
        self._cluster = cluster
        self._driver = driver
        self._topic = topic
        self._rows = rows
        self._timeout_s = timeout_s
        self._say = say
        self._progress = Progress(cluster.bootstrap, topic)
        self._down: int | None = None
        self._done = Injected()
        self._deadline = time.monotonic() + timeout_s
        steps = [
            (plan.kill_broker, self._kill_broker),
            (plan.restart_broker, self._restart_broker),
            (plan.kill_worker, self._kill_worker),
            (plan.kill_driver, self._kill_driver),
        ]
        self._steps = sorted(((share, step) for share, step in steps if share is not None), key=lambda each: each[0])

    def run(self) -> Injected:
        self._driver.start()
        try:
            for share, step in self._steps:
                self._wait_for(share)
                step()
            while self._running():
                time.sleep(_POLL_S)
        finally:
            self._progress.close()
            if self._down is not None:
                self._restart_broker()
        self._done.tasks_lost = self._driver.lost_tasks()
        if self._driver.exit_code:
            raise AssertionError(f"the job failed:\n{self._driver.log_tail()}")
        self._cluster.wait_until_in_sync([self._topic])
        return self._done

    def _wait_for(self, share: float) -> None:
        wanted = share * self._rows
        while (there := self._progress.messages()) < wanted:
            if not self._running():
                raise AssertionError(f"the job ended at {there} of {wanted:.0f} messages:\n{self._driver.log_tail()}")
            time.sleep(_POLL_S)
        self._say(f"{there} messages on the topic")

    def _running(self) -> bool:
        if time.monotonic() > self._deadline:
            raise AssertionError(f"the job takes more than {self._timeout_s} s:\n{self._driver.log_tail()}")
        return self._driver.exit_code is None

    def _kill_broker(self) -> None:
        leaders = Counter(self._cluster.leader(self._topic, number) for number in self._progress.partitions())
        self._down = leaders.most_common(1)[0][0]
        self._cluster.kill(self._down)
        self._done.brokers_killed += 1
        self._say(f"killed broker {self._down}, which led {leaders[self._down]} partitions")

    def _restart_broker(self) -> None:
        assert self._down is not None
        self._cluster.restart(self._down)
        self._say(f"broker {self._down} is back")
        self._down = None

    def _kill_worker(self) -> None:
        self._driver.kill_worker()
        self._done.workers_killed += 1
        while not self._driver.lost_workers():
            if not self._running():
                raise AssertionError(f"the job ended before it lost a task:\n{self._driver.log_tail()}")
            time.sleep(_POLL_S)
        self._say(f"a worker died while it sent, {self._driver.lost_workers()} task attempts lost")

    def _kill_driver(self) -> None:
        self._driver.kill()
        self._done.drivers_killed += 1
        self._say("killed the driver")
        self._driver.start()
