"""Column types and defaults of other systems as TiDB's: a row for each type of sqlglot, and what a dialect has.

A cast in a default is dropped only where it changes nothing. Rule sources: the manuals of the systems (chapters on data
types), and pingcap/tidb ``pkg/parser/mysql/const.go`` (limits).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sqlglot import exp

from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.schema.columns import MAX_CHAR_LENGTH, MAX_DECIMAL, MAX_SCALE, MAX_VARCHAR_BYTES
from ticdc_emit.schema.frames.source_table import (
    KEEPS_SPACES,
    LONGEST_VARCHAR,
    MICROSECONDS,
    ONLY_NULLS,
    TypeChoice,
    moment_type,
    time_span_type,
)
from ticdc_emit.sql.words import string_literal

AS_TEXT = "is text, as the system writes its values."
JSON_VALUE = "is JSON, which accepts lists, maps and structs."
_ANY_NUMBER = "has any precision: DECIMAL(65,30) holds 35 digits before the point and 30 after it."
_WITHOUT_CURRENCY = "is a number without its currency."
_BITS = "is text of 0 and 1."
_INSTANT = "instant"
_WITH_OFFSET = "The offset that a value was written with is not kept."
_ROUNDED = "is DOUBLE: 15 digits are exact, where Oracle keeps 38."
_MOST_FRACTION, _MOST_DIMENSIONS = 6, 16_383


class _Rule(NamedTuple):
    """TiDB's type without arguments and, if they make a difference, with them; ``note``: the assumption."""

    plain: str
    given: str = ""
    note: str = ""


def _rules(text: str) -> dict[str, _Rule]:
    """Return rules by the names of types: a row has names, TiDB's type, the one with arguments, the assumption."""
    rows = (tuple(cell.strip() for cell in line.split("|")) for line in text.strip().splitlines())
    return {name: _Rule(*rule) for names, *rule in rows for name in names.split()}


