"""Go's regular expressions, with the answers of Go's own ``regexp`` package."""

from __future__ import annotations

import pickle
import sys

import pytest

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.sql import regexp
from ticdc_emit.sql.regexp import GoRegexpError, compile_regexp


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("^te.t$", ["test", "teét"], ["test\n", "attest", "te\nt"]),  # $ is the end of the text, no line
        ("(?s)^a.b$", ["a\nb"], ["ab"]),
        ("(?m)^b$", ["a\nb\nc", "b"], ["ab"]),
        (r"\Aab\z", ["ab"], ["ab\n", "xab"]),
        (r"^\d+$", ["0123456789"], ["٣", ""]),  # ASCII only
        (r"^\w$", ["a", "_"], ["é"]),
        (r"^\S$", ["\v", "é"], [" ", "\t"]),
        (r"\bt\b", ["a t", "ét"], ["at"]),  # é is no letter of a word
        (r"^\B$", [""], ["a"]),
        (r"^\Qa.b*\E+$", ["a.b*", "a.b**"], ["axb", "a.b*a.b*"]),
        ("^a{,2}$", ["a{,2}"], ["aa", ""]),
        ("^a{2}$", ["aa"], ["a{2}"]),
        ("^[[:alpha:]-]+$", ["a-B"], ["é", "1"]),
        ("^[[:^digit:]]$", ["é"], ["1"]),
        (r"^[^\W_]$", ["a"], ["_", "-"]),
        ("^[]a]$", ["]", "a"], ["b"]),
        ("^[--a]$", ["-", "a", "A"], [",", "b"]),
        ("^[a&&b]$", ["&"], ["&&"]),
        ("^x(?i)y|z$", ["xY", "Z"], ["Xy"]),
        ("^(x(?i)y)z$", ["xYz"], ["xYZ"]),
        ("^(?i:a)b$", ["Ab"], ["AB"]),
        ("(?U)^a+?b*$", ["aab"], ["b"]),
        (r"^\x{e9}\x41\101\n$", ["éAA\n"], ["eAA\n"]),
        ("^(?P<name>a)(?<other>b)$", ["ab"], ["a"]),
        ("a|", ["", "b"], []),
        ("^$a*", [""], ["a"]),
        ("(?:^)*a", ["a", "ba"], ["b"]),
    ],
)
def test_a_pattern_means_what_it_means_in_go(pattern: str, matching: list[str], others: list[str]) -> None:
    compiled = compile_regexp(pattern)
    assert [name for name in matching if not compiled.search(name)] == []
    assert [name for name in others if compiled.search(name)] == []


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("^TEST$", ["test", "Test"], ["tests"]),
        ("^É$", ["é"], ["e"]),
        ("^(?-i)a$", ["a"], ["A"]),
        ("^K$", ["k", "\u212a"], []),
        (r"^\w$", ["\u212a", "ſ"], ["é", "ı"]),
        ("^I[a-z]$", ["ii", "iI"], ["ıi", "iı", "iİ"]),  # Python alone takes ı and İ for an i
        ("^ı[^i]$", ["ıı", "ıİ"], ["iı", "ıI"]),
    ],
)
def test_without_case(pattern: str, matching: list[str], others: list[str]) -> None:
    compiled = compile_regexp(pattern, ignore_case=True)
    assert [name for name in matching if not compiled.search(name)] == []
    assert [name for name in others if compiled.search(name)] == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a(b", "missing closing ): `a(b`"),
        ("a)b", "unexpected ): `a)b`"),
        ("x[a", "missing closing ]: `[a`"),
        ("[^]", "missing closing ]: `[^]`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("(|+?)", "missing argument to repetition operator: `+?`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a+?+", "invalid nested repetition operator: `+?+`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("((a{100}){11})", "invalid repeat count: `{11}`"),
        ("(a{9,}){112}", "invalid repeat count: `{112}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?i-x)", "invalid or unsupported Perl syntax: `(?i-x`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"\Q\C\Ea\C", r"invalid escape sequence: `\C`"),  # RE2 alone takes it for any byte
        (r"(\Ca", r"invalid escape sequence: `\C`"),
        (r"\pX", r"invalid character class range: `\pX`"),
        ("\ud800", "invalid UTF-8: `\ud800`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_a_wrong_pattern_is_refused_with_the_text_of_go(pattern: str, text: str) -> None:
    with pytest.raises(GoRegexpError) as refused:
        compile_regexp(pattern)
    assert str(refused.value) == f"error parsing regexp: {text}"


def test_unicode_classes() -> None:
    assert compile_regexp(r"^\pL+$").search("été")
    assert not compile_regexp(r"^\P{Greek}$").search("α")


COSTLY = [
    "^(a+)+$",
    "^(a*)*$",
    "^(a|a)*$",
    "^(a|ab|b)+$",
    "^(a?){60}$",
    "a?" * 30 + "a" * 30,
    ".*a.*a.*a.*a.*b",
    "(.*a){12}b",
    "(a{1,40}){1,20}b",
    "((a|b)(c|d)){20}x",
    "(?:" * 20 + "a" + ")?" * 20 + "(x*x*)*y",
]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", COSTLY)
def test_every_pattern_is_matched_in_linear_time(pattern: str) -> None:
    compiled = compile_regexp(pattern)
    for name in ("a" * 64 + "_", "a" * 100_000 + "_", "ab" * 1000, "x" * 1000):
        compiled.search(name)
    assert pickle.loads(pickle.dumps(compiled)) == compiled


def test_a_regular_expression_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    regexp._compiled.cache_clear()
    with pytest.raises(MissingDependencyError, match=r"'a\+' needs google-re2.*ticdc-emit\[re2\]"):
        compile_regexp("a+")
