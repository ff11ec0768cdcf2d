"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["AsJson", "Registry"]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]
Registry = Annotated[
    str | None,
    typer.Option(
        "--schema-registry",
        metavar="URL",
        help="Of Avro, where the sink URI names none: https://user:password@host, both URL-encoded.",
    ),
]
