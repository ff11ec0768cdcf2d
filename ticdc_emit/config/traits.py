"""What the rest of the library must know about a protocol. The record belongs to the protocol's name in
:class:`~ticdc_emit.config.protocol.Protocol`; no other code compares protocol names.

A protocol of this library is a package in ``protocols/`` that writes it, a package of the same name in ``decode/`` that
reads it, and this record.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["SWITCH", "BinaryForm", "Given", "Traits"]

SWITCH = ("false", "true")
"""The values of a parameter that is off by default."""


class Given(Enum):
    """Whether a protocol has a feature: always, only with ``enable-tidb-extension``, or never."""

    ALWAYS = "always"
    WITH_EXTENSION = "with enable-tidb-extension"
    NEVER = "never"

    def holds(self, *, extension: bool) -> bool:
        """Return whether the feature exists, with or without the extension."""
        return self is Given.ALWAYS or (self is Given.WITH_EXTENSION and extension)


class BinaryForm(Enum):
    """How a protocol shows binary data as text.

    ``LATIN_1``: a character for each byte. ``GO_QUOTED``: BINARY and VARBINARY as Go's ``strconv.Quote`` prints them,
    without the quotes; BLOB, and TEXT too, in base64. Avro's bytes count as base64.
    """

    BASE64 = "base64"
    LATIN_1 = "ISO-8859-1"
    GO_QUOTED = "Go's escapes"


@dataclass(frozen=True)
class Traits:
    """The properties of a protocol. The defaults are those of one that TiCDC has but this library does not write.

    ``package``: its name in ``protocols/`` and ``decode/``. ``lineages``: those of TiCDC that have it, as profiles name
    them. ``title``: its name in TiCDC's refusals. ``encodings``: the values of ``encoding-format``, the first one is
    the default. ``extension``: whether ``enable-tidb-extension`` has an effect. ``registers_schemas``: it registers
    schemas in a schema registry. It then has one subject per topic, so a topic expression must contain schema and
    table, and a consumer needs the schemas.

    ``ddl``: DDL is sent, ``ddl_everywhere``: to every partition of its topic, else to the first one. ``watermarks``:
    when they are sent, ``default_ticks``: whether they are also sent between rows if no interval is set.
    ``bootstraps``: messages with a table's schema are sent before its rows. ``tells_defaults``: a consumer can learn
    the value of existing rows in a new column from DDL or schemas. ``row_checksums``: rows can carry them.

    ``old_values``: whether updates contain the old values; ``old_value_table``: the table under ``[sink]`` that can
    turn them off. ``large_messages``: whether large messages can be handled; ``raw_claims``: whether the bare value can
    be stored. ``handle_key_deletes``: ``delete-only-output-handle-key-columns`` has an effect. ``content_compatible``:
    whether the sink URI's option has an effect. ``force_replicate``: whether tables without a handle key can be sent.
    ``packs_rows``: one message can hold several rows, up to ``max-batch-size``.

    ``numbers_labels``: ENUM and SET are numbers, not labels. ``binary``: how binary data becomes text.

    ``parameters``: parameters of the sink URI that change the messages and have few values, the default first.
    ``lossless``: parameters of the sink URI, as name and value, that keep the precision of every value.
    """

    package: str | None = None
    lineages: tuple[str, ...] = ("classic", "next")
    title: str = ""
    encodings: tuple[str, ...] = ()
    extension: bool = False
    registers_schemas: bool = False
    ddl: bool = True
    ddl_everywhere: bool = True
    watermarks: Given = Given.NEVER
    default_ticks: bool = False
    bootstraps: bool = False
    tells_defaults: bool = True
    row_checksums: bool = False
    old_values: bool = True
    old_value_table: str | None = None
    large_messages: Given = Given.NEVER
    raw_claims: bool = True
    handle_key_deletes: bool = False
    content_compatible: bool = False
    force_replicate: bool = True
    packs_rows: bool = False
    numbers_labels: bool = False
    binary: BinaryForm = BinaryForm.BASE64
    parameters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    lossless: tuple[tuple[str, str], ...] = ()

    @property
    def is_written(self) -> bool:
        """Whether this library writes and reads the protocol."""
        return self.package is not None