_TYPES = _rules(f"""
    TINYINT | TINYINT
    SMALLINT SMALLSERIAL serial2 | SMALLINT
    MEDIUMINT | MEDIUMINT
    INT SERIAL serial4 | INT
    BIGINT BIGSERIAL serial8 | BIGINT
    UTINYINT | TINYINT UNSIGNED
    USMALLINT | SMALLINT UNSIGNED
    UMEDIUMINT | MEDIUMINT UNSIGNED
    UINT oid xid cid | INT UNSIGNED
    UBIGINT xid8 | BIGINT UNSIGNED
    INT128 UINT128 | DECIMAL(39,0)
    FLOAT | FLOAT
    DOUBLE | DOUBLE
    DECIMAL BIGDECIMAL BIGNUM DECFLOAT | DECIMAL(65,30) | DECIMAL(n,s) | {_ANY_NUMBER}
    MONEY | DECIMAL(19,2) | | {_WITHOUT_CURRENCY}
    BOOLEAN | TINYINT(1)
    BIT | VARCHAR(1) | VARCHAR(n) | {_BITS}
    varbit | LONGTEXT | VARCHAR(n) | {_BITS}
    VARCHAR NVARCHAR TEXT | LONGTEXT | VARCHAR(n)
    TINYTEXT MEDIUMTEXT LONGTEXT XML citext nclob xmltype | LONGTEXT
    CHAR NCHAR | VARCHAR(1) | VARCHAR(n) | {KEEPS_SPACES}
    BPCHAR | LONGTEXT | VARCHAR(n) | {KEEPS_SPACES}
    char | VARCHAR(1)
    NAME | VARCHAR(63)
    sysname | VARCHAR(128)
    BINARY VARBINARY BLOB TINYBLOB MEDIUMBLOB LONGBLOB IMAGE raw | LONGBLOB | VARBINARY(n)
    DATE DATE32 | DATE
    TIMESTAMP TIMESTAMPNTZ DATETIME DATETIME2 | DATETIME(6) | DATETIME(n)
    DATETIME64 TIMESTAMP_MS | DATETIME(3) | DATETIME(n)
    TIMESTAMP_S SMALLDATETIME | DATETIME
    TIMESTAMP_NS | DATETIME(9)
    TIMESTAMPTZ TIMESTAMPLTZ | DATETIME(6) | DATETIME(n) | {_INSTANT}
    TIME | TIME(6) | TIME(n)
    TIMETZ | VARCHAR(24) | | {AS_TEXT}
    YEAR | YEAR
    INTERVAL | VARCHAR(128) | | {AS_TEXT}
    JSON JSONB VARIANT SUPER | JSON
    ARRAY LIST MAP STRUCT NESTED OBJECT HSTORE UNION FILE | JSON | | {JSON_VALUE}
    UUID | CHAR(36)
    INET IPADDRESS IPPREFIX IPV4 IPV6 cidr | VARCHAR(43) | | {AS_TEXT}
    macaddr macaddr8 | VARCHAR(23) | | {AS_TEXT}
    pg_lsn | VARCHAR(17) | | {AS_TEXT}
    rowid | VARCHAR(18) | | {AS_TEXT}
    POINT POLYGON GEOMETRY GEOGRAPHY line lseg box path circle cube raster box2d box3d | LONGTEXT | | {AS_TEXT}
    INT4RANGE INT8RANGE NUMRANGE TSRANGE TSTZRANGE DATERANGE RANGE | LONGTEXT | | {AS_TEXT}
    INT4MULTIRANGE INT8MULTIRANGE NUMMULTIRANGE TSMULTIRANGE TSTZMULTIRANGE DATEMULTIRANGE | LONGTEXT | | {AS_TEXT}
    tsvector tsquery ltree lquery jsonpath sparsevec aclitem tid pg_snapshot txid_snapshot | LONGTEXT | | {AS_TEXT}
    regclass regproc regprocedure regtype regrole regnamespace regconfig regdictionary | LONGTEXT | | {AS_TEXT}
    VECTOR halfvec | VECTOR | VECTOR(n)
    NULL | LONGTEXT | | {ONLY_NULLS}
""")
"""By sqlglot's names; in lower case by their own, where sqlglot takes them for types of the script."""

_SPARK = "DECIMAL | DECIMAL(10,0) | DECIMAL(n,s)\n INTERVAL | refused"
_OTHER = {
    dialect: _rules(text)
    for dialect, text in {
        "bigquery": "INT SMALLINT TINYINT | BIGINT\n FLOAT | DOUBLE\n DECIMAL | DECIMAL(38,9) | DECIMAL(n,s)",
        "databricks": _SPARK,
        "hive": f"""
            DECIMAL | DECIMAL(10,0) | DECIMAL(n,s)
            TIMESTAMP | DATETIME(9) | DATETIME(n)
            TIMESTAMPLTZ | DATETIME(9) | DATETIME(n) | {_INSTANT}""",
        "oracle": f"""
            INT SMALLINT | DECIMAL(38,0)
            BIGINT | LONGTEXT
            FLOAT | DOUBLE | | {_ROUNDED}
            DATE | DATETIME
            TIMESTAMPTZ | DATETIME(6) | DATETIME(n) | {_INSTANT} {_WITH_OFFSET}""",
        "redshift": f"""
            DECIMAL | DECIMAL(18,0) | DECIMAL(n,s)
            VARCHAR NVARCHAR TEXT | VARCHAR(256) | VARCHAR(n)
            BPCHAR | VARCHAR(256) | VARCHAR(n) | {KEEPS_SPACES}
            VARBINARY | VARBINARY(64000) | VARBINARY(n)""",
        "snowflake": f"""
            DECIMAL INT BIGINT SMALLINT TINYINT | DECIMAL(38,0) | DECIMAL(n,s)
            FLOAT | DOUBLE
            CHAR NCHAR | VARCHAR(1) | VARCHAR(n)
            TIMESTAMP TIMESTAMPNTZ DATETIME | DATETIME(9) | DATETIME(n)
            TIMESTAMPLTZ | DATETIME(9) | DATETIME(n) | {_INSTANT}
            TIMESTAMPTZ | DATETIME(9) | DATETIME(n) | {_INSTANT} {_WITH_OFFSET}
            TIME | TIME(9) | TIME(n)
            VARIANT | JSON | | {JSON_VALUE}""",
        "spark": _SPARK,
        "tsql": f"""
            BIT | TINYINT(1)
            DECIMAL | DECIMAL(18,0) | DECIMAL(n,s)
            MONEY | DECIMAL(19,4)
            SMALLMONEY | DECIMAL(10,4)
            FLOAT | DOUBLE
            VARCHAR NVARCHAR | VARCHAR(1) | VARCHAR(n)
            VARBINARY | VARBINARY(1) | VARBINARY(n)
            BINARY | BINARY(1) | BINARY(n)
            DATETIME | DATETIME(3)
            DATETIME2 | DATETIME(7) | DATETIME(n)
            TIMESTAMPTZ | DATETIME(7) | DATETIME(n) | {_INSTANT} {_WITH_OFFSET}
            TIME | TIME(7) | TIME(n)
            ROWVERSION | BINARY(8)
            VARIANT | refused""",
    }.items()
}
"""The types of a dialect that mean something else there, or that sqlglot reads as another one."""


