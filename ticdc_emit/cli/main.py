"""The entry point of ``ticdc-emit``: run a command; turn an error into one readable line and an exit code.

0 done, 1 a check found a difference, 2 wrong usage, configuration or data, 130 interrupted (Ctrl-C; 0 for commands that
have no other end), 143 terminated (SIGTERM).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from types import ModuleType
from typing import Any, NoReturn

from ticdc_emit.cli import signals


class _NoPandas:
    """Arrow looks for pandas, whose import takes as long as all of Arrow and numpy. No command needs it here."""

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r} (left out by ticdc-emit)", name=name)


_no_pandas: Any = _NoPandas()


def allow_pandas() -> None:
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _no_pandas]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit; ``arguments`` default to the process's own."""
    with signals.handled(own_process=arguments is None):
        if arguments is None:
            sys.meta_path.insert(0, _no_pandas)
            _remove_ready_file(sys.argv[1:])
        try:
            _run(arguments)
        except BaseException:
            number = signals.received()
            if number is None:
                raise
            # errors that the signal caused on the way out are not shown
            signals.end_children()
            signals.say_ended(number)
            sys.exit(signals.exit_code(number))


def _remove_ready_file(arguments: list[str]) -> None:
    """Remove the ready file of an earlier ``serve`` before anything slow: a script may wait for the new one already."""
    if arguments[:1] == ["serve"]:
        pairs = zip(arguments, [*arguments[1:], ""], strict=True)
        named = [each.partition("=")[2] or after for each, after in pairs if each.partition("=")[0] == "--ready-file"]
        with suppress(OSError):
            os.unlink(named[-1] if named else os.environ.get("TICDC_EMIT_READY_FILE", ""))  # noqa: PTH108


def _run(arguments: Sequence[str] | None) -> None:
    from ticdc_emit.cli.app import app

    signals.raise_on_signals()
    with _warnings_as_lines():
        _run_app(app, arguments)


def _run_app(app: Any, arguments: Sequence[str] | None) -> None:
    from ticdc_emit.errors import TicdcEmitError, TicdcEmitWarning

    context = copy_context()  # a copy, so that what one command sets for itself ends with it
    try:
        context.run(app, args=arguments, prog_name="ticdc-emit")
    except TicdcEmitError as error:
        if module := sys.modules.get("ticdc_emit.cli.schema_files"):
            module.name_file(error, context)
        _fail(_with_options_as_typed(str(error), str(error.context.get("option", ""))))
    except TicdcEmitWarning as warning:  # raised only with --strict
        _fail(f"{warning} (a warning without --strict)")
    except SystemExit:
        module = sys.modules.get("ticdc_emit.cli.schema_files")  # few commands load it
        if module and (note := module.without_effect(context)):
            print(f"ticdc-emit: note: {note}", file=sys.stderr)
        raise
    except BrokenPipeError:
        # the reader of the pipe has gone; the interpreter must not report that again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    import logging

    shown: set[str] = set()

    def show(kind: str, text: str) -> None:
        if text not in shown:
            shown.add(text)
            print(f"ticdc-emit: {kind}: {_printable(text)}", file=sys.stderr)

    def show_warning(message: Warning | str, category: type[Warning], *place: Any, **to: Any) -> None:
        if category.__module__.startswith("ticdc_emit"):
            show("warning", str(message))
        else:
            usual(message, category, *place, **to)

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            show(record.levelname.lower(), record.getMessage())

    lines, logger = Lines(logging.WARNING), logging.getLogger("ticdc_emit")
    with warnings.catch_warnings():  # which also restores the function that shows warnings, and the filters of --strict
        usual, warnings.showwarning = warnings.showwarning, show_warning
        logger.addHandler(lines)
        try:
            yield
        finally:
            logger.removeHandler(lines)


def _with_options_as_typed(text: str, option: str) -> str:
    return text.replace(f"option={option!r}", f"option='--{option.replace('_', '-')}'") if "_" in option else text


def _fail(text: str) -> NoReturn:
    print(f"ticdc-emit: error: {_printable(text)}", file=sys.stderr)
    sys.exit(2)


def _printable(text: str) -> str:
    """Further lines are indented, so that none looks like one of the program's own."""
    from ticdc_emit.config.secrets import printable

    return printable(text, keep="\n").replace("\n", "\n  ")
