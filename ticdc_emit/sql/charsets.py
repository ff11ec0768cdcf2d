"""Character sets and collations of which TiDB makes tables (pingcap/tidb: ``pkg/parser/charset/charset.go``)."""

from __future__ import annotations

from ticdc_emit.errors import SchemaError

_ALIASES = {f"utf8mb3_{suffix}": f"utf8_{suffix}" for suffix in ("bin", "unicode_ci", "general_ci")}
# charset -> (default collation, bytes of the longest character, Python codec)
CHARSETS = {
    "utf8mb4": ("utf8mb4_bin", 4, "utf-8"),
    "utf8": ("utf8_bin", 3, "utf-8"),
    "latin1": ("latin1_bin", 1, "utf-8"),  # TiDB keeps latin1 text as UTF-8
    "ascii": ("ascii_bin", 1, "utf-8"),
    "binary": ("binary", 1, ""),
    "gbk": ("gbk_chinese_ci", 2, "gbk"),
    "gb18030": ("gb18030_chinese_ci", 4, "gb18030"),
}
_COLLATIONS = {  # each with its charset
    name: name.partition("_")[0]
    for name in (
        *("utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_0900_ai_ci", "utf8mb4_0900_bin"),
        *("utf8_bin", "utf8_general_ci", "utf8_unicode_ci", "latin1_bin", "ascii_bin", "binary"),
        *("gbk_bin", "gbk_chinese_ci", "gb18030_bin", "gb18030_chinese_ci"),
    )
}
_NO_PAD = frozenset({"binary", "utf8mb4_0900_ai_ci", "utf8mb4_0900_bin"})


def charset_name(name: str) -> str:
    """Return a charset's own name in lower case; ``SchemaError`` if TiDB does not support it."""
    lowered = name.lower()
    lowered = "utf8" if lowered == "utf8mb3" else lowered
    if lowered not in CHARSETS:
        raise SchemaError(f"unknown character set {name!r}", remedy="TiDB supports " + ", ".join(sorted(CHARSETS)))
    return lowered


def collation_name(name: str) -> str:
    """Return a collation's own name in lower case; ``SchemaError`` if TiDB does not support it."""
    lowered = name.lower()
    lowered = _ALIASES.get(lowered, lowered)
    if lowered not in _COLLATIONS:
        raise SchemaError(f"unknown collation {name!r}", remedy="TiDB supports " + ", ".join(sorted(_COLLATIONS)))
    return lowered


def default_collation(charset: str) -> str:
    """Return TiDB's default collation of a charset (not MySQL's: ``latin1_bin``, ``utf8mb4_bin`` ...)."""
    return CHARSETS[charset_name(charset)][0]


def charset_of_collation(collation: str) -> str:
    """Return the charset that a collation belongs to; ``SchemaError`` if TiDB does not support it."""
    return _COLLATIONS[collation_name(collation)]


def max_bytes_per_char(charset: str) -> int:
    return CHARSETS[charset_name(charset)][1]


def python_codec(charset: str) -> str:
    """Return the Python codec that decodes a hex literal given to a column of this charset; "" for ``binary``."""
    return CHARSETS[charset_name(charset)][2]


def resolve(charset: str, collation: str, *inherited: tuple[str, str]) -> tuple[str, str]:
    """Return the (charset, collation) of an explicit pair and the levels it inherits from, where "" is not given. A
    collation implies its charset, a charset alone its default collation. Raises ``SchemaError``.
    """
    for level_charset, level_collation in ((charset, collation), *inherited):
        if level_collation:
            collate = collation_name(level_collation)
            owner = _COLLATIONS[collate]
            if level_charset and charset_name(level_charset) != owner:
                raise SchemaError(
                    f"collation {collate!r} is not valid for character set {level_charset!r}",
                    remedy="Choose a collation of that character set",
                )
            return owner, collate
        if level_charset:
            name = charset_name(level_charset)
            return name, CHARSETS[name][0]
    return "utf8mb4", "utf8mb4_bin"


def collation_key(text: str, collation: str) -> str:
    """Return a key that is equal for equal labels: case and, in PAD SPACE, blanks at the end do not count."""
    padded = text if collation in _NO_PAD else text.rstrip(" ")
    return padded.upper() if collation.endswith("_ci") else padded
