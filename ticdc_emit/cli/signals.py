"""How a command ends when Ctrl-C (SIGINT) or SIGTERM asks for it: one line on stderr, and no process is left running.

The first signal unwinds the command by an exception, or lets it finish its piece of work
(:func:`stopped_by_interrupt`); the second one kills the child processes and exits at once. So does the first one while
modules are imported, where an exception would be a traceback: this must be ready before anything slow, so it imports
only the standard library.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subprocess import Popen

_LINES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
_PATIENCE_S = 10.0


class Interrupted(KeyboardInterrupt):
    """A signal asked the command to end."""


class _State:
    def __init__(self) -> None:
        self.received: int | None = None
        self.waiting: int | None = None
        """A signal that arrived while signals were held."""
        self.holds = 0
        self.endless = False
        """Whether Ctrl-C is the usual end of the command."""
        self.stderr = 2
        self.streams: tuple[Any, Any] = sys.stderr, sys.unraisablehook
        self.children: list[Popen[bytes]] = []


_state = _State()


def endless() -> None:
    """Count Ctrl-C as the usual end of the command, from now on: it has no other."""
    _state.endless = True


def interrupt_at_the_end_of_stdin() -> None:
    """Send SIGINT to this process when its standard input ends, because the process that started it has ended."""

    def wait() -> None:
        with suppress(OSError):  # there is none
            while os.read(0, 4096):
                pass
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=wait, name="end of stdin", daemon=True).start()


def exit_code(number: int) -> int:
    """Return the exit code of a command that signal ``number`` ended in order: 130 or 143, 0 for its usual end."""
    return 0 if _state.endless and number == signal.SIGINT else 128 + number


def received() -> int | None:
    """Return the signal that is ending the command; ``None`` if there is none."""
    return _state.received


def watch(child: Popen[bytes]) -> None:
    """End ``child`` too if a signal ends the command."""
    _state.children.append(child)


@contextmanager
def handled(*, own_process: bool) -> Iterator[None]:
    """Handle signals for the length of the block, at first by exiting at once; then restore the handlers.
    ``own_process``: it ends with the block. Only the main thread may set handlers; in others this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _state.__init__()  # type: ignore[misc]  # a command of its own begins
    _state.streams = sys.stderr, sys.unraisablehook
    before = {number: signal.getsignal(number) for number in _LINES}
    _state.stderr = os.dup(2)  # a command may redirect it to a log
    _install(leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, leave if own_process else handler)
        if not own_process:
            os.close(_state.stderr)
            if _state.received is not None:
                _speak_again()


def raise_on_signals() -> None:
    """Let signals unwind the command from now on. Call it again after a library has replaced the handlers."""
    if threading.current_thread() is threading.main_thread():
        _install(_raise)


@contextmanager
def held() -> Iterator[None]:
    """Delay signals until the end of the block. Otherwise a process that is being started could be lost."""
    _state.holds += 1
    try:
        yield
    finally:
        _state.holds -= 1
        if not _state.holds and _state.waiting is not None:
            number, _state.waiting = _state.waiting, None
            raise_interrupted(number)


def raise_interrupted(number: int) -> None:
    """Unwind the command because of signal ``number``. Later errors are not shown. Children are ended here, not while
    unwinding, because PySpark waits there for its current job.
    """
    import logging

    _state.received = number
    logging.disable(logging.CRITICAL)
    sys.unraisablehook = lambda _: None
    sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - threads of Spark print there until the process ends
    for child in _state.children:
        if child.poll() is None:
            child.terminate()
    patience = threading.Timer(_PATIENCE_S, _kill_children)
    patience.daemon = True
    patience.start()
    raise Interrupted


def end_children() -> None:
    """Wait until the processes that :func:`raise_interrupted` asked to end have ended; kill them if necessary."""
    for child in _state.children:
        try:
            child.wait(_PATIENCE_S)
        except Exception:  # TimeoutExpired, without importing subprocess
            child.kill()
            child.wait()


def _install(handler: Any) -> None:
    for number in _LINES:
        signal.signal(number, handler)


def _raise(number: int, frame: FrameType | None) -> None:
    if _state.received is not None:
        leave(number, frame)
    if _state.holds:
        _state.waiting = number
        return
    raise_interrupted(number)


def leave(number: int, frame: FrameType | None = None) -> None:
    """End the process at once, as a signal does."""
    _kill_children()
    say_ended(number)
    os._exit(128 + number)


def _kill_children() -> None:
    for child in _state.children:
        with suppress(OSError):
            child.kill()


def say_ended(number: int) -> None:
    """Write the line to the stderr that the command was started with, unbuffered."""
    with suppress(OSError, ValueError):
        if select.select([], [_state.stderr], [], 0)[1]:  # nobody may read a full pipe
            os.write(_state.stderr, f"ticdc-emit: {_LINES[signal.Signals(number)]}\n".encode())


def _speak_again() -> None:
    import logging

    logging.disable(logging.NOTSET)
    sys.stderr, sys.unraisablehook = _state.streams


class Stop:
    """Called between pieces of work: true once a signal has asked the command to end."""

    def __init__(self) -> None:
        self.number: int | None = None
        """The signal that arrived."""

    def __call__(self) -> bool:
        return self.number is not None

    def exit_code(self) -> int:
        """Return the exit code of a command that the signal ended early; 0 if there was none."""
        return 0 if self.number is None else exit_code(self.number)


@contextmanager
def stopped_by_interrupt(piece: str, *, quiet: bool) -> Iterator[Stop]:
    """Yield what the first signal turns true, after a ``piece`` of work; a second one ends the command."""
    stop = Stop()

    def on_signal(number: int, frame: Any) -> None:
        if stop.number is not None:
            handlers[number](number, frame)
            return
        stop.number = number
        if not quiet:
            print(f"stopping after this {piece}; press Ctrl-C again to stop at once", file=sys.stderr, flush=True)

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    handlers: dict[int, Any] = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
