"""What a worker does once, around its first task."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable

import pyarrow as pa
import pytest

from ticdc_emit.spark import worker as module

MIB = 1024 * 1024


@pytest.fixture
def set_options(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return what the worker sets in a C library that takes options."""
    found: list[tuple[int, int]] = []

    class Library:
        mallopt: Callable[[int, int], None] = staticmethod(lambda option, value: found.append((option, value)))

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library)
    monkeypatch.setattr(module, "_done", False)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    return found


def test_freed_memory_is_kept_from_the_first_task_on(set_options: list[tuple[int, int]]) -> None:
    batch = pa.record_batch({"n": [1, 2]})
    work = module.in_worker(lambda batches: (each.slice(1) for each in batches), lambda batches: batches)
    assert list(work(iter([batch]))) == [batch.slice(1)]
    assert set_options == [(-1, 256 * MIB), (-3, 32 * MIB)]
    assert list(work(iter([batch]))) == [batch.slice(1)]
    assert len(set_options) == 2


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_done", False)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    module.keep_memory()
