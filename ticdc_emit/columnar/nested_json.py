"""Lists, structs and maps as the texts of JSON documents, for JSON columns.

What JSON does not have is text that loses nothing: a decimal its digits, a date, a time and a wall clock as in a column
of that type, an instant in UTC with ``Z``, bytes base64. A key that is twice in a map, NaN and infinity are refused.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ticdc_emit.columnar.buffers import is_binary_like
from ticdc_emit.columnar.value_errors import read_each


def is_nested(kind: pa.DataType) -> bool:
    """Return whether :func:`nested_json` accepts arrays of the type."""
    return bool(is_list(kind) or pa.types.is_struct(kind) or pa.types.is_map(kind))


def is_list(kind: pa.DataType) -> bool:
    """Return whether the values of an Arrow type are lists whose items lie one after the other."""
    return any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def plain_layout(kind: pa.DataType) -> pa.DataType:
    """Return a nested type of the same values whose leaves have the layouts that Arrow's kernels take and compare."""
    return _with_leaves(kind, _in_plain_layout)


def nested_json(array: pa.Array) -> pa.Array:
    """Return JSON texts. Raises ``TypeError`` for a type that JSON cannot show, :class:`ValueRefused` for a value."""
    try:
        plain = array.cast(_with_leaves(array.type, _in_utc)).cast(_with_leaves(array.type, _plain))
    except pa.ArrowNotImplementedError as fault:
        raise TypeError(str(fault)) from None

    def text(value: pa.Scalar) -> str | None:
        try:
            return document(value.as_py(maps_as_pydicts="strict"))
        except (KeyError, TypeError, UnicodeDecodeError) as fault:
            raise ValueError(f"the value is not a JSON document: {fault}") from None

    return pa.array(read_each((value if value.is_valid else None for value in plain), text), pa.string())


def document(value: Any) -> str:
    """Return the JSON text of a Python value; ``ValueError`` for what has none."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except TypeError as fault:
        raise ValueError(str(fault)) from None
    except ValueError as fault:
        if "Out of range" in str(fault):
            raise ValueError("NaN and infinity are not JSON values") from None
        raise


def _text(value: Any) -> str:
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, dt.datetime):
        if value.tzinfo is None:
            return value.isoformat(" ", "microseconds")
        return value.astimezone(dt.timezone.utc).replace(tzinfo=None).isoformat(" ", "microseconds") + "Z"
    if isinstance(value, dt.time) and value.tzinfo is None:
        return value.isoformat("microseconds")
    if isinstance(value, dt.date):
        return value.isoformat()
    raise TypeError(f"a value of the Python type {type(value).__name__} has no JSON")


_PLAIN = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_null, pa.types.is_string)


def _with_leaves(kind: pa.DataType, leaf: Callable[[pa.DataType, bool], pa.DataType]) -> pa.DataType:
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        if len(set(names)) < len(names):
            raise TypeError("a struct has two fields with the same name")
        if any((field.metadata or {}).get(b"variant") for field in kind):
            raise TypeError("a VARIANT inside another value has no JSON here")
        return pa.struct([(field.name, _with_leaves(field.type, leaf)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(leaf(kind.key_type, True), _with_leaves(kind.item_type, leaf))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_with_leaves(kind.value_type, leaf), kind.list_size)
    return pa.large_list(_with_leaves(kind.value_type, leaf)) if is_list(kind) else leaf(kind, False)


def _in_plain_layout(kind: pa.DataType, is_key: bool) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _in_plain_layout(kind.value_type, is_key)
    if isinstance(kind, pa.BaseExtensionType):
        return _in_plain_layout(kind.storage_type, is_key)
    if pa.types.is_float16(kind):
        return pa.float32()
    if kind == pa.string_view():
        return pa.large_string()
    return pa.large_binary() if kind == pa.binary_view() else kind


def _in_utc(kind: pa.DataType, is_key: bool) -> pa.DataType:
    return pa.timestamp(kind.unit, "UTC") if pa.types.is_timestamp(kind) and kind.tz is not None else kind


def _plain(kind: pa.DataType, is_key: bool) -> pa.DataType:
    kind = _in_plain_layout(kind, is_key)
    if is_binary_like(kind):
        if not is_key:
            return pa.binary()
    elif any(test(kind) for test in _PLAIN):
        return pa.string() if is_key else kind
    elif (
        pa.types.is_decimal(kind)
        or pa.types.is_large_string(kind)
        or (pa.types.is_temporal(kind) and not (pa.types.is_duration(kind) or pa.types.is_interval(kind)))
    ):
        return pa.string()
    raise TypeError(f"{kind} has no JSON" if not is_key else f"a map whose keys are {kind} has no JSON")
