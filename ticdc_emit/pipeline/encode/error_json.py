"""Errors of this library as JSON, on their way from the task that meets one to the driver that raises it.

Others may be able to write where these lie, so reading runs nothing: a class is one of :data:`_KINDS`, and a value is
one of a few plain types. Others come back as the nearest that is: a moment as its text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

import ticdc_emit.errors
from ticdc_emit.errors import DeliveryError, RowError, TicdcEmitError
from ticdc_emit.pipeline.encode.bad_rows import BadRow, BadRows
from ticdc_emit.routing.row_filters import UnknownColumnError
from ticdc_emit.sql.json_depth import parsed

_Json: TypeAlias = Any

_KINDS: Mapping[str, type[TicdcEmitError]] = {
    kind.__name__: kind
    for kind in (*vars(ticdc_emit.errors).values(), UnknownColumnError)
    if isinstance(kind, type) and issubclass(kind, TicdcEmitError)
}
_LONG_BITS = 64  # Python refuses to read and print numbers of more than some thousand digits


def error_as_json(error: TicdcEmitError) -> bytes:
    kind = next(each for each in type(error).__mro__ if _KINDS.get(each.__name__) is each)
    bad_rows = None
    if isinstance(error, RowError) and error.bad_rows is not None:
        first = [[_plain(getattr(row, name)) for name in BadRow.__dataclass_fields__] for row in error.bad_rows.first]
        bad_rows = [_plain(error.bad_rows.tables), first]
    content = {
        "error": kind.__name__,
        "message": error.message,
        "remedy": error.remedy,
        "context": _plain(error.context),
        "bad_rows": bad_rows,
    }
    return json.dumps(content).encode()


def error_from_json(content: bytes) -> TicdcEmitError:
    """Return the error that :func:`error_as_json` wrote; raise :class:`DeliveryError` for any other content."""
    try:
        told = parsed(content)
        error = _KINDS[told["error"]](_text(told["message"]), remedy=_text(told["remedy"]), **_value(told["context"]))
        if told["bad_rows"] is not None and isinstance(error, RowError):
            tables, first = told["bad_rows"]
            error.bad_rows = BadRows(_value(tables), tuple(BadRow(*map(_value, each)) for each in first))
    except (ValueError, TypeError, KeyError, ArithmeticError) as fault:
        raise unreadable(f"an error is not one of this library: {type(fault).__name__}") from None
    return error


def unreadable(what: str) -> DeliveryError:
    """Return the error of content that no task of this library has handed on."""
    return DeliveryError(
        f"what an encoding task handed on cannot be read: {what}",
        remedy="Write the rows again, and let nobody else write to stagingUri or to Spark's local folders",
    )


def _text(value: _Json) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _plain(value: object) -> _Json:
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _LONG_BITS else {"int": hex(value)}
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, Mapping):
        return {"object": [[_plain(name), _plain(each)] for name, each in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_plain(each) for each in value]}
    return [_plain(each) for each in value] if isinstance(value, list) else str(value)


_READERS: Mapping[str, Callable[[_Json], object]] = {
    "int": lambda content: int(content, 16),
    "bytes": bytes.fromhex,
    "decimal": Decimal,
    "object": lambda content: {_value(name): _value(each) for name, each in content},
    "tuple": lambda content: tuple(_value(each) for each in content),
}


def _value(content: _Json) -> Any:
    if isinstance(content, list):
        return [_value(each) for each in content]
    if not isinstance(content, dict):
        return content
    ((kind, inner),) = content.items()
    return _READERS[kind](inner)
