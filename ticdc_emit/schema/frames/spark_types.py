"""Spark's types and tables as TiDB's, also over Spark Connect; no row is read. The encoder accepts all their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import names
from ticdc_emit.schema.columns import MAX_SCALE
from ticdc_emit.schema.frames.source_table import (
    CHAR_VARCHAR,
    JSON_TEXT,
    MICROSECONDS,
    ONLY_NULLS,
    SourceColumn,
    SourceTable,
    TypeChoice,
    char_or_varchar,
    equal_fields,
    keys_without_text,
    moment_type,
    no_default,
    own_types,
    text_of_length,
    time_span_type,
    unsupported,
)
from ticdc_emit.sql.words import quoted, string_literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

_PLAIN = {
    "BooleanType": TypeChoice("TINYINT(1)"),
    "ByteType": TypeChoice("TINYINT"),
    "ShortType": TypeChoice("SMALLINT"),
    "IntegerType": TypeChoice("INT"),
    "LongType": TypeChoice("BIGINT"),
    "FloatType": TypeChoice("FLOAT"),
    "DoubleType": TypeChoice("DOUBLE"),
    "StringType": TypeChoice("LONGTEXT"),
    "BinaryType": TypeChoice("LONGBLOB"),
    "DateType": TypeChoice("DATE"),
    "TimestampType": moment_type(6, is_instant=True),
    "TimestampNTZType": moment_type(6, is_instant=False),
    "DayTimeIntervalType": time_span_type(6),
    "NullType": TypeChoice("LONGTEXT", ONLY_NULLS),
    "VariantType": TypeChoice("JSON"),
}
"""Spark's types by the names of their classes, those of one TiDB type."""

_REMEDIES = {
    "YearMonthIntervalType": "Cast it to a number of months first: cast(column as int), or to string",
    "CalendarIntervalType": "Cast it to string first",
    "GeometryType": "Convert it first: st_asbinary(column)",
    "GeographyType": "Convert it first: st_asbinary(column)",
}
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_TEXT = re.compile(r"'((?:[^'\\]|'')*)'")
_NO_DEFAULT = ("LONGTEXT", "LONGBLOB", "JSON")


def spark_type(kind: DataType, *, column: str, table: str | None = None) -> TypeChoice:
    """Return TiDB's type for one of Spark's; :class:`~ticdc_emit.errors.UnsupportedTypeError` names ``column``."""
    name = type(kind).__name__
    if name == "StringType" and getattr(kind, "collation", "UTF8_BINARY") != "UTF8_BINARY":
        return TypeChoice("LONGTEXT", f"has TiDB's collation utf8mb4_bin instead of {kind.collation}.")
    if name in _NESTED:
        inside = set(_leaves(kind, column, table))
        return TypeChoice("JSON", JSON_TEXT if inside & _TEXT_IN_JSON else "")
    if name in _PLAIN:
        return _PLAIN[name]
    if name == "DecimalType":
        if kind.scale <= MAX_SCALE:
            return TypeChoice(f"DECIMAL({kind.precision},{kind.scale})")
        remedy = f"Cast it to decimal({kind.precision},{MAX_SCALE}) or to string first"
        cause = f"a DECIMAL of TiDB has at most {MAX_SCALE} decimals"
        raise unsupported(kind.simpleString(), cause, remedy, column, table)
    if name in ("CharType", "VarcharType"):
        return text_of_length(kind.length, is_char=name == "CharType")
    if name == "TimeType":
        digits = min(kind.precision, 6)
        return TypeChoice(f"TIME({digits})" if digits else "TIME", MICROSECONDS if kind.precision > 6 else "")
    if hasattr(kind, "sqlType"):  # of a user-defined type
        return spark_type(kind.sqlType(), column=column, table=table)
    remedy = _REMEDIES.get(name, "Cast it to string first")
    raise unsupported(kind.simpleString(), "TiDB has no such type", remedy, column, table)


_NESTED = ("ArrayType", "MapType", "StructType")
_TEXT_IN_JSON = frozenset(f"{name}Type" for name in ("Decimal", "Binary", "Date", "Timestamp", "TimestampNTZ", "Time"))


def _leaves(kind: DataType, column: str, table: str | None) -> Iterator[str]:
    parts = [getattr(kind, name) for name in ("elementType", "keyType", "valueType") if hasattr(kind, name)]
    fields = getattr(kind, "fields", ())
    if type(getattr(kind, "keyType", None)).__name__ in (*_NESTED, "BinaryType"):
        raise keys_without_text(kind.simpleString(), column, table)
    if len({each.name for each in fields}) < len(fields):
        raise equal_fields(kind.simpleString(), column, table)
    for inner in (*parts, *(each.dataType for each in fields)):
        name = type(inner).__name__
        if name in _NESTED:
            yield from _leaves(inner, column, table)
            continue
        if name in ("DayTimeIntervalType", "VariantType"):
            remedy = f"Make text of it first: {'to_json(column)' if name == 'VariantType' else 'cast it to string'}"
            raise unsupported(kind.simpleString(), "JSON has no such type", remedy, column, table)
        if name != "DecimalType":
            spark_type(inner, column=column, table=table)
        yield name


