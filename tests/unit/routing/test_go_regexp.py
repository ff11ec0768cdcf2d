"""Go's regular expressions, with the answers of Go's own ``regexp`` package."""

from __future__ import annotations

import pytest

from ticdc_emit.routing.go_regexp import GoRegexpError, compile_regexp


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
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?i-x)", "invalid or unsupported Perl syntax: `(?i-x`"),
        ("(?<=a)", "invalid named capture: `(?<=a)`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        (r"\pL", r"Unicode classes are not supported: `\p`"),
    ],
)
def test_a_wrong_pattern_is_refused_with_the_text_of_go(pattern: str, text: str) -> None:
    with pytest.raises(GoRegexpError) as refused:
        compile_regexp(pattern)
    assert str(refused.value) == f"error parsing regexp: {text}"
