"""Filters of tables and columns, with the examples of TiDB's documentation ("Table Filter")."""

from __future__ import annotations

import itertools
import pickle
import re
import sys
from contextlib import suppress

import pytest

from ticdc_emit.errors import ConfigError, MissingDependencyError
from ticdc_emit.routing.table_filter import ColumnFilter, TableFilter, _end_of_regexp
from ticdc_emit.sql import regexp
from ticdc_emit.sql.regexp import compile_regexp
from ticdc_emit.sql.words import to_lower


@pytest.mark.parametrize(
    ("patterns", "accepted", "refused"),
    [
        ([], [], ["db.t"]),
        (["db1.tbl1", "db2.tbl2"], ["db1.tbl1", "db2.tbl2"], ["db1.tbl2"]),
        (["db?.tbl?", "db[!3].tb[1-2]*"], ["db1.tbl1", "dbx.tb1000"], ["db.tbl1", "db3.tb1x"]),
        (["foo*.*"], ["foo.a", "foobar.b"], ["fo.a", "barfoo.a"]),
        ([r"/^db\d{2,}$/./^tbl\d{2,}$/"], ["db00.tbl123"], ["db1.tbl12", "xdb12.tbl12"]),
        (["`db1`.`tbl1`", '"db2"."tbl2"', "/^db3$/.`t``3`", '"a""b".x'], ["db1.tbl1", "db3.t`3", 'a"b.x'], ["db4.t"]),
        (["`a*b`.*"], ["a*b.t"], ["axb.t"]),
        (["*.*", "!*.password"], ["db.tbl"], ["db.password"]),
        (["*.*", "!*.password", "test.password"], ["test.password"], ["prod.password"]),
        (["db.a*", "!db.*", "db.b*"], ["db.b1"], ["db.a1"]),  # the last rule that matches decides
        (["# a comment", " \t", "  x.y\t", ""], ["x.y"], ["# a comment.y"]),
        ([r"\\\..*", r"a\-b.\*"], [r"\..t", "a-b.*"], [r"\\\..t", "a-b.x"]),
        (["p_123$.45", "中文.表名", r"x.\é"], ["p_123$.45", "中文.表名", "x.é"], ["p_123.45", "英文.表名"]),
        (["[!a-z].[^a-z]"], ["!.z", "!.^", "1.z"], ["a.z", "!.9"]),  # ^ is a character like any other
        (["a$*.t"], ["a.t"], ["a$.t", "a$b.t"]),  # as in TiDB: "$" is an anchor beside a wildcard
        (["*.x?z"], ["a\nb.x\nz"], []),
    ],
)
def test_which_tables_match(patterns: list[str], accepted: list[str], refused: list[str]) -> None:
    found = TableFilter.parse(patterns, case_sensitive=True)
    assert pickle.loads(pickle.dumps(found)) == found
    names = {name: name.rsplit(".", 1) for name in accepted + refused}
    assert [name for name, (schema, table) in names.items() if found.matches(schema, table)] == accepted


@pytest.mark.parametrize("pattern", ["Db.*", "d[A-C].T", "/^DB$/.*", "`dB`.t", '"DB"."T"'])
def test_case(pattern: str) -> None:
    assert TableFilter.parse([pattern], case_sensitive=False).matches("db", "T")
    assert not TableFilter.parse([pattern], case_sensitive=True).matches("db", "T")


def test_lower_case_is_one_for_one() -> None:
    assert [to_lower(name) for name in ("ABC", "ΟΔΟΣ", "İ", "ẞ")] == ["abc", "οδοσ", "i", "ß"]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("db", "wrong table pattern"),
        ("db.", "syntax error: missing pattern"),
        ("!", "syntax error: missing pattern"),
        ("a.b.c", "syntax error: stray characters after table pattern"),
        ("`db`*.*", "syntax error: missing '.' between schema and table patterns"),
        ("a%b.c", "unexpected special character '%'"),
        ("db.tbl#not comment", "unexpected special character '#'"),
        (r"a\tb.c", r"cannot escape a letter or number (\t), it is reserved for future extension"),
        ("db\\", "syntax error: cannot place \\ at end of line"),
        ("[].*", "syntax error: failed to parse character class"),
        (r"[\d].*", "syntax error: failed to parse character class"),
        ("[!].*", "invalid pattern: error parsing regexp: missing closing ]: `[^]$`"),
        ("[z-a].*", "invalid pattern: error parsing regexp: invalid character class range: `z-a`"),
        ("/db.*", "syntax error: incomplete regexp"),
        ("/a(?!b)/.*", "invalid pattern: error parsing regexp: invalid or unsupported Perl syntax: `(?!`"),
        ("`db.*", "syntax error: incomplete quoted identifier"),
        ('"".*', "syntax error: incomplete quoted identifier"),
        ("@rules.txt", "importing filter files is not allowed"),
    ],
)
def test_a_wrong_rule_is_refused_with_the_text_of_ticdc(pattern: str, text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        TableFilter.parse(["*.*", pattern], case_sensitive=False)
    fault = refused.value
    expected = f"[CDC:ErrFilterRuleInvalid]filter rule is invalid [*.* {pattern}]: at <cmdline>:1: {text}"
    assert (fault.message, fault.code, fault.option) == (expected, "CDC:ErrFilterRuleInvalid", "matcher")


@pytest.mark.parametrize(
    ("patterns", "accepted", "refused"),
    [
        ([], [], ["a"]),
        (["*", "!foo1*"], ["foo", "foo2"], ["foo1", "FOO12"]),
        (["!a", "*"], ["a", "b"], []),  # the last rule decides
        (["id", "A*"], ["ID", "a", "abc"], ["b", "xid"]),
        ([r"?\.?", "`a.b.c`"], ["我.你", "a.b.c"], ["a", "a.bc"]),
        (["/^C[0-9]/"], ["c1x"], ["xc1"]),
    ],
)
def test_which_columns_match_in_any_case(patterns: list[str], accepted: list[str], refused: list[str]) -> None:
    found = ColumnFilter.parse(patterns)
    assert [name for name in accepted + refused if found.matches(name)] == accepted


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a.b", "unexpected special character '.'"),
        ("`a`b", "syntax error: stray characters after column pattern"),
        ("!", "syntax error: missing pattern"),
    ],
)
def test_a_wrong_column_rule_is_refused(pattern: str, text: str) -> None:
    with pytest.raises(ConfigError, match="CDC:ErrFilterRuleInvalid") as refused:
        ColumnFilter.parse([pattern])
    assert refused.value.message.endswith(f"[{pattern}]: at <cmdline>:1: {text}")
    assert refused.value.option == "columns"


