"""Options of changefeeds with a storage sink: how files are named, cut and filled.

In: a protocol and a release. Out: parameters of the sink URI and tables of the changefeed file, which TiCDC and this
library accept without a warning. Every option affects the files; those of workers, the spool and the clean-up are left
out. Only forms of CSV are drawn from which a consumer gets every value back: without quotes, NULL is a text that no
value is written as; a delimiter consists of ASCII that no escape needs. Releases that show handles of rows need
``row_key`` with each row of some tables, so ``output-handle-key`` is not drawn for them.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ticdc_emit.config import Protocol, Release

_FORMS: tuple[dict[str, str], ...] = (
    {},
    {"delimiter": "\t"},
    {"delimiter": "|", "quote": "'", "null": "NULL"},
    {"delimiter": "|+|", "null": ""},
    {"quote": ""},
    {"quote": "", "delimiter": ";"},
    {"quote": "", "delimiter": "|@|"},
)
_SWITCHES = ("include-commit-ts", "output-old-value", "output-handle-key", "output-field-header")
_TERMINATORS = ("\r\n", "\n", "<end>\n")
_DATES = ("day", "none", "year", "month")
_INTERVALS = ("5s", "2s", "1m", "100ms")
_SIZES = (64 << 20, 1 << 20, 1 << 10)
_DIGITS = (20, 6, 9)
_TABLE_IDS = "use-table-id-as-path"


@st.composite
def storage_options(
    draw: st.DrawFn, protocol: Protocol, release: Release, *, force_replicate: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tables ``[sink]`` and ``[scheduler]`` of a changefeed file, as far as they are about files.

    ``force_replicate``: tables without a handle key are sent, so that updates need their old values.
    """
    unknown = release.options.unknown
    csv = draw(_csv_options(release, force_replicate)) if protocol is Protocol.CSV else {}
    old_values = protocol is not Protocol.CSV or csv.get("output-old-value", False)
    storage: dict[str, Any] = {
        "flush-interval": draw(st.sampled_from([text for text in _INTERVALS if _known_interval(text, release)])),
        "file-size": draw(st.sampled_from([size for size in _SIZES if size >= release.options.least_file_bytes])),
        "output-column-id": draw(st.booleans()),
        "output-raw-change-event": old_values and draw(st.booleans()),  # else the former key of a row is nowhere
    }
    if _TABLE_IDS not in unknown:
        storage[_TABLE_IDS] = draw(st.booleans())
    sink: dict[str, Any] = {
        "cloud-storage-config": storage,
        "date-separator": draw(st.sampled_from(_DATES)),
        "enable-partition-separator": draw(st.booleans()),
        "file-index-digit": draw(st.sampled_from(_DIGITS)),
        "terminator": draw(st.sampled_from(_TERMINATORS)),
    }
    if csv:
        sink["csv"] = csv
    across = release.storage.dispatcher_ids and draw(st.booleans())
    return sink, {"scheduler": {"enable-table-across-nodes": True}} if across else {}


def _known_interval(text: str, release: Release) -> bool:
    return text != "100ms" or release.options.least_flush_ms <= 100


@st.composite
def _csv_options(draw: st.DrawFn, release: Release, force_replicate: bool) -> dict[str, Any]:
    options: dict[str, Any] = dict(draw(st.sampled_from(_FORMS)))
    for name in _SWITCHES:
        needs_handle = name == "output-handle-key" and release.csv.handle_keys == "shown"
        if f"csv.{name}" not in release.options.unknown and not needs_handle:
            options[name] = draw(st.booleans())
    options["binary-encoding-method"] = draw(st.sampled_from(["base64", "hex"]))
    if force_replicate:
        options["output-old-value"] = True
    return options
