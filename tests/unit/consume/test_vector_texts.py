"""Every recorded row, of every release, protocol and option: what a reader makes of TiCDC's message is what went in.

Rows are compared as canonical text. What a protocol does not carry is said here in words of its own (``_carried``), not
taken from the reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Context, Decimal
from functools import cache
from typing import Any, NamedTuple

import pytest
from conformance.history import CaseHistory
from conformance.produce import load_variant
from conformance.vectors import DML_KINDS, Case, Record, Variant, read_case
from hypothesis_profiles import sample
from release_vectors import RELEASED, is_chosen
from vector_files import readable_names, vector_path

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.protocols import QUEUED, Protocol
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.errors import ConfigError
from ticdc_emit.protocols.events import DdlEvent, RowEvent, WatermarkEvent, kind_of, table_of
from ticdc_emit.protocols.names import sanitize
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import MySQLType

_CONNECT = (Protocol.DEBEZIUM, Protocol.DEBEZIUM_AVRO)
_DATES = (MySQLType.DATE, MySQLType.DATETIME)
_UNKNOWN = object()
_LINEAGES = ("classic", "next")
_FOLDERS = tuple(f"{folder}{lineage}" for folder in ("", "open/") for lineage in _LINEAGES)
_RELEASE_FOLDERS = sorted({str(file.parent.relative_to(RELEASED.parent)) for file in RELEASED.rglob("*.gz")})
_RELEASE_CASES = [(folder, name) for folder in _RELEASE_FOLDERS for name in readable_names(folder)]
_FEW = [case for case in _RELEASE_CASES if is_chosen(f"read {case}", 30)]


class _Sent(NamedTuple):
    variant: Variant
    config: ChangefeedConfig
    table: TableInfo
    row: dict[str, Any]
    record: Record
    schemas: dict[int, str]


@cache
def _case(lineage: str, name: str) -> tuple[Case, CaseHistory]:
    case = read_case(vector_path(name, lineage))
    return case, CaseHistory(case)


def _variants(case: Case) -> Iterator[tuple[Variant, ChangefeedConfig]]:
    for variant in case.variants:
        if variant.config_error or not variant.expected:
            continue
        try:
            config = load_variant(case, variant)
        except ConfigError:
            continue
        if config.codec.protocol in QUEUED and "batch" not in variant.id:  # whose rows have no record of their own
            yield variant, config


def _sent(lineage: str, name: str) -> Iterator[_Sent]:
    case, history = _case(lineage, name)
    for variant, config in _variants(case):
        schemas = {post["id"]: post["schema"] for post in variant.registrations or () if post.get("id")}
        for index, outcome in variant.expected.items():
            event = case.events[index]
            if event["kind"] not in DML_KINDS or outcome.error:
                continue
            table = history.version(event["schema"], event["table"], event["commit_ts"])
            rows = event["emitted"] if event["kind"] == "txn" else [event]
            for row, record in zip(rows, outcome.records, strict=True):
                if not record.error and _tells_a_row(record):
                    yield _Sent(variant, config, table, {"commit_ts": event["commit_ts"], **row}, record, schemas)


def _tells_a_row(record: Record) -> bool:
    """Return whether a message is more than Avro's delete of a row without key: nothing, or a mark of one."""
    return bool(record.key) or (record.value or b"\3")[:1] != b"\3"


def _text(column: Column, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, dict):
        return str(value["base64"])
    if column.type in (MySQLType.FLOAT, MySQLType.DOUBLE):
        return float_text(value, single=column.type is MySQLType.FLOAT)
    if isinstance(value, int) and column.type is MySQLType.ENUM:
        return column.elems[value - 1] if value else ""
    if isinstance(value, int) and column.type is MySQLType.SET:
        return ",".join(label for place, label in enumerate(column.elems) if value >> place & 1)
    return str(value)


def _carried(config: ChangefeedConfig, column: Column, text: str | None) -> Any:
    """Return what the protocol carries of a value; ``_UNKNOWN`` where that is something else by design."""
    release = config.release
    if column.type is MySQLType.DURATION and column.decimal > 0 and not release.open_protocol.time_fraction:
        return _UNKNOWN  # the recorder printed them as Open Protocol does, without the fraction
    if (
        config.codec.protocol is Protocol.CANAL_JSON
        and release.canal_json.null_text == "null"
        and text == _nulled(column)
    ):
        return _UNKNOWN
    if config.codec.protocol not in _CONNECT:
        return text
    if text is None:
        return None if column.default is None else _UNKNOWN
    if column.type is MySQLType.NEWDECIMAL and config.codec.protocol is Protocol.DEBEZIUM:
        double = Decimal(repr(float(text)))
        return format(double.quantize(Decimal(1).scaleb(-max(column.decimal, 0)), context=Context(prec=100)), "f")
    if column.type in _DATES and "-00" in text[:10]:
        return None if column.nullable else _UNKNOWN
    if column.type in _DATES and text < "0100" and release.debezium.short_years == "completed":
        return _UNKNOWN
    if column.type is MySQLType.TIMESTAMP and text < "1970-01-01 00:00:01":
        if release.debezium.early_timestamps == "as-given":
            return text if text[:4] != "0000" else _UNKNOWN
        return "0000-00-00 00:00:00" + ("." + "0" * column.decimal if column.decimal > 0 else "")
    return text


def _nulled(column: Column) -> str:
    return "bnVsbA==" if column.is_binary else "null"


