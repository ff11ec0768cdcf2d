"""CSV: what a line looks like under each option, what is refused, and that lines are read back."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit import Encoder
from ticdc_emit.columnar.csv_text import field, number_fields, text_fields
from ticdc_emit.columnar.floats import general_text
from ticdc_emit.config import ConfigWarning, load_changefeed
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.errors import ConfigError, InvalidValueError
from ticdc_emit.protocols.csv.decoder import CsvReader
from ticdc_emit.protocols.events import DecodeError

URI = "s3://bucket/folder?protocol=csv"
TABLE = "create table test.t (id int primary key, a varchar(20), f float, e enum('x','y'), b blob, s set('p','q'))"
TS = 450000000262144000


def encoder(options: dict[str, Any] | None = None, table: str = TABLE, **more: Any) -> Encoder:
    sink = {"csv": options or {}, **more.pop("sink", {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return Encoder(URI, table, changefeed={"sink": sink}, **more)


def row(**values: Any) -> dict[str, Any]:
    return {"id": 1, "a": None, "f": None, "e": None, "b": None, "s": None} | values


def lines(encoder: Encoder, *changes: dict[str, Any]) -> list[bytes]:
    stamped = [{"commit_ts": TS + place, **change} for place, change in enumerate(changes)]
    batch = encoder.encode(stamped)
    assert set(batch.column("key").to_pylist()) <= {b""}
    return [bytes(value) for value in batch.column("value").to_pylist()]


def test_kinds_of_changes() -> None:
    old, new = row(a='x"y', f=1e6, e="x", b=b"12", s="p,q"), row(a="", f=-0.5)
    changes = [{"op": "c", "after": old}, {"op": "u", "before": old, "after": new}, {"op": "d", "before": new}]
    assert lines(encoder(), *changes) == [
        b'"I","t","test",1,"x""y",1e+06,"x","MTI=","p,q"\r\n',
        b'"U","t","test",1,"",-0.5,\\N,\\N,\\N\r\n',
        b'"D","t","test",1,"",-0.5,\\N,\\N,\\N\r\n',
    ]
    both = encoder({"output-old-value": True, "include-commit-ts": True, "output-handle-key": True})
    (update,) = lines(both, changes[1])
    assert update == (
        b'"D","t","test",450000000262144000,true,"1",1,"x""y",1e+06,"x","MTI=","p,q"\r\n'
        b'"I","t","test",450000000262144000,true,"1",1,"",-0.5,\\N,\\N,\\N\r\n'
    )
    assert lines(both, changes[0])[0].startswith(b'"I","t","test",450000000262144000,false,"1",1,')


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"output-old-value": True, "output-handle-key": True, "include-commit-ts": True, "null": ""},
        {"quote": "'", "delimiter": "中", "binary-encoding-method": "hex"},
        {"quote": "", "delimiter": "1"},
    ],
)
def test_the_rows_of_many_and_of_few_look_alike(options: dict[str, Any]) -> None:
    texts, floats, labels = [None, '"', "a'1,", "中\\"], [None, 2.0, 0.1, 1e7, -1e-5, 0.0, -0.0], [None, "x", "y"]
    values = [
        row(
            id=n, a=texts[n % 4], f=floats[n % 7], e=labels[n % 3], b=texts[n % 4] and b"1" * n, s=labels[n % 3] and "q"
        )
        for n in range(600)
    ]
    changes = [{"op": "u", "before": each, "after": each | {"a": "new"}, "commit_ts": TS} for each in values]
    made = encoder(options)
    assert lines(made, *changes) == [lines(made, each)[0] for each in changes]


def test_without_quotes_texts_are_escaped() -> None:
    options = {"quote": "", "delimiter": "||", "null": "", "binary-encoding-method": "hex"}
    (line,) = lines(encoder(options), {"op": "c", "after": row(a="a|b||c\r\n\\", b=b"\xff")})
    assert line == b"I||t||test||1||a|b\\|\\|c\\r\\n\\\\||||||ff||\r\n"


def test_names_are_texts_too() -> None:
    odd = encoder(table='create table `a"b`.`c,d` (id int primary key)')
    assert lines(odd, {"op": "c", "after": {"id": 1}}) == [b'"I","c,d","a""b",1\r\n']


def test_the_header() -> None:
    options = {"output-field-header": True, "output-old-value": True, "include-commit-ts": True, "delimiter": ";"}
    made = encoder(options, release="next").plan.table("test", "t").encoders[0]
    names = ["operation", "table", "schema", "commit-ts", "is-update"]
    shown = [f"ticdc-meta${name}" for name in names] + ["id", "a", "f", "e", "b", "s"]
    assert made.header == (";".join(shown) + "\r\n").encode()  # type: ignore[attr-defined]
    with pytest.warns(ConfigWarning, match="output-field-header"):
        load_changefeed(URI, {"sink": {"csv": options}}, release="classic-8.5.7", strict=False)


@pytest.mark.parametrize(
    ("key", "values", "shown"),
    [
        ("a varchar(9), b int, primary key (a, b) clustered", {"a": "x ", "b": -5}, b'"{x, -5}"'),
        (
            "a datetime, b int, primary key (a) clustered",
            {"a": "2024-02-29 00:00:00", "b": 1},
            b'"{1851746905965461504}"',
        ),
        ("a bigint unsigned primary key, b int", {"a": (1 << 64) - 1, "b": 1}, b'"-1"'),
        # TruncateIndexValue of pkg/tablecodec: characters, or bytes of a binary column, before blanks are cut
        (
            "a varchar(9), b int, primary key (b, a(2)) clustered",
            {"a": "\u00e9\u20acx", "b": 1},
            '"{1, \u00e9\u20ac}"'.encode(),
        ),
        ("a varchar(9), b int, primary key (a(2)) clustered", {"a": "x yz", "b": 1}, b'"{x}"'),
        ("a varchar(9), b int, primary key (a(5)) clustered", {"a": "xy", "b": 1}, b'"{xy}"'),
        ("a varbinary(9), b int, primary key (a(2)) clustered", {"a": b"a b", "b": 1}, b'"{a }"'),
        ("a text, b int, primary key (a(3)) clustered", {"a": "\U0001f388abc", "b": 1}, '"{\U0001f388ab}"'.encode()),
    ],
)
def test_handles(key: str, values: dict[str, Any], shown: bytes) -> None:
    made = encoder({"output-handle-key": True}, table=f"create table test.t ({key})")
    assert lines(made, {"op": "c", "after": values})[0].startswith(b'"I","t","test",' + shown)
    silent = encoder({"output-handle-key": True}, table=f"create table test.t ({key})", release="next")
    assert shown not in lines(silent, {"op": "c", "after": values})[0]


def test_a_handle_that_only_tidb_knows_must_be_given() -> None:
    made = encoder({"output-handle-key": True}, table="create table test.t (a int)", force_replicate=True)
    with pytest.raises(InvalidValueError, match="only TiDB knows") as error:
        lines(made, {"op": "c", "after": {"a": 1}})
    assert "row_key" in error.value.remedy
    key = b"t" + bytes(8) + b"_r" + (1 << 63 | 7).to_bytes(8, "big")
    assert lines(made, {"op": "c", "after": {"a": 1}, "row_key": key}) == [b'"I","t","test","7",1\r\n']


def test_an_enum_without_a_label_fails_as_in_ticdc() -> None:
    with pytest.raises(InvalidValueError, match="ENUM without a label") as error:
        lines(encoder(), {"op": "c", "after": row(e=0)})
    assert error.value.column == "e"
    rows = [row(id=number, e="x") for number in range(9)]
    with pytest.raises(InvalidValueError, match="ENUM without a label") as error:
        lines(encoder(), *({"op": "c", "after": each} for each in [*rows, row(id=9, e="")]))
    assert error.value.row == {"id": 9, "position": 9}
    labels = pa.DictionaryArray.from_arrays(pa.array([1] * 9), ["", "x"])  # no row uses the first
    columns = dict.fromkeys(row(), pa.nulls(9)) | {"id": pa.array(range(9)), "e": labels}
    image = pa.StructArray.from_arrays(list(columns.values()), list(columns))
    batch = pa.record_batch({"op": ["c"] * 9, "commit_ts": pa.array([TS] * 9, pa.uint64()), "after": image})
    assert len(encoder().encode(batch)) == 9


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"delimiter": ""}, "delimiter cannot be empty"),
        ({"delimiter": "||||"}, "delimiter contains more than three characters, note that"),
        ({"delimiter": "\r"}, "delimiter contains line break characters"),
        ({"quote": "''"}, "quote contains more than one character"),
        ({"quote": "é"}, "quote contains more than one character"),
        ({"quote": "\n"}, "quote cannot be line break character"),
        ({"quote": ","}, "quote and delimiter has common characters which is not allowed"),
        ({"binary-encoding-method": "binary"}, "binary-encoding-method can only be hex or base64"),
    ],
)
def test_refusals(options: dict[str, str], cause: str) -> None:
    with pytest.raises(ConfigError) as error:
        encoder(options)
    assert error.value.message.startswith(f"[CDC:ErrSinkInvalidConfig]sink config invalid: csv config {cause}")


def test_csv_is_for_storage_sinks() -> None:
    for release in ("classic", "next"):
        with pytest.raises(ConfigError) as error:
            load_changefeed("kafka://h:9092/t?protocol=csv", release=release)
        assert error.value.message == "[CDC:ErrSinkUnknownProtocol]unknown 'csv' message protocol for sink"
    whole = {"sink": {"delete-only-output-handle-key-columns": True}}
    with pytest.raises(ConfigError, match="CSV protocol always output all columns for the delete event"):
        load_changefeed(URI, whole)


def test_canal_json_in_files_ends_its_rows() -> None:
    made = Encoder("s3://b?protocol=canal-json", TABLE)
    (line,) = lines(made, {"op": "c", "after": row()})
    assert line.endswith(b"}]}\r\n")
    plain = Encoder("memory://b?protocol=canal-json", TABLE)
    assert lines(plain, {"op": "c", "after": row()}) == [line.removesuffix(b"\r\n")]


TEXTS = st.text(st.sampled_from("a\"'|~,\\\r\n\0é中N;"), max_size=12)
FORMS = st.sampled_from(
    [
        {},
        {"quote": "'", "delimiter": "|", "null": "NULL"},
        {"quote": "", "delimiter": "||", "null": "\\N"},
        {"quote": "", "delimiter": "|+|"},
        {"quote": "", "delimiter": "中"},
        {"delimiter": "\t", "include-commit-ts": True, "output-old-value": True, "output-handle-key": True},
        {"quote": "|", "delimiter": "\\", "binary-encoding-method": "hex"},
    ]
)
TERMINATORS = st.sampled_from(["\r\n", "\n", "\r\n\r\n"])


@given(options=FORMS, end=TERMINATORS, before=TEXTS, after=TEXTS | st.none(), op=st.sampled_from("cud"))
def test_lines_are_read_back(options: dict[str, Any], end: str, before: str, after: str | None, op: str) -> None:
    made = encoder(options, sink={"terminator": end})
    old = row(a=before, f=2.0**-12, b=before.encode(), e="x")
    new = row(a=after, f=1e-7, b=None if after is None else after.encode())
    images = {"c": {"after": new}, "u": {"before": old, "after": new}, "d": {"before": old}}[op]
    (line,) = lines(made, {"op": op, **images})
    reader, table = reader_for(made.config), made.plan.table("test", "t").newest
    text = reader.text(reader.read(b"", line), table)  # type: ignore[arg-type]
    shown = encoder(options, sink={"terminator": end})  # what canonical text of the same rows is
    assert (text.schema, text.table) == ("test", "t")
    expected = _canonical(new), _canonical(old)
    assert text.after == (None if op == "d" else expected[0])
    old_values = op == "d" or (op == "u" and shown.config.codec.csv.output_old_value)
    assert text.before == (expected[1] if old_values else None)
    assert text.commit_ts == (TS if options.get("include-commit-ts") else None)
    reader.content(text, b"", line)


def _canonical(values: dict[str, Any]) -> dict[str, str | None]:
    uri = "memory://x?protocol=simple"
    made = Encoder(uri, TABLE)
    batch = made.encode([{"op": "c", "commit_ts": TS, "after": values}])
    reader = reader_for(made.config)
    event = reader.read(None, batch.column("value")[0].as_py())
    image = reader.text(event, made.plan.table("test", "t").newest).after  # type: ignore[arg-type]
    assert image is not None
    return dict(image)


def test_a_whole_file() -> None:
    options = {"output-field-header": True, "include-commit-ts": True}
    made = encoder(options)
    planned = made.plan.table("test", "t").encoders[0]
    assert planned is not None
    data = b"".join(lines(made, {"op": "c", "after": row(a="x\r\ny")}, {"op": "c", "after": row(id=2)}))
    reader = CsvReader(made.config.codec)
    rows = list(reader.rows(planned.header + data, header=True))  # type: ignore[attr-defined]
    assert [(each.op, each.commit_ts, each.values[:2]) for each in rows] == [
        ("insert", TS, (b"1", b"x\r\ny")),
        ("insert", TS + 1, (b"2", None)),
    ]


@pytest.mark.parametrize(
    "line", [b"", b'"I","t","test",1', b'"X","t","test",1\r\n', b'"I","t"\r\n', b'"I","t","test",1\r\n' * 3]
)
def test_damaged_lines(line: bytes) -> None:
    with pytest.raises(DecodeError):
        reader_for(encoder().config).read(b"", line)


@pytest.mark.parametrize(
    ("end", "options", "fault"),
    [
        ("", {}, "the terminator is empty"),
        (",", {}, "the terminator ',' is the delimiter, too"),
        ("||", {"delimiter": "||", "quote": ""}, "the terminator '||' is the delimiter, too"),
        ('"\n', {}, "begins with the quote"),
        ("'", {"quote": "'"}, "begins with the quote"),
        ("\\", {"quote": "\\"}, "begins with the quote"),
        ("\\", {"quote": ""}, "the terminator '\\\\' begins with a backslash"),
        ("\\END", {"quote": ""}, "begins with a backslash"),
        ("\n", {"quote": "", "delimiter": "\\"}, "the delimiter '\\\\' begins with a backslash"),
    ],
)
def test_lines_that_cannot_be_told_apart_are_not_read(end: str, options: dict[str, Any], fault: str) -> None:
    config = encoder(options, sink={"terminator": end}).config
    with pytest.raises(DecodeError, match=re.escape(fault)) as error:
        reader_for(config)
    assert "Set another one in the changefeed" in str(error.value)


@pytest.mark.parametrize("end", ["\\", "\\n", "|\\", ",,", "x", '\n"'])
def test_an_unusual_terminator_is_read(end: str) -> None:
    made = encoder(sink={"terminator": end})
    values = ["a\\", 'q"q', "a,b", "|", "x", "\n", ""]
    texts = lines(made, *({"op": "c", "after": row(a=value)} for value in values))
    read = list(CsvReader(made.config.codec).rows(b"".join(texts)))
    assert [each.values[1] for each in read] == [value.encode() for value in values]


DELIMITERS = st.sampled_from([b",", b"||", "中".encode(), b"1", b".", b"e"])


@given(st.lists(st.none() | st.text("a\"',|中\\\r\n1", max_size=5), min_size=1, max_size=9), DELIMITERS)
def test_texts_of_whole_columns(texts: list[str | None], delimiter: bytes) -> None:
    for quote in (b'"', b"'", b""):
        shown = [None if text is None else delimiter + field(text.encode(), delimiter, quote) for text in texts]
        for times in (1, 600 // len(texts)):
            array = pa.array(["before", *texts * times]).slice(1)
            assert text_fields(array, delimiter, quote).to_pylist() == shown * times
    assert field(b"a,b\\", b",", b"") == b"a\\,b\\\\"
    assert field("x中y".encode(), "中".encode(), b"") == "x\\ä\\¸\\\xady".encode()
    assert field(b'a"b', b",", b'"') == b'"a""b"'


@given(st.lists(st.none() | st.integers(0, (1 << 63) - 1), min_size=1, max_size=9), DELIMITERS)
def test_whole_numbers_of_whole_columns(numbers: list[int | None], delimiter: bytes) -> None:
    shown = [None if number is None else f"{delimiter.decode()}{number}" for number in numbers]
    for kind in (pa.int64(), pa.uint64()):
        for times in (1, 600 // len(numbers)):
            array = pa.array([7, *numbers * times], kind).slice(1)
            assert number_fields(array, delimiter).to_pylist() == shown * times


@given(
    st.lists(
        st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(-9, 9).map(float),
        max_size=9,
    ),
    DELIMITERS,
)
def test_floats_of_whole_columns(numbers: list[float | None], delimiter: bytes) -> None:
    for kind in (pa.float32(), pa.float64()):
        array = pa.array([0.5, *numbers], kind).slice(1)
        shown = [None if text is None else delimiter.decode() + text for text in general_text(array).to_pylist()]
        assert number_fields(array, delimiter).to_pylist() == shown
