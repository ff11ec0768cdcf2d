"""Tables that sqlglot writes in each dialect come back as tables of TiDB with the same columns, types and keys."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from ticdc_emit import catalog_from_sql
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.source_schemas import DIALECTS, source_schema

_WHOLE = {"SMALLINT": "SMALLINT", "INT": "INT", "BIGINT": "BIGINT"}
_TYPES = {
    "FLOAT": {"FLOAT", "DOUBLE"},
    "DOUBLE": {"DOUBLE"},
    "TEXT": {"LONGTEXT"},
    "BOOLEAN": {"TINYINT(1)"},
    "DATE": {"DATE", "DATETIME"},
    "TIMESTAMP": {"DATETIME(6)"},
    "TIMESTAMPTZ": {"DATETIME(6)"},
}
"""The types that one of sqlglot's may become, in any dialect."""

_WIDER = {"oracle": "DECIMAL(38,0)", "snowflake": "DECIMAL(38,0)", "bigquery": "BIGINT"}
_WITH_COMMENTS = ("snowflake", "spark", "hive")


@dataclass(frozen=True)
class _Column:
    """``kind``: for sqlglot. ``default``: of whole numbers and VARCHAR."""

    name: str
    kind: str
    nullable: bool
    default: int | str | None
    comment: str | None

    def definition(self, dialect: str) -> exp.ColumnDef:
        kinds: list[exp.Expr] = []
        if self.default is not None:
            value = exp.Literal.string(self.default) if isinstance(self.default, str) else exp.convert(self.default)
            kinds.append(exp.DefaultColumnConstraint(this=value))
        if not self.nullable:
            kinds.append(exp.NotNullColumnConstraint())
        if self.comment is not None and dialect in _WITH_COMMENTS:
            kinds.append(exp.CommentColumnConstraint(this=exp.Literal.string(self.comment)))
        return exp.ColumnDef(
            this=exp.to_identifier(self.name, quoted=True),
            kind=exp.DataType.build(self.kind),
            constraints=[exp.ColumnConstraint(kind=kind) for kind in kinds],
        )


_LETTERS = st.characters(categories=("L", "N"), max_codepoint=0x2FF)
_NAMES = st.text(st.one_of(_LETTERS, st.sampled_from(" $.-#\"'[]`")), min_size=1, max_size=12).map(
    lambda text: f"c{text}c"
)
_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=10)


@st.composite
def _columns(draw: st.DrawFn) -> list[_Column]:
    names = draw(st.lists(_NAMES, min_size=1, max_size=8, unique_by=lambda name: name.lower()))
    columns = []
    for name in names:
        digits = draw(st.integers(1, 38))
        decimals = draw(st.integers(0, min(digits, 30)))
        length = draw(st.integers(10, 200))
        kind = draw(st.sampled_from([*_WHOLE, *_TYPES, f"VARCHAR({length})", f"DECIMAL({digits},{decimals})"]))
        default: int | str | None = None
        if draw(st.booleans()) and kind in _WHOLE:
            default = draw(st.integers(-(2**15), 2**15 - 1))
        elif draw(st.booleans()) and kind.startswith("VARCHAR"):
            default = draw(_TEXT)
        columns.append(_Column(name, kind, draw(st.booleans()), default, draw(st.none() | _TEXT)))
    return columns


def _expected(column: _Column, dialect: str) -> set[str]:
    if column.kind in _WHOLE:
        return {_WIDER.get(dialect, _WHOLE[column.kind])}
    return _TYPES.get(column.kind, {column.kind})


@given(st.sampled_from(list(DIALECTS)), _columns(), st.data())
def test_a_table_that_sqlglot_writes_comes_back(dialect: str, columns: list[_Column], data: st.DataObject) -> None:
    lexicon = DIALECTS[dialect]
    keyable = [each for each in columns if each.kind in _WHOLE or each.kind.startswith(("VARCHAR", "DECIMAL"))]
    key = keyable[: data.draw(st.integers(0, min(3, len(keyable))))]
    elements: list[exp.Expr] = [column.definition(dialect) for column in columns]
    if key:
        elements.append(exp.PrimaryKey(expressions=[exp.to_identifier(each.name, quoted=True) for each in key]))
    table = exp.Schema(this=exp.to_table("shop.t"), expressions=elements)
    script = exp.Create(this=table, kind="TABLE").sql(dialect=lexicon.reader, pretty=data.draw(st.booleans()))

    (found,) = source_schema(script, dialect).tables

    names = [lexicon.name(column.name, is_quoted=True) for column in columns]
    assert [column.name for column in found.columns] == names
    assert list(found.keys) == [lexicon.name(column.name, is_quoted=True) for column in key]
    info = _created(found.script())
    for source, column, created in zip(columns, found.columns, info.columns, strict=True):
        assert column.type in _expected(source, dialect)
        assert column.nullable is (source.nullable and source not in key)
        assert created.name == column.name
        if isinstance(source.default, int):
            assert created.default == str(source.default)
        if isinstance(source.default, str):
            assert created.default == source.default
        if dialect in _WITH_COMMENTS:
            assert created.comment == (source.comment or "")


_SCRIPTS = [
    (path.stem, re.split(r"\n--- (?:becomes|is refused)\n", part.partition("\n")[2])[0])
    for path in sorted((Path(__file__).parents[1] / "unit" / "source_schemas" / "scripts").glob("*.sql"))
    for part in ("\n" + path.read_text(encoding="utf-8")).split("\n=== ")[1:]
]
_PIECES = [
    "(",
    ")",
    ",",
    ";",
    "'",
    '"',
    "[",
    "`",
    "$$",
    "/*",
    "--",
    "NULL",
    "DEFAULT",
    "AS",
    "KEY",
    "CONSTRAINT",
    "1",
    "",
    "#",
    ".",
]


@given(st.sampled_from(_SCRIPTS), st.sampled_from(list(DIALECTS)), st.booleans(), st.data())
def test_a_damaged_script_gives_tables_of_tidb_or_an_error_of_ours(
    script: tuple[str, str], other: str, of_its_own: bool, data: st.DataObject
) -> None:
    dialect, text = script
    words = re.findall(r"\w+|\s+|.", text, re.DOTALL)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(words) - 1))
        words[place] = data.draw(st.sampled_from(_PIECES) | st.sampled_from(words))
    with suppress(TicdcEmitError):
        assert source_schema("".join(words), dialect if of_its_own else other).tables


def _created(statement: str) -> TableInfo:
    (info,) = catalog_from_sql(re.sub(r"(?m)^-- .*\n", "", statement)).tables()
    return info