def enum_type(labels: exp.Expr) -> TypeChoice:
    return TypeChoice(f"ENUM({', '.join(string_literal(each.name) for each in labels.expressions)})")


def type_name(kind: exp.DataType) -> str:
    named = kind.args.get("kind")
    return named.name if isinstance(named, exp.Expr) else str(named or "")


def tidb_type(kind: exp.DataType, dialect: str) -> TypeChoice:
    """Return TiDB's type for a dialect's. Raises ``UnsupportedTypeError``, without its column."""
    own, name = _OTHER.get(dialect, {}), type_name(kind).lower() or str(kind.this).lower()  # or oid, regclass
    if isinstance(kind.this, exp.Interval):
        if kind.this.args["unit"].name == "DAY" and dialect in ("spark", "databricks"):
            return time_span_type(_MOST_FRACTION)
        name = "INTERVAL"
    elif isinstance(kind.this, exp.DType) and kind.this is not exp.DType.USERDEFINED:
        name = kind.this.name
    if name in ("ENUM", "ENUM8", "ENUM16"):
        return enum_type(kind)
    if name == "LOWCARDINALITY":
        return tidb_type(kind.expressions[0], dialect)
    rule = own.get(name) or _TYPES.get(name)
    if rule is None and isinstance(kind.args.get("kind"), exp.Dot):  # pg_catalog.int2, public.geometry
        known = exp.DataType.build(name, dialect=dialect, udt=True)
        rule = None if known.this is exp.DType.USERDEFINED else own.get(known.this.name) or _TYPES.get(known.this.name)
    if rule is None or rule.plain == "refused":
        remedy = "Write varchar for it, or put its CREATE TYPE before the table"
        raise UnsupportedTypeError(f"the type is {kind.sql(dialect)}, which TiDB does not have", remedy=remedy)
    arguments = [each.name for each in kind.expressions if not isinstance(each, exp.DataType)]
    if not arguments or not rule.given:
        return _fitted(rule.plain, rule.note, kind)
    if not arguments[0].isdigit():  # varchar(max), NUMBER(*,0), geometry(Point,4326)
        arguments[0] = "38" if name == "DECIMAL" else ""
    if not arguments[0]:
        return _fitted(_TYPES[name].plain, rule.note, kind)
    scale = arguments[1] if len(arguments) > 1 else "0"
    note = "" if rule.note == _ANY_NUMBER else rule.note
    return _fitted(rule.given.replace("(n", f"({arguments[0]}").replace(",s)", f",{scale})"), note, kind)


