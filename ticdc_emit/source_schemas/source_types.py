"""Column types of other systems as TiDB's: one row for each type of each dialect.

In: a type as a dialect writes it, with its arguments (:class:`SourceType`). Out: a
:class:`~ticdc_emit.schema.frames.source_table.TypeChoice`: TiDB's type that holds all its values, and what the choice
assumes; :class:`~ticdc_emit.errors.UnsupportedTypeError` where no type does. docs/schemas.md shows the table. Rule
sources: the manuals of the systems (chapters on data types), and pingcap/tidb ``pkg/parser/mysql/const.go`` (limits).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn, TypeAlias

from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.schema.columns import MAX_CHAR_LENGTH, MAX_DECIMAL, MAX_SCALE, MAX_VARCHAR_BYTES
from ticdc_emit.schema.frames.source_table import (
    LONGEST_VARCHAR,
    MICROSECONDS,
    ONLY_NULLS,
    TypeChoice,
    moment_type,
    text_of_length,
    time_span_type,
)

_MOST_FRACTION = 6
_MOST_BITS, _MOST_DIMENSIONS = 64, 16_383

NO_OFFSET = "The offset that a value was written with is not kept."
MORE_DIGITS = "Values with more than six fraction digits are refused."
ANY_NUMBER = "has any precision: DECIMAL(65,30) holds 35 digits before the point and 30 after it."
JSON_VALUE = "is JSON, which accepts lists, maps and structs."
AS_TEXT = "is text, as the system writes its values."
WITHOUT_CURRENCY = "is a number without its currency."
BITS = "is text of 0 and 1."


class SourceType(NamedTuple):
    """A type in DDL. ``name``: its words in upper case. ``arguments``: the texts in its parentheses. ``shown``: as in
    the script. ``is_array``: an array of this type.
    """

    name: str
    arguments: tuple[str, ...] = ()
    shown: str = ""
    is_array: bool = False

    def number(self, place: int) -> int | None:
        """Return an argument that is a whole number, such as a length; ``None`` without one."""
        text = self.arguments[place].split()[0] if len(self.arguments) > place and self.arguments[place] else ""
        return int(text) if text.lstrip("-").isdigit() else None

    def refuse(self, cause: str, remedy: str) -> NoReturn:
        raise UnsupportedTypeError(f"the type is {self.shown}, but {cause}", remedy=remedy)


TypeRule: TypeAlias = Callable[[SourceType], TypeChoice]


def _is(text: str, assumption: str = "") -> TypeRule:
    choice = TypeChoice(text, assumption)
    return lambda source: choice


def text_of(length: int | None, assumption: str = "") -> TypeChoice:
    """Return the type of text of at most so many characters; ``None``: of any length."""
    if length is None or length > LONGEST_VARCHAR:
        return TypeChoice("LONGTEXT", assumption)
    return TypeChoice(f"VARCHAR({length})", assumption)


def _text(default: int | None = None, assumption: str = "") -> TypeRule:
    return lambda source: text_of(source.number(0) if source.arguments else default, assumption)


def _char(default: int | None = 1) -> TypeRule:
    def choose(source: SourceType) -> TypeChoice:
        length = source.number(0) or default
        return TypeChoice("LONGTEXT") if length is None else text_of_length(length, is_char=True)

    return choose


def _bytes(default: int | None = None) -> TypeRule:
    def choose(source: SourceType) -> TypeChoice:
        length = source.number(0) or default
        is_long = length is None or length > MAX_VARCHAR_BYTES
        return TypeChoice("LONGBLOB" if is_long else f"VARBINARY({length})")

    return choose


def _fixed_bytes(default: int = 1) -> TypeRule:
    def choose(source: SourceType) -> TypeChoice:
        length = source.number(0) or default
        return TypeChoice(f"{'BINARY' if length <= MAX_CHAR_LENGTH else 'VARBINARY'}({length})")

    return choose


def _decimal(digits: int | None = None, decimals: int = 0, assumption: str = "") -> TypeRule:
    """The type of decimal numbers; ``digits``, ``decimals``: those of a type without arguments, ``None`` for any."""

    def choose(source: SourceType) -> TypeChoice:
        precision, scale = source.number(0), source.number(1) or 0
        if precision is None and source.number(1) is None:
            if digits is None:
                return TypeChoice(f"DECIMAL({MAX_DECIMAL},{MAX_SCALE})", ANY_NUMBER)
            return TypeChoice(f"DECIMAL({digits},{decimals})", assumption)
        precision = 38 if precision is None else precision  # NUMBER(*,0)
        if scale < 0:
            precision, scale = precision - scale, 0
        precision = max(precision, scale)
        if scale > MAX_SCALE or precision > MAX_DECIMAL:
            source.refuse(
                f"a DECIMAL of TiDB has at most {MAX_DECIMAL} digits, {MAX_SCALE} of them after the point",
                "Write a type that its values fit into, or varchar",
            )
        return TypeChoice(f"DECIMAL({precision},{scale})")

    return choose


def _float(single: int = 24, default: int = 53) -> TypeRule:
    """FLOAT with a precision in bits."""
    return lambda source: TypeChoice("FLOAT" if (source.number(0) or default) <= single else "DOUBLE")


def _moment(default: int = 6, *, is_instant: bool = False, assumption: str = "") -> TypeRule:
    """A date and time; ``default``: its fraction digits if none are given."""

    def choose(source: SourceType) -> TypeChoice:
        given = source.number(0)
        digits = default if given is None else given
        choice = moment_type(min(digits, _MOST_FRACTION), is_instant=is_instant)
        more = MORE_DIGITS if is_instant else MICROSECONDS
        notes = (choice.assumption, assumption, more if digits > _MOST_FRACTION else "")
        return TypeChoice(choice.text, " ".join(filter(None, notes)))

    return choose


def _instant(default: int = 6, *, offset: bool = False) -> TypeRule:
    """An instant: ``offset`` if its values also have an offset of their own."""
    return _moment(default, is_instant=True, assumption=NO_OFFSET if offset else "")


def _time(default: int = 6) -> TypeRule:
    """A time of day."""

    def choose(source: SourceType) -> TypeChoice:
        given = source.number(0)
        digits = default if given is None else given
        length = min(digits, _MOST_FRACTION)
        return TypeChoice(f"TIME({length})" if length else "TIME", MICROSECONDS if digits > _MOST_FRACTION else "")

    return choose


def _bit_text(source: SourceType) -> TypeChoice:
    return text_of(source.number(0) or (1 if source.name == "BIT" else None), BITS)


def _vector(place: int = 0) -> TypeRule:
    def choose(source: SourceType) -> TypeChoice:
        length = source.number(place)
        if length is not None and length > _MOST_DIMENSIONS:
            source.refuse(f"a VECTOR of TiDB has at most {_MOST_DIMENSIONS:,} dimensions", "Write its values as text")
        return TypeChoice("VECTOR" if length is None else f"VECTOR({length})")

    return choose


def _refused(cause: str, remedy: str) -> TypeRule:
    return lambda source: source.refuse(cause, remedy)


def _rows(*rows: tuple[str, TypeRule]) -> dict[str, TypeRule]:
    """Return rules by names; the names of a row have commas between them."""
    return {name.strip(): rule for names, rule in rows for name in names.split(",")}


_BOOLEAN, _JSON, _LONGTEXT, _UUID = _is("TINYINT(1)"), _is("JSON"), _is("LONGTEXT"), _is("CHAR(36)")
_AS_JSON, _AS_TEXT = _is("JSON", JSON_VALUE), _is("LONGTEXT", AS_TEXT)
_SMALLINT, _INT, _BIGINT = _is("SMALLINT"), _is("INT"), _is("BIGINT")

_ANSI_TEXTS = _rows(
    ("VARCHAR, CHARACTER VARYING, CHAR VARYING, NVARCHAR, NATIONAL CHARACTER VARYING, NATIONAL CHAR VARYING", _text()),
    ("CHAR, CHARACTER, NCHAR, NATIONAL CHARACTER, NATIONAL CHAR", _char()),
)
_POSTGRES = {
    **_ANSI_TEXTS,
    **_rows(
        ("SMALLINT, INT2", _SMALLINT),
        ("INTEGER, INT, INT4", _INT),
        ("BIGINT, INT8", _BIGINT),
        ("SMALLSERIAL, SERIAL2", _SMALLINT),
        ("SERIAL, SERIAL4", _INT),
        ("BIGSERIAL, SERIAL8", _BIGINT),
        ("REAL, FLOAT4", _is("FLOAT")),
        ("DOUBLE PRECISION, FLOAT8, DOUBLE", _is("DOUBLE")),
        ("FLOAT", _float()),
        ("NUMERIC, DECIMAL, DEC", _decimal()),
        ("MONEY", _is("DECIMAL(19,2)", WITHOUT_CURRENCY)),
        ("BOOLEAN, BOOL", _BOOLEAN),
        ("BPCHAR", _char(None)),
        ("TEXT, CITEXT, XML", _LONGTEXT),
        ("NAME", _is("VARCHAR(63)")),
        ('"CHAR"', _is("VARCHAR(1)")),
        ("BYTEA", _is("LONGBLOB")),
        ("DATE", _is("DATE")),
        ("TIMESTAMP, TIMESTAMP WITHOUT TIME ZONE", _moment()),
        ("TIMESTAMPTZ, TIMESTAMP WITH TIME ZONE", _instant()),
        ("TIME, TIME WITHOUT TIME ZONE", _time()),
        ("TIMETZ, TIME WITH TIME ZONE", _is("VARCHAR(24)", AS_TEXT)),
        ("INTERVAL", _is("VARCHAR(128)", AS_TEXT)),
        ("JSON, JSONB", _JSON),
        ("HSTORE", _AS_JSON),
        ("UUID", _UUID),
        ("BIT, BIT VARYING, VARBIT", _bit_text),
        ("INET, CIDR", _is("VARCHAR(43)", AS_TEXT)),
        ("MACADDR, MACADDR8", _is("VARCHAR(23)", AS_TEXT)),
        ("POINT, LINE, LSEG, BOX, PATH, POLYGON, CIRCLE, CUBE", _AS_TEXT),
        ("GEOMETRY, GEOGRAPHY, RASTER, BOX2D, BOX3D", _AS_TEXT),
        ("TSVECTOR, TSQUERY, LTREE, LQUERY, JSONPATH, SPARSEVEC", _AS_TEXT),
        ("INT4RANGE, INT8RANGE, NUMRANGE, TSRANGE, TSTZRANGE, DATERANGE", _AS_TEXT),
        ("INT4MULTIRANGE, INT8MULTIRANGE, NUMMULTIRANGE, TSMULTIRANGE, TSTZMULTIRANGE, DATEMULTIRANGE", _AS_TEXT),
        ("OID, XID, CID", _is("INT UNSIGNED")),
        ("XID8", _is("BIGINT UNSIGNED")),
        ("REGCLASS, REGPROC, REGPROCEDURE, REGTYPE, REGROLE, REGNAMESPACE, REGCONFIG, REGDICTIONARY", _AS_TEXT),
        ("PG_LSN", _is("VARCHAR(17)", AS_TEXT)),
        ("TXID_SNAPSHOT, PG_SNAPSHOT, ACLITEM, TID", _AS_TEXT),
        ("VECTOR, HALFVEC", _vector()),
    ),
}
_LIKE_POSTGRES = (
    *("SMALLINT", "INT2", "INTEGER", "INT", "INT4", "BIGINT", "INT8", "REAL", "FLOAT4", "FLOAT8", "FLOAT"),
    *("DOUBLE PRECISION", "BOOLEAN", "BOOL", "CHAR", "CHARACTER", "NCHAR", "DATE", "NAME", "OID"),
    *("TIMESTAMP", "TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"),
    *("TIME", "TIME WITHOUT TIME ZONE", "TIMETZ", "TIME WITH TIME ZONE", "INTERVAL", "GEOMETRY", "GEOGRAPHY"),
)
_REDSHIFT = {
    **{name: _POSTGRES[name] for name in _LIKE_POSTGRES},
    **_rows(
        ("NUMERIC, DECIMAL, DEC", _decimal(18, 0)),
        ("VARCHAR, CHARACTER VARYING, NVARCHAR, TEXT", _text(256)),
        ("BPCHAR", _char(256)),
        ("VARBYTE, VARBINARY, BINARY VARYING", _bytes(64_000)),
        ("SUPER", _JSON),
        (
            "HLLSKETCH",
            _refused("its values are sketches that only Redshift reads", "Write bigint for hll_cardinality(...)"),
        ),
    ),
}
_ORACLE = {
    **_rows(
        ("NUMBER, NUMERIC, DECIMAL, DEC", _decimal()),
        ("INTEGER, INT, SMALLINT", _is("DECIMAL(38,0)")),
        ("FLOAT, REAL, DOUBLE PRECISION", _is("DOUBLE", "is DOUBLE: 15 digits are exact, where Oracle keeps 38.")),
        ("BINARY_FLOAT", _is("FLOAT")),
        ("BINARY_DOUBLE", _is("DOUBLE")),
        (
            "VARCHAR2, NVARCHAR2, VARCHAR, CHARACTER VARYING, CHAR VARYING, NCHAR VARYING, "
            "NATIONAL CHARACTER VARYING, NATIONAL CHAR VARYING",
            _text(),
        ),
        ("CHAR, NCHAR, CHARACTER, NATIONAL CHARACTER, NATIONAL CHAR", _char()),
        ("CLOB, NCLOB, LONG, LONG VARCHAR", _LONGTEXT),
        ("BLOB, LONG RAW", _is("LONGBLOB")),
        ("RAW", _bytes()),
        ("DATE", _is("DATETIME")),
        ("TIMESTAMP", _moment()),
        ("TIMESTAMP WITH TIME ZONE", _instant(offset=True)),
        ("TIMESTAMP WITH LOCAL TIME ZONE", _instant()),
        ("INTERVAL, INTERVAL DAY TO SECOND", _is("VARCHAR(30)", AS_TEXT)),
        ("INTERVAL YEAR TO MONTH", _is("VARCHAR(13)", AS_TEXT)),
        ("ROWID", _is("VARCHAR(18)", AS_TEXT)),
        ("UROWID", _is("VARCHAR(4000)", AS_TEXT)),
        ("XMLTYPE, URITYPE, HTTPURITYPE", _AS_TEXT),
        ("SDO_GEOMETRY, SDO_GEORASTER, ST_GEOMETRY, SDO_POINT_TYPE", _AS_TEXT),
        ("JSON", _JSON),
        ("BOOLEAN", _BOOLEAN),
        ("VECTOR", _vector()),
        ("BFILE", _refused("its values are files beside the database", "Write varchar2(512) for the file's name")),
        ("ANYDATA, ANYTYPE, ANYDATASET", _refused("its values have types of their own", "Write varchar2 or clob")),
    ),
}
_TSQL = {
    **_ANSI_TEXTS,
    **_rows(
        ("BIT", _BOOLEAN),
        ("TINYINT", _is("TINYINT UNSIGNED")),
        ("SMALLINT", _SMALLINT),
        ("INT, INTEGER", _INT),
        ("BIGINT", _BIGINT),
        ("DECIMAL, NUMERIC, DEC", _decimal(18, 0)),
        ("MONEY", _is("DECIMAL(19,4)")),
        ("SMALLMONEY", _is("DECIMAL(10,4)")),
        ("REAL", _is("FLOAT")),
        ("FLOAT", _float()),
        ("DOUBLE PRECISION", _is("DOUBLE")),
        (
            "VARCHAR, NVARCHAR, CHARACTER VARYING, CHAR VARYING, NATIONAL CHARACTER VARYING, NATIONAL CHAR VARYING",
            lambda source: text_of(_length_or_max(source)),
        ),
        ("TEXT, NTEXT, XML", _LONGTEXT),
        ("VARBINARY, BINARY VARYING", lambda source: _bytes(_length_or_max(source))(source)),
        ("BINARY", _fixed_bytes()),
        ("IMAGE", _is("LONGBLOB")),
        ("DATE", _is("DATE")),
        ("DATETIME", _is("DATETIME(3)")),
        ("SMALLDATETIME", _is("DATETIME")),
        ("DATETIME2", _moment(7)),
        ("DATETIMEOFFSET", _instant(7, offset=True)),
        ("TIME", _time(7)),
        ("UNIQUEIDENTIFIER", _UUID),
        ("ROWVERSION, TIMESTAMP", _is("BINARY(8)")),
        ("SYSNAME", _is("VARCHAR(128)")),
        ("HIERARCHYID", _is("VARCHAR(892)", AS_TEXT)),
        ("GEOGRAPHY, GEOMETRY", _AS_TEXT),
        ("JSON", _JSON),
        ("VECTOR", _vector()),
        (
            "SQL_VARIANT",
            _refused("its values have types of their own", "Write the type that its values have, or nvarchar(4000)"),
        ),
    ),
}


def _length_or_max(source: SourceType) -> int | None:
    """Return a length of SQL Server: 1 without one, ``None`` for ``max``."""
    return source.number(0) if source.arguments else 1


_SNOWFLAKE = {
    **_ANSI_TEXTS,
    **_rows(
        ("NUMBER, DECIMAL, NUMERIC, DEC", _decimal(38, 0)),
        ("INT, INTEGER, BIGINT, SMALLINT, TINYINT, BYTEINT", _is("DECIMAL(38,0)")),
        ("FLOAT, FLOAT4, FLOAT8, DOUBLE, DOUBLE PRECISION, REAL", _is("DOUBLE")),
        ("DECFLOAT", _is(f"DECIMAL({MAX_DECIMAL},{MAX_SCALE})", ANY_NUMBER)),
        ("VARCHAR, STRING, TEXT, NVARCHAR, NVARCHAR2, CHAR VARYING, NCHAR VARYING", _text()),
        ("CHAR, CHARACTER, NCHAR", lambda source: text_of(source.number(0) or 1)),
        ("BINARY, VARBINARY", _bytes()),
        ("BOOLEAN", _BOOLEAN),
        ("DATE", _is("DATE")),
        ("TIMESTAMP, TIMESTAMP_NTZ, TIMESTAMPNTZ, DATETIME, TIMESTAMP WITHOUT TIME ZONE", _moment(9)),
        ("TIMESTAMP_LTZ, TIMESTAMPLTZ, TIMESTAMP WITH LOCAL TIME ZONE", _instant(9)),
        ("TIMESTAMP_TZ, TIMESTAMPTZ, TIMESTAMP WITH TIME ZONE", _instant(9, offset=True)),
        ("TIME", _time(9)),
        ("VARIANT, OBJECT, ARRAY, MAP", _AS_JSON),
        ("GEOGRAPHY, GEOMETRY", _AS_TEXT),
        ("VECTOR", _vector(1)),
        ("UUID", _UUID),
        ("FILE", _AS_JSON),
        ("INTERVAL, INTERVAL DAY TO SECOND, INTERVAL YEAR TO MONTH", _is("VARCHAR(64)", AS_TEXT)),
    ),
}
_BIGQUERY = _rows(
    ("INT64, INT, INTEGER, BIGINT, SMALLINT, TINYINT, BYTEINT", _BIGINT),
    ("FLOAT64, FLOAT", _is("DOUBLE")),
    ("NUMERIC, DECIMAL", _decimal(38, 9)),
    ("BIGNUMERIC, BIGDECIMAL", _decimal(MAX_DECIMAL, MAX_SCALE, "is DECIMAL(65,30), the longest of TiDB.")),
    ("BOOL, BOOLEAN", _BOOLEAN),
    ("STRING", _text()),
    ("BYTES", _bytes()),
    ("DATE", _is("DATE")),
    ("DATETIME", _is("DATETIME(6)")),
    ("TIMESTAMP", _instant()),
    ("TIME", _is("TIME(6)")),
    ("JSON", _JSON),
    ("ARRAY, STRUCT", _AS_JSON),
    ("GEOGRAPHY, RANGE", _AS_TEXT),
    ("INTERVAL", _is("VARCHAR(64)", AS_TEXT)),
)
_HIVE = _rows(
    ("TINYINT, BYTE", _is("TINYINT")),
    ("SMALLINT, SHORT", _SMALLINT),
    ("INT, INTEGER", _INT),
    ("BIGINT, LONG", _BIGINT),
    ("FLOAT, REAL", _is("FLOAT")),
    ("DOUBLE, DOUBLE PRECISION", _is("DOUBLE")),
    ("DECIMAL, NUMERIC, DEC", _decimal(10, 0)),
    ("STRING, VARCHAR, CHARACTER VARYING", _text()),
    ("CHAR, CHARACTER", _char()),
    ("BINARY", _is("LONGBLOB")),
    ("BOOLEAN", _BOOLEAN),
    ("DATE", _is("DATE")),
    ("TIMESTAMP", _moment(9)),
    ("TIMESTAMP WITH LOCAL TIME ZONE, TIMESTAMPLOCALTZ", _instant(9)),
    ("ARRAY, MAP, STRUCT, UNIONTYPE", _AS_JSON),
    ("INTERVAL DAY TO SECOND", _is("VARCHAR(30)", AS_TEXT)),
    ("INTERVAL YEAR TO MONTH", _is("VARCHAR(13)", AS_TEXT)),
    ("VOID", _is("LONGTEXT", ONLY_NULLS)),
)
_SPARK = {
    **_HIVE,
    **_rows(
        ("TIMESTAMP, TIMESTAMP_LTZ, TIMESTAMP WITH LOCAL TIME ZONE", _instant()),
        ("TIMESTAMP_NTZ, TIMESTAMP WITHOUT TIME ZONE", _moment()),
        ("TIME", _time()),
        ("VARIANT", _JSON),
        (
            "INTERVAL DAY TO SECOND",
            lambda source: time_span_type(6),
        ),
        (
            "INTERVAL, INTERVAL YEAR TO MONTH",
            _refused("TiDB has no such type", "Write int for its months, or string"),
        ),
        ("GEOMETRY, GEOGRAPHY", _refused("TiDB has no such type", "Write binary for st_asbinary(column)")),
    ),
}

TYPES: Mapping[str, Mapping[str, TypeRule]] = {
    "postgres": _POSTGRES,
    "oracle": _ORACLE,
    "tsql": _TSQL,
    "snowflake": _SNOWFLAKE,
    "bigquery": _BIGQUERY,
    "redshift": _REDSHIFT,
    "spark": _SPARK,
    "hive": _HIVE,
}
"""The types of each dialect by their names."""


def tidb_type(dialect: str, source: SourceType) -> TypeChoice | None:
    """Return TiDB's type for one of a dialect's own; ``None`` for an unknown name.

    Raises :class:`~ticdc_emit.errors.UnsupportedTypeError`, without its column, if no type of TiDB holds the values.
    """
    is_array_name = dialect == "postgres" and source.name[:1] == "_" and source.name[1:] in TYPES[dialect]  # _text
    if source.is_array or is_array_name:
        return TypeChoice("JSON", JSON_VALUE)
    rule = TYPES[dialect].get(source.name)
    return None if rule is None else rule(source)