def spark_column(of: StructField, *, table: str | None = None, type: str | None = None) -> SourceColumn:
    """Return a field of a schema as a column, with what its metadata says. ``type``: TiDB's, instead of Spark's."""
    metadata: Mapping[str, Any] = of.metadata or {}
    choice = TypeChoice(type) if type is not None else char_or_varchar(str(metadata.get(CHAR_VARCHAR, "")))
    choice = choice or spark_type(of.dataType, column=of.name, table=table)
    default, note = _default(metadata.get("CURRENT_DEFAULT"), choice.text)
    steps = [metadata[name] for name in ("delta.identity.step", "identity.step") if name in metadata]
    return SourceColumn(
        of.name,
        choice.text,
        nullable=of.nullable,
        default=default,
        comment=str(metadata.get("comment", "")),
        auto_increment=steps[:1] in ([1], ["1"]),
        assumption=" ".join(filter(None, (choice.assumption, note))),
    )


def _default(text: str | None, kind: str) -> tuple[str | None, str]:
    if text is None or text.strip().upper() == "NULL":
        return None, ""
    given = text.strip()
    if kind not in _NO_DEFAULT:
        if given.upper() in ("TRUE", "FALSE"):
            return str(int(given.upper() == "TRUE")), ""
        if _NUMBER.fullmatch(given):
            return given, ""
        if quotation := _TEXT.fullmatch(given):
            return string_literal(quotation[1].replace("''", "'")), ""
        if given.upper() in ("CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP()", "NOW()") and kind == "DATETIME(6)":
            return "CURRENT_TIMESTAMP(6)", ""
    return None, no_default(given[:60])


def spark_table(
    schema: StructType,
    name: tuple[str, str],
    keys: str | Iterable[str] = (),
    *,
    types: Mapping[str, str] | None = None,
    facts: TableFacts | None = None,
) -> SourceTable:
    """Return a schema as the table ``name``. ``keys``: instead of those in ``facts``. ``types``: TiDB's types of some
    columns, by name. Raises the family of :class:`~ticdc_emit.errors.SchemaError`.
    """
    facts = facts or TableFacts()
    full_name = ".".join(name)
    given = own_types(types, schema.names, full_name)
    columns = [spark_column(each, table=full_name, type=given.get(each.name)) for each in schema.fields]
    given_keys = names(keys, "keys")
    key = given_keys or facts.keys
    notes = []
    if facts.keys and not given_keys:
        notes.append(f"The key is {facts.keys_from}: {', '.join(facts.keys)}.")
    if facts.partitioning:
        notes.append(f"The partitioning by {', '.join(facts.partitioning)} is left out.")
    return SourceTable.of(*name, columns, key, comment=facts.comment, assumptions=notes)


@dataclass(frozen=True)
class TableFacts:
    """``keys_from``: where the keys are from, for people. ``partitioning``: Spark's transforms, as ``days(at)``."""

    comment: str = ""
    keys: tuple[str, ...] = ()
    keys_from: str = ""
    partitioning: tuple[str, ...] = ()


_PRIMARY_KEY = re.compile(r"PRIMARY KEY *\(([^)]*)\)", re.IGNORECASE)


def table_facts(spark: SparkSession, table: str) -> TableFacts:
    """Return what Spark's catalog knows of a table or view. Raises :class:`ConfigError`. Keys are those of a PRIMARY
    KEY (Spark 4.1, Databricks), else Iceberg's identifier fields. Delta hides which columns are identities.
    """
    from pyspark.errors import PySparkException

    name = ".".join(quoted(part) for part in name_parts(table))
    try:
        rows = [
            (str(row[0] or ""), str(row[1] or "")) for row in spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        ]
    except PySparkException as error:
        raise ConfigError(
            f"Spark's catalog does not describe the table: {str(error).splitlines()[0]}",
            remedy="Check its name: table, schema.table or catalog.schema.table",
            option="table",
            source=table,
        ) from None
    keys_from = section = comment = ""
    keys: tuple[str, ...] = ()
    partitioning: list[str] = []
    for title, value in rows:
        if title.startswith("# ") and title != "# col_name":
            section = title[2:]
        elif section == "Detailed Table Information" and title == "Comment":
            comment = value
        elif section == "Partitioning" and title.startswith("Part "):
            partitioning.append(value)
        elif section == "Partition Information" and title and title != "# col_name":
            partitioning.append(title)
        elif section == "Constraints" and (found := _PRIMARY_KEY.search(value)):
            keys, keys_from = tuple(part.strip(" `") for part in found[1].split(",")), "the table's PRIMARY KEY"
    with suppress(PySparkException):  # a temporary view has no properties
        properties = {} if keys else {row[0]: row[1] for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
        if identifier := properties.get("identifier-fields", "").strip("[]"):
            keys, keys_from = tuple(part.strip() for part in identifier.split(",")), "Iceberg's identifier fields"
    return TableFacts(comment, keys, keys_from, tuple(partitioning))


_NAME_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")


def name_parts(table: str) -> tuple[str, ...]:
    """Return the parts of a table's name in Spark, of which some may be in backquotes."""
    return tuple(
        (found[1] or found[2]).replace("``", "`") if found[1] else found[2] for found in _NAME_PART.finditer(table)
    )
