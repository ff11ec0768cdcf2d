"""Work in order in the background: one thread handles an item while the caller prepares the next.

In: items, one after the other. Out: nothing but the errors that they met, each at the next call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

__all__ = ["Background"]

T = TypeVar("T")


class Background(Generic[T]):
    """Calls ``do`` with each item, in order, in one thread. Once a call has raised, nothing further is done.

    ``ahead``: how many items may wait or be at work when :meth:`give` returns.
    """

    def __init__(self, do: Callable[[T], None], ahead: int) -> None:
        self._do = do
        self._ahead = ahead
        self._pool = ThreadPoolExecutor(1)
        self._pending: deque[Future[None]] = deque()
        self._over = False

    def give(self, item: T) -> None:
        """Take an item, and wait while too many are left. Raises what an item before it has raised."""
        self._pending.append(self._pool.submit(self._one, item))
        while len(self._pending) > self._ahead or self._pending[0].done():
            self._pending.popleft().result()
            if not self._pending:
                return

    def settle(self) -> None:
        """Return when every item is done. Raises what one of them has raised."""
        while self._pending:
            self._pending.popleft().result()

    def stop(self) -> None:
        """Do nothing further; returns once the item at work, if any, is done."""
        self._over = True
        self._pool.shutdown(cancel_futures=True)

    def _one(self, item: T) -> None:
        if self._over:
            return
        try:
            self._do(item)
        except BaseException:
            self._over = True
            raise
