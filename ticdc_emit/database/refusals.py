"""The errors of statements: parts that are not executed here, and what the evaluator of expressions refuses.

In: the name of a part, or the evaluator's errors. Out: :class:`~ticdc_emit.errors.UnsupportedStatementError`, or
:class:`~ticdc_emit.errors.StatementError` with TiDB's number where TiDB fails too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ticdc_emit.errors import StatementError, UnsupportedStatementError
from ticdc_emit.sql.evaluation.values import EvaluationError, NotExactError

REMEDY = "Write it as statements of one table with the values themselves"


def unsupported(part: str, remedy: str = REMEDY, column: str | None = None) -> UnsupportedStatementError:
    """Return the error of a part of a statement that is not executed here."""
    return UnsupportedStatementError(f"{part} is not executed here", remedy=remedy, column=column)


@contextmanager
def expression_errors(column: str | None = None) -> Iterator[None]:
    """Turn the evaluator's errors into those of statements; ``column``: to which a value is assigned."""
    try:
        yield
    except NotExactError as fault:
        raise unsupported(str(fault), fault.remedy or "Write the value itself", column) from None
    except EvaluationError as fault:
        if fault.number:
            remedy = "Give a value that fits the column"
            raise StatementError(str(fault), remedy=remedy, number=fault.number, column=column) from None
        raise unsupported(str(fault), "Write the value itself", column) from None