def _fitted(text: str, note: str, kind: exp.DataType) -> TypeChoice:
    name, *numbers = re.findall(r"[A-Z ]+|\d+", text)
    size, scale = (*map(int, numbers), 0, 0)[:2]
    is_instant = note.startswith(_INSTANT)
    notes = [note.removeprefix(_INSTANT).strip()]
    if name in ("DATETIME", "TIME"):
        digits = min(size, _MOST_FRACTION)
        text = f"{name}({digits})" if digits else name
        if is_instant:
            notes.insert(0, moment_type(digits, is_instant=True).assumption)
        if size > digits:
            notes.append("Values with more than six fraction digits are refused." if is_instant else MICROSECONDS)
    elif name == "DECIMAL":
        text = f"DECIMAL({max(size, scale)},{scale})"
    elif (name == "VARCHAR" and size > LONGEST_VARCHAR) or (name == "VARBINARY" and size > MAX_VARCHAR_BYTES):
        return TypeChoice("LONGTEXT" if name == "VARCHAR" else "LONGBLOB")
    elif name == "BINARY" and size > MAX_CHAR_LENGTH:
        text = f"VARBINARY({size})"
    limits = {"DECIMAL": (MAX_DECIMAL, MAX_SCALE), "VECTOR": (_MOST_DIMENSIONS, 0)}
    most = limits.get(name, (size, scale))
    if max(size, scale) > most[0] or scale > most[1]:
        remedy = "Write a type that its values fit into, or varchar"
        raise UnsupportedTypeError(
            f"the type is {kind.sql()}, but a {name} of TiDB has at most {most[0]:,} "
            + (f"digits, {most[1]} of them after the point" if name == "DECIMAL" else "dimensions"),
            remedy=remedy,
        )
    return TypeChoice(text, " ".join(filter(None, notes)))


# -- defaults ----------------------------------------------------------------------------------------------------------

