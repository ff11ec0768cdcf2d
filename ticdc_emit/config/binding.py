"""Options as fields of a record: key, default, place and parsing are declared once, with the field.

Both inputs remember which names were read, so that all others are reported as ignored, among them those that the
release does not know (``config/switches.py``), which are never read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import field, fields
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from ticdc_emit.config.document import GoSyntaxError, Section, hinted, parse_bool, parse_int, refused
from ticdc_emit.config.secrets import MASK, Secret, shown_names
from ticdc_emit.config.switches import OptionSwitches
from ticdc_emit.config.uri import SinkUri

T = TypeVar("T")

KAFKA_TABLE = "sink.kafka-config"
CODEC_TABLE = "sink.kafka-config.codec-config"
PARAMETERS: dict[str, bool] = {}
"""All options that a sink URI may have, and whether each is a secret; :func:`declare` adds them."""
FILE_OPTIONS: set[str] = set()
"""The options of the changefeed file with their tables; :func:`declare` adds them."""
_AFTER_A_SECRET = "a parameter after a secret (percent-encode & in a password)"


Reader: TypeAlias = Literal["sink", "kafka", "storage"]
"""The part of TiCDC that reads a parameter: the options of the encoders, of Kafka, or of the storage sink."""
_BAD_PARAMETERS = {
    "mysql": ("ErrMySQLInvalidConfig", "MySQL"),
    "sink": ("ErrSinkInvalidConfig", "sink"),
    "kafka": ("ErrKafkaInvalidConfig", "kafka"),
    "storage": ("ErrStorageSinkInvalidConfig", "storage sink"),
}
"""The code and the subject of the refusal of a value that does not parse."""


class UriParameters:
    """Typed readers of a URI's query that remember what was read; None for a missing or unknown parameter."""

    def __init__(self, uri: SinkUri, switches: OptionSwitches = OptionSwitches()) -> None:
        self._uri = uri
        self.switches = switches
        self._read: set[str] = set()

    def text(self, name: str) -> str | None:
        if name in self.switches.unknown:
            return None
        self._read.add(name)
        return self._uri.get(name)

    def boolean(self, name: str, reader: Reader = "sink") -> bool | None:
        return self._bound(name, reader, parse_bool, "false", "Give true or false")

    def integer(self, name: str, reader: Reader = "sink", bits: int = 64) -> int | None:
        return self._bound(name, reader, lambda text: parse_int(text, bits), "0", f"Give a whole number of {bits} bits")

    def _bound(self, name: str, reader: Reader, parse: Callable[[str], T], empty: str, remedy: str) -> T | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            return parse(text or empty)
        except GoSyntaxError as error:
            as_mysql = self.switches.bad_parameter == "as-mysql" and reader != "storage"
            code, what = _BAD_PARAMETERS["mysql" if as_mysql else reader]
            raise refused(code, f"{what} config invalid: {error}", option=name, remedy=remedy) from None

    def unread(self) -> list[str]:
        """Names of the parameters that nothing has read, and the parts of the URI that were dropped as malformed."""
        shown = shown_names(name for name, _ in self._uri.params)
        names = [
            # A name without a value may be the rest of an unescaped password.
            label if value.reveal() else "a parameter without a value"
            for label, (name, value) in zip(shown, self._uri.params, strict=True)
            if name not in self._read and name not in self.switches.unknown
        ]
        names = [_AFTER_A_SECRET if name == MASK else hinted(name, self._read) for name in names]
        return list(dict.fromkeys([*names, *self._uri.dropped]))

    def forgotten(self) -> list[tuple[str, str]]:
        """The parameters that the release does not know, each twice (see :meth:`Section.forgotten`)."""
        return [(name, name) for name, _ in self._uri.params if name in self.switches.unknown]


def merge(file_value: T | None, uri_value: T | None) -> T | None:
    """Return the URI's value over the file's; a false, zero or empty one does not replace it (``mergo`` of Go)."""
    if uri_value is None or (not uri_value and file_value is not None):
        return file_value
    return uri_value


class _Option(NamedTuple):
    key: str
    table: str | None
    in_uri: bool
    kind: type
    bits: int
    reader: Reader
    parse: Callable[[Any, OptionSwitches], Any] | None
    file_key: str
    exact: bool


def declare(
    default: T,
    key: str,
    table: str | None = None,
    *,
    in_uri: bool = True,
    kind: type | None = None,
    bits: int = 64,
    reader: Reader = "sink",
    parse: Callable[[Any, OptionSwitches], T] | None = None,
    file_key: str = "",
    exact: bool = False,
) -> T:
    """Declare a field of a frozen record as an option of TiCDC.

    ``table``: the dotted path of its table in the file, ``None`` if only the URI has it. ``kind``: ``bool``, ``int``
    (signed, of ``bits``), ``str``, ``tuple`` (of texts) or ``Secret``; by default the default's type. ``reader``: the
    part of TiCDC that parses it in the URI. ``parse``: checks or converts what was given. ``file_key``: its other key
    in the file. An empty text counts as not given, and so does a false in the URI, unless the option is ``exact``.
    """
    if in_uri:
        PARAMETERS[key] = kind is Secret
    if table:
        FILE_OPTIONS.add(f"{table}.{file_key or key}")
    declared = _Option(key, table, in_uri, kind or type(default), bits, reader, parse, file_key or key, exact)
    return field(default=default, metadata={"option": declared})


def read_options(
    record: type, uri: UriParameters | None, root: Section, only: Collection[str] | None = None
) -> dict[str, Any]:
    """Return the given options of a record by field name; ``only``: of these fields. All are read in their order, then
    each is parsed, so that the same one of two bad texts is refused as in TiCDC.
    """
    declared = {
        each.name: each.metadata["option"]
        for each in fields(record)
        if "option" in each.metadata and (only is None or each.name in only)
    }
    read = {name: _read(each, uri, root) for name, each in declared.items()}
    given = {name: value for name, value in read.items() if value is not None}
    switches = OptionSwitches() if uri is None else uri.switches
    return {
        name: value if (parse := declared[name].parse) is None else parse(value, switches)
        for name, value in given.items()
    }


def _read(declared: _Option, uri: UriParameters | None, root: Section) -> Any:
    in_file = None if declared.table is None else _read_from(root.at(declared.table), declared)
    in_uri = _read_from(uri, declared) if uri is not None and declared.in_uri else None
    if declared.exact:
        return in_file if in_uri is None else in_uri
    value = merge(in_file, in_uri)
    if declared.kind is Secret:
        return Secret(value) if value else None
    return value or None if declared.kind is str else value


def _read_from(source: Section | UriParameters, declared: _Option) -> Any:
    reader = declared.reader
    key = declared.file_key if isinstance(source, Section) else declared.key
    if declared.kind is bool:
        return source.boolean(key) if isinstance(source, Section) else source.boolean(key, reader)
    if declared.kind is int:
        bits = declared.bits
        return source.integer(key, bits) if isinstance(source, Section) else source.integer(key, reader, bits)
    if declared.kind is tuple and isinstance(source, Section):
        return source.texts(key)
    return source.text(key)
