"""Lexical rules of TiDB that sqlglot's MySQL tokenizer does not have: executable comments and exact string escapes.

Statement text goes in; text of the same length (so that every position still holds) or a literal's value comes out.
Rule source: pingcap/tidb ``pkg/parser/lexer.go`` (``startWithSlash``, ``scanString``), ``pkg/parser/tidb/features.go``.
"""

from __future__ import annotations

import re

__all__ = ["decode_bits", "decode_hex", "decode_quoted", "unmask_comments"]

# A /*T![feature] ... */ comment is code if TiDB knows the feature, else a comment like any other.
_FEATURES = frozenset(
    {
        "affinity",
        "auto_id_cache",
        "auto_rand",
        "auto_rand_base",
        "clustered_index",
        "force_inc",
        "global_index",
        "placement",
        "pre_split",
        "region_split",
        "ttl",
    }
)
_COMMENT_OPENER = re.compile(r"/\*(?:T!(?:\[(?P<features>[^\]]*)\])?|!(?P<version>\d{5,6})?)")
# A string that nothing closes ends with the text, so that no character is read twice.
_TOKEN_WITH_COMMENT_OR_STRING = re.compile(
    r"""
    '[^'\\]*(?:(?:\\.|'')[^'\\]*)*(?:'|\\?\Z)
  | "[^"\\]*(?:(?:\\.|"")[^"\\]*)*(?:"|\\?\Z)
  | `[^`]*(?:``[^`]*)*(?:`|\Z)
  | \#[^\n]* | --(?=\s|$)[^\n]*
  | /\*
  | \*/
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def unmask_comments(sql: str) -> str:
    """Blank out what makes ``/*! */`` and ``/*T! */`` comments, so that their content is read as SQL."""
    if "/*!" not in sql and "/*T!" not in sql:
        return sql
    out = list(sql)
    position, inside = 0, False
    while found := _TOKEN_WITH_COMMENT_OR_STRING.search(sql, position):
        position = found.end()
        if found.group() == "*/" and inside:
            out[found.start() : found.end()] = "  "
            inside = False
        elif found.group() == "/*":
            opener = _COMMENT_OPENER.match(sql, found.start())
            if opener is None or not _is_code(opener) or inside:
                end = sql.find("*/", position)
                position = len(sql) if end < 0 else end + 2
                continue
            out[opener.start() : opener.end()] = " " * len(opener.group())
            position, inside = opener.end(), True
    return sql if inside else "".join(out)  # unclosed: the tokenizer will say so


def _is_code(opener: re.Match[str]) -> bool:
    features = opener["features"]
    return features is None or all(name.strip() in _FEATURES for name in features.split(","))


def decode_quoted(raw: str, *, escapes: bool = True) -> str:
    """Return the value of a quoted string or identifier, ``raw`` with its quotes (``'``, ``"`` or a backtick)."""
    quote, body = raw[0], raw[1:-1]
    if quote != "`" and escapes and "\\" in body:
        # Split at escapes first: a quote that a backslash escapes must not pair with the next one.
        parts = _ESCAPE.split(body)
        for index, part in enumerate(parts):
            parts[index] = _ESCAPES.get(part, part) if index % 2 else part.replace(quote * 2, quote)
        return "".join(parts)
    return body.replace(quote * 2, quote)


def decode_hex(digits: str) -> bytes:
    """Return the bytes of ``x'..'`` or ``0x..``; an odd number of digits gets a leading zero."""
    return bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)


def decode_bits(digits: str) -> bytes:
    """Return the bytes of ``b'..'`` or ``0b..``, as few as hold all digits."""
    return int(digits or "0", 2).to_bytes((len(digits) + 7) // 8, "big")