_INTEGERS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT")
_NUMBERS = (*_INTEGERS, "DECIMAL", "FLOAT", "DOUBLE")
_MOMENTS = ("DATE", "DATETIME")
_BOOLEAN = "TINYINT(1)"
_TRUE, _FALSE = ("t", "true", "y", "yes", "on", "1"), ("f", "false", "n", "no", "off", "0")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+(?:\.0*)?")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}|\d{8}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?|\d{8}")
_CLOCK = re.compile(r"\d{1,3}:\d{2}(?::\d{2}(?:\.\d+)?)?")
_NOW = (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp, exp.Systimestamp)
_NOW_NAMES = ("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "sysdatetime", "getdate")
_UUID_NAMES = ("uuid_generate_v4", "uuid_generate_v1", "uuid_generate_v1mc", "newsequentialid", "uuidv4", "uuidv7")
_STRINGS = (exp.National, exp.RawString, exp.ByteString, exp.BitString)


def counts_up(value: exp.Expr) -> bool:
    value = _uncalled(value)
    if isinstance(value, exp.Column):
        return bool(value.table) and value.name.upper() == "NEXTVAL"
    return isinstance(value, exp.NextValueFor) or (isinstance(value, exp.Anonymous) and value.name.lower() == "nextval")


def default_of(value: exp.Expr, choice: TypeChoice, dialect: str) -> str | None:
    """Return TiDB's default for a dialect's, in a column of TiDB's type; "" for NULL, ``None`` without an equal."""
    casts: list[exp.DataType] = []
    while isinstance(value := _uncalled(value), exp.Cast):
        casts.append(value.to)
        value = value.this
    if isinstance(value, exp.Null) or (dialect == "oracle" and _constant(value) == ""):  # which is NULL there
        return ""
    if not all(_changes_nothing(cast, value, choice.text, dialect) for cast in casts):
        return None
    return _function(value, choice.text) or _literal(value, choice)


def _uncalled(value: exp.Expr) -> exp.Expr:
    while isinstance(value, exp.Paren) or (isinstance(value, exp.Dot) and isinstance(value.expression, exp.Anonymous)):
        value = value.this if isinstance(value, exp.Paren) else value.expression
    return value


def _kind(type_text: str) -> str:
    return re.split(r"\W", type_text)[0]


def _changes_nothing(cast: exp.DataType, value: exp.Expr, own: str, dialect: str) -> bool:
    try:
        target = tidb_type(cast, dialect).text
    except UnsupportedTypeError:  # one of the script's, which is that of the column
        return True
    text = _constant(value)
    if target == own or (target == "LONGTEXT" and (text is None or value.is_string or isinstance(value, _STRINGS))):
        return True
    if text is None or cast.expressions:
        return False
    kind = _kind(target)
    if kind in _NUMBERS and _kind(own) in _NUMBERS and target != _BOOLEAN and own != _BOOLEAN:
        return _WHOLE.fullmatch(text) is not None or kind == "DECIMAL"
    if kind == "DATE":
        return _kind(own) == "DATETIME" and _DAY.fullmatch(text) is not None
    return kind == _kind(own) and (kind in ("DATETIME", "TIME") or cast.this is exp.DType.BIT)


def _function(value: exp.Expr, own: str) -> str | None:
    kind, name = _kind(own), value.name.lower() if isinstance(value, exp.Anonymous) and not value.expressions else ""
    is_now = (isinstance(value, _NOW) and not isinstance(value.this, exp.Expr)) or name in _NOW_NAMES
    is_now |= value.is_string and value.name.lower() == "now"
    is_today = isinstance(value, exp.CurrentDate) and value.this is None  # no zone
    if kind == "DATE" and (is_now or is_today):
        return "CURRENT_DATE"
    if kind == "DATETIME" and is_now:
        return f"CURRENT_TIMESTAMP{own.removeprefix('DATETIME')}"
    length = re.fullmatch(r"(?:VAR)?CHAR\((\d+)\)", own)
    is_uuid = isinstance(value, exp.Uuid) or name in _UUID_NAMES
    return "(UUID())" if is_uuid and length is not None and int(length[1]) >= 36 else None


def _literal(value: exp.Expr, choice: TypeChoice) -> str | None:
    own, kind, text = choice.text, _kind(choice.text), _constant(value)
    if text is None:
        return None
    if own == _BOOLEAN:
        return str(int(text.lower() in _TRUE)) if text.lower() in (*_TRUE, *_FALSE) else None
    if kind in _NUMBERS:
        if isinstance(value, exp.HexString):
            return str(int(text, 16))
        return text if (_WHOLE if kind in _INTEGERS else _NUMBER).fullmatch(text) else None
    if kind in ("VARCHAR", "CHAR", "ENUM"):
        length = re.search(r"\d+", own)
        is_padded = choice.assumption == KEEPS_SPACES and length is not None
        is_text = not isinstance(value, exp.HexString | exp.Boolean)
        return string_literal(text.ljust(int(length[0])) if is_padded and length else text) if is_text else None
    forms = {"DATE": _MOMENT, "DATETIME": _MOMENT, "TIME": _CLOCK}
    if kind in forms:
        return f"'{text}'" if forms[kind].fullmatch(text) else None
    if kind in ("BINARY", "VARBINARY") and isinstance(value, exp.HexString) and len(text) % 2 == 0:
        return f"x'{text}'" if text else "''"
    return None


def _constant(value: exp.Expr) -> str | None:
    if isinstance(value, exp.Neg):
        inner = _constant(value.this)
        return None if inner is None or isinstance(value.this, exp.Boolean) else f"-{inner}"
    if isinstance(value, exp.Boolean):
        return str(bool(value.this)).lower()
    return str(value.this) if isinstance(value, (exp.Literal, exp.HexString, *_STRINGS)) else None
