"""A consumer under test as a child process that answers one line of JSON for each line that it reads.

In: the command of a consumer, and lines. Out: its answer to a line; or :class:`ConsumerFailure` if it ends or does not
answer in time, and then the next line starts it anew. Its stderr is that of this process. It ends with the block of its
:class:`ConsumerProcess`.
"""

from __future__ import annotations

import shlex
import subprocess
import threading
from contextlib import suppress
from types import TracebackType

from ticdc_emit.errors import ConfigError

_END_S = 5.0  # which a consumer has to end after the end of its input


class ConsumerFailure(Exception):  # noqa: N818 - of the consumer, which is what is looked for
    """A consumer that did not answer; the text says why."""


class ConsumerProcess:
    """``command``: as a shell takes it apart, but without a shell. ``timeout_s``: for each answer.

    ``option``: the option of the command line that has the command, for errors.
    """

    def __init__(self, command: str, *, timeout_s: float, option: str) -> None:
        self._option = option
        self._timeout_s = timeout_s
        try:
            self._words = shlex.split(command)
        except ValueError as fault:
            raise self._wrong(f"the command cannot be read: {fault}") from None
        if not self._words:
            raise self._wrong("the command is empty")
        self._process: subprocess.Popen[bytes] | None = None

    def answer(self, line: str) -> bytes:
        """Return the line that the consumer writes for a line. Raises :class:`ConsumerFailure`.

        Raises :class:`~ticdc_emit.errors.ConfigError` for a command that cannot be started.
        """
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            process.kill()

        timer = threading.Timer(self._timeout_s, end)
        timer.daemon = True
        timer.start()
        try:
            with suppress(OSError):  # it has closed its input, perhaps after an answer
                process.stdin.write(line.encode() + b"\n")
                process.stdin.flush()
            answer = process.stdout.readline()
        finally:
            timer.cancel()
        if answer.endswith(b"\n") and not is_late.is_set():
            return answer
        code = self.close()
        if is_late.is_set():
            raise ConsumerFailure(f"it did not answer within {self._timeout_s:g} s")
        raise ConsumerFailure(f"it ended with exit code {code} before it answered")

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            try:
                self._process = subprocess.Popen(self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            except OSError as fault:
                raise self._wrong(f"the command {self._words[0]} cannot be started: {fault.strerror}") from None
        return self._process

    def _wrong(self, message: str) -> ConfigError:
        return ConfigError(
            message,
            remedy="Give a program and its arguments, such as 'java -jar consumer.jar'",
            option=self._option,
        )

    def close(self) -> int | None:
        """End the consumer and return its exit code; ``None`` if none runs."""
        process, self._process = self._process, None
        if process is None:
            return None
        try:
            process.communicate(timeout=_END_S)  # closes its input
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        return process.returncode

    def __enter__(self) -> ConsumerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._process is not None:
            self._process.kill()
        self.close()
