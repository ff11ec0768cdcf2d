"""The heartbeat: what is due by the wall clock while no rows come, sent between a changefeed's batches.

An object that is pickled (``foreachBatch`` over Spark Connect) has no thread: the first batch of the process that gets
it starts one. A stream with rows that it has not read yet is not idle, so calls wait until its source has no more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ticdc_emit.delivery.base import Target
from ticdc_emit.pipeline.deliver.control_events import ControlSchedule, highest_watermark
from ticdc_emit.pipeline.deliver.deliver_task import TaskResult
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.plan.table_plans import Plan
from ticdc_emit.pipeline.planning import BatchPlan, Planner
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.pipeline.state_store import StateStore
from ticdc_emit.tso import compose

_ASK_AGAIN_S = 0.02  # often, because a stream that polls an idle source may not be seen idle at once


class PeriodicTask:
    """``seconds``: between two calls; ``None`` for no calls. None follows one that fails, until a batch runs."""

    def __init__(self, call: Callable[[], object], seconds: float | None) -> None:
        self._call = call
        self._seconds = seconds
        self._made_anew()

    def _made_anew(self) -> None:
        self._is_idle: Callable[[], bool] | None = None
        self._busy = threading.RLock()
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._failure: Exception | None = None

    @contextmanager
    def batch(self, is_idle: Callable[[], bool] | None = None) -> Iterator[None]:
        """Keep calls out of the block; each later one waits for ``is_idle``. Raises what the last call did."""
        with self._busy:
            self._is_idle = is_idle
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            yield
            if self._seconds is not None and (self._thread is None or not self._thread.is_alive()):
                self._ended = threading.Event()
                self._thread = threading.Thread(target=self._run, args=(self._ended,), name="heartbeat", daemon=True)
                self._thread.start()

    @contextmanager
    def between_batches(self) -> Iterator[bool]:
        """Return whether no batch runs; if so, none begins during the block."""
        is_free = self._busy.acquire(blocking=False)
        try:
            yield is_free
        finally:
            if is_free:
                self._busy.release()

    def stop(self) -> None:
        """End the calls, after the current one. A batch starts them again."""
        self._ended.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(self._seconds):
            try:
                while self._is_idle is not None and not self._is_idle():
                    if ended.wait(_ASK_AGAIN_S):
                        return
                self._call()
            except Exception as failure:
                self._failure = failure
                return

    def __getstate__(self) -> dict[str, Any]:
        return {"_call": self._call, "_seconds": self._seconds}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._made_anew()


Send = Callable[
    [BatchPlan, Plan, ControlSchedule, Mapping[Target, TaskResult], int, int, float], "tuple[RunReport, int]"
]
"""Sends what is due although no rows came and returns the report, and the TSO up to which DDL is sent."""


def send_heartbeat(store: StateStore, planner: Planner, options: RunOptions, send: Send) -> RunReport | None:
    """Send what is due by now; ``None`` if nothing can be: no batch is finished, or the watermark does not rise."""
    started = time.monotonic()
    if store.newest() is None:
        return None
    store.claim()
    newest, now = store.newest(), options.now()
    if newest is None or not newest.done or now is None:
        return None
    limit = highest_watermark(compose(now), options.lateness)
    planned = planner.of(newest.next(newest.batch_id, now))
    plan, schedule, bootstraps = planner.plan(planned), planned.schedule, None
    if not (planner.config.codec.has_watermarks and schedule.rises_to(limit)):
        return None
    if planned.rules is not None:
        schedule, bootstraps = planned.rules.without_rows(schedule, plan, now, limit)
    marked = replace(newest, end_watermark=limit)
    sent = replace(marked, end_sent_until=max(limit, newest.end_sent_until), end_bootstraps=bootstraps)
    waits = bool(schedule.sent_ddl(limit) or schedule.bootstraps)
    store.save(marked if waits else sent)
    report, _ = send(planned, plan, schedule, {}, -1, limit, started)
    if waits:
        store.save(sent)
    return report