# -- patterns made to cost time --------------------------------------------------------------------------------------


@pytest.mark.timeout(20)
@pytest.mark.parametrize("stars", [1, 6, 12, 60, 500])
def test_stars_cost_no_time(stars: int) -> None:
    table_filter = TableFilter.parse([f"test.{'*a' * stars}*b"], case_sensitive=True)
    assert not table_filter.matches("test", "a" * 64)
    assert table_filter.matches("test", "a" * 64 + "b") == (stars <= 64)
    columns = ColumnFilter.parse(["*" * stars + "?" * stars + "[a-z]"])
    assert columns.matches("a" * 64) == (stars < 64)


def test_wildcards_need_no_re2_but_character_classes_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    regexp._compiled.cache_clear()
    found = TableFilter.parse(["*.T_*", "!*.t_?", r"a\-b*.x"], case_sensitive=False)
    assert [found.matches("db", name) for name in ("t_12", "t_1", "s_12")] == [True, False, False]
    for pattern in ("db.t[0-9]", "db./t+/"):
        with pytest.raises(MissingDependencyError, match=r"ticdc-emit\[re2\]"):
            TableFilter.parse([pattern], case_sensitive=False)


def test_letters_are_equal_without_case_where_re2_finds_them_equal() -> None:
    """Names are in lower case there; only letters that fold to others are in question."""
    letters = [chr(code) for code in range(0x20, 0x20000) if not 0xD800 <= code < 0xE000]
    by_fold: dict[str, set[str]] = {}
    for letter in letters:
        by_fold.setdefault(letter.casefold(), set()).add(letter)
    for alike in by_fold.values():
        for letter in alike if len(alike) > 1 else ():
            columns = ColumnFilter.parse([f"{letter}*"])
            by_re2 = compile_regexp(f"(?s)^{letter}.*$", ignore_case=True)
            assert [columns.matches(other) for other in alike] == [by_re2.search(to_lower(other)) for other in alike]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("rest", ["", "/", "/.x", "x", "/x"])
@pytest.mark.parametrize("count", [34, 35, 100_000])
def test_the_end_of_a_regular_expression_costs_no_time(count: int, rest: str) -> None:
    for line in (f"test./{chr(92) * count}{rest}", f"/{(chr(92) + '/') * count}{rest}", f"/{'a' * count}{rest}"):
        with suppress(ConfigError):
            TableFilter.parse([line], case_sensitive=True)


def test_the_end_of_a_regular_expression_is_where_tidb_finds_it() -> None:
    by_tidb = re.compile(r"/(?:\\.|[^/])+/")
    for length in range(9):
        for body in itertools.product("\\/\na"[: 4 if length < 7 else 2], repeat=length):
            line = "/" + "".join(body)
            found = by_tidb.match(line)
            assert _end_of_regexp(line) == (found.end() if found else 0), line


def test_wildcards_match_what_their_regular_expression_matches() -> None:
    names = ["".join(name) for length in range(5) for name in itertools.product("ab$", repeat=length)]
    tokens = {"*": ".*", "?": ".", "a": "a", "[ab]": "[ab]", "[!a]": "[^a]", "$": r"\Z", "\\$": r"\$"}
    for length in range(1, 4):
        for chosen in itertools.product(tokens, repeat=length):
            if any(token in ("*", "?", "[ab]", "[!a]") for token in chosen):
                by_re = re.compile("(?s)^" + "".join(tokens[token] for token in chosen) + r"\Z")
                columns = ColumnFilter.parse(["".join(chosen)])
                assert [n for n in names if columns.matches(n)] == [n for n in names if by_re.match(n)], chosen
