"""The keyword arguments of :class:`~ticdc_emit.Encoder`, for the functions that pass them on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from ticdc_emit.config.named import LoadOptions
from ticdc_emit.registry.contract import SchemaRegistry

__all__ = ["EncoderOptions"]


class EncoderOptions(LoadOptions, total=False):
    """What :class:`~ticdc_emit.Encoder` takes besides the sink URI and the schema."""

    changefeed: str | os.PathLike[str] | Mapping[str, Any] | None
    partitions: int | None
    build_ts: int | None
    verbatim_json: bool
    registry: SchemaRegistry | None
    bad_rows: Literal["refuse", "skip"]