def _compared(sent: _Sent, shown: Any, given: Any, problems: list[str], *, whole: bool) -> Counter[str]:
    counts: Counter[str] = Counter()
    if whole and shown is not None:
        names = {column.name for column in sent.table.data_columns}
        if not sent.config.column_selectors and set(shown) != names:
            problems.append(f"columns {sorted(set(shown) ^ names)}")
    for name, text in (shown or {}).items():
        column = sent.table.column(name)
        # events do not give the value of a virtual column, which a table has a key of
        expected = _carried(sent.config, column, _text(column, given[name])) if name in given else _UNKNOWN
        counts["unknown" if expected is _UNKNOWN else "values"] += 1
        if expected is not _UNKNOWN and text != expected:
            problems.append(f"{name} {column.type.name}: {text!r:.200} for {expected!r:.200}")
    return counts


def _shows_before(config: ChangefeedConfig) -> bool:
    """Return whether the columns before an update have their values, and not ``null`` or an empty text."""
    codec, release = config.codec, config.release
    if codec.protocol is Protocol.OPEN:
        return not codec.only_output_updated_columns or release.open_protocol.before_values == "values"
    if codec.protocol is Protocol.CANAL_JSON:
        return not config.column_selectors or release.canal_json.unselected_before == "left-out"
    return True


def _read_back(sent: _Sent, problems: list[str]) -> Counter[str]:
    claims = None if sent.record.claim is None else (lambda location: sent.record.claim or b"")
    reader = reader_for(sent.config, schemas=sent.schemas, claims=claims)
    (part,) = reader.parts(sent.record.key, sent.record.value)
    event = reader.read(*part)
    assert isinstance(event, RowEvent)
    if sent.config.codec.protocol is Protocol.AVRO and event.table != sanitize(sent.table.name):
        return Counter()  # TiCDC wrote the row with the schema that another table has under the same subject
    shown = reader.text(event, sent.table)
    found: list[str] = []
    row = sent.row
    extension = sent.config.codec.enable_tidb_extension
    protocol = sent.config.codec.protocol
    tells_updates = (
        extension if protocol is Protocol.AVRO else sent.config.codec.output_old_value or protocol is not Protocol.OPEN
    )
    if event.op != row["op"] and (tells_updates or row["op"] == "delete"):
        found.append(f"op {event.op}")
    if event.commit_ts is not None and event.commit_ts != row["commit_ts"]:
        found.append(f"commit_ts {event.commit_ts}")
    partial = event.handle_key_only or row["op"] == "delete"
    counts = Counter[str]()
    if row["op"] != "update" or _shows_before(sent.config):
        counts += _compared(sent, shown.before, row["before"], found, whole=False)
    counts += _compared(sent, shown.after, row["after"], found, whole=not partial)
    image = row["before"] if row["op"] == "delete" else row["after"]
    counts += _compared(sent, shown.key, image, found, whole=False)
    counts["rows"] += 1
    problems += [f"{sent.variant.id} {row['op']}: {each}" for each in found]
    return counts


@pytest.mark.parametrize(
    ("lineage", "name"), sample([(each, name) for each in _FOLDERS for name in readable_names(each)], 3) + _FEW
)
def test_recorded_rows_read_back(lineage: str, name: str) -> None:
    problems: list[str] = []
    counts: Counter[str] = Counter()
    for sent in _sent(lineage, name):
        counts += _read_back(sent, problems)
    assert not problems, "\n".join(problems[:40])
    assert counts["unknown"] <= 2 * counts["values"]  # rel_time_fsp has more, by design


@pytest.mark.slow
@pytest.mark.parametrize(("lineage", "name"), _RELEASE_CASES)
def test_recorded_rows_of_every_release_read_back(lineage: str, name: str) -> None:
    test_recorded_rows_read_back(lineage, name)


@pytest.mark.parametrize("lineage", _LINEAGES)
@pytest.mark.parametrize("name", ["ddl_lifecycle", "ddl_more", "ddl_rest", "rename_tables", "watermarks"])
def test_recorded_control_messages_read_back(lineage: str, name: str) -> None:
    case, _ = _case(lineage, name)
    kinds: Counter[str] = Counter()
    for variant, config in _variants(case):
        reader = reader_for(config, schemas={})
        for index, outcome in (variant.expected or {}).items():
            event = case.events[index]
            for record in outcome.records if event["kind"] not in DML_KINDS else ():
                read = reader.read(record.key, record.value)
                kinds[kind_of(read)] += 1
                assert kind_of(read) == event["kind"]
                if isinstance(read, DdlEvent):
                    assert read.query == event["query"]
                    simple = config.codec.protocol is Protocol.SIMPLE  # which names no database without a table
                    place = ("", "") if simple and not event["table"] else (event["schema"], event["table"])
                    assert (read.schema, read.table) == place
                    assert read.commit_ts in (event["commit_ts"], None)
                elif isinstance(read, WatermarkEvent):
                    assert read.commit_ts == event["ts"]
                else:
                    assert table_of(read) == f"{event['schema']}.{event['table']}"
    assert kinds["watermark" if name == "watermarks" else "ddl"] > 10


def test_rows_of_every_protocol_are_read() -> None:
    for lineage in _LINEAGES:
        known = {protocol for protocol in QUEUED if lineage in protocol.releases}
        sent = [*_sent(lineage, "integers_signed"), *_sent(f"open/{lineage}", "integers_signed")]
        assert {each.config.codec.protocol for each in sent} == known
