"""The options of Open Protocol from a sink URI and a changefeed, and the escaping of its texts."""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.columnar.escape import GO_STD, JSONITER, JsonWriter, quoted
from ticdc_emit.config.lineages import OpenSwitches

__all__ = ["OpenOptions", "json_string", "writer_of"]


@dataclass(frozen=True)
class OpenOptions:
    """The options, resolved."""

    output_old_value: bool = True
    only_output_updated_columns: bool = False
    delete_only_output_handle_key_columns: bool = False
    switches: OpenSwitches = OpenSwitches()


def writer_of(switches: OpenSwitches) -> JsonWriter:
    """Return the characters that the lineage's JSON library escapes."""
    return GO_STD if switches.json == "encoding/json" else JSONITER


def json_string(text: str, switches: OpenSwitches) -> bytes:
    """Return ``text`` as a JSON string with quotes."""
    return quoted(text, writer_of(switches))
