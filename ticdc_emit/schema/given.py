"""Check arguments that should be DDL text."""

from __future__ import annotations

import os
import re

from ticdc_emit.errors import DdlError

__all__ = ["refuse_path"]

_PATH = re.compile(r"\s*(?:[^\s;]*[/\\][^\s;]*|[^\s;]+\.\w{1,5})\s*")


def refuse_path(schema: object) -> None:
    """Raise :class:`DdlError` for a path, or anything else that is not DDL text."""
    if isinstance(schema, str) and not _PATH.fullmatch(schema):
        return
    if isinstance(schema, str | os.PathLike):
        path = os.fspath(schema)
        raise DdlError(
            f"the schema {path!r} is a path, not DDL",
            remedy="Read the file first: pathlib.Path(...).read_text(encoding='utf-8')",
            statement=path,
        )
    raise DdlError(
        f"the schema is of type {type(schema).__name__}, not DDL",
        remedy="Give the text of CREATE TABLE statements, or a Catalog",
        statement=repr(schema),
    )
