"""Character sets and collations of TiDB: their canonical names, defaults, and which pair a definition results in.

TiDB's parser knows many more collations than TiDB supports, so there are two checks: :func:`collation_name` for what is
written, :func:`resolve` for what a table gets. Rule source: pingcap/tidb ``pkg/parser/charset/charset.go``
(``collations``, ``GetCollationByName``).
"""

from __future__ import annotations

from ticdc_emit.errors import SchemaError

_SUFFIXES = {
    "big5 gb2312 gbk": "chinese_ci bin",
    "latin2": "czech_cs general_ci hungarian_ci croatian_ci bin",
    "dec8 swe7": "swedish_ci bin",
    "cp850 koi8r ascii hebrew koi8u greek armscii8 cp866 keybcs2 macce macroman cp852 utf16le cp1256 geostd8": (
        "general_ci bin "
    ),
    "latin1": "german1_ci swedish_ci danish_ci german2_ci bin general_ci general_cs spanish_ci",
    "hp8": "english_ci bin",
    "ujis sjis cp932 eucjpms": "japanese_ci bin",
    "cp1251": "bulgarian_ci ukrainian_ci bin general_ci general_cs",
    "tis620": "thai_ci bin",
    "euckr": "korean_ci bin",
    "latin7": "estonian_cs general_ci general_cs bin",
    "cp1250": "general_ci czech_cs croatian_ci bin polish_ci",
    "cp1257": "lithuanian_ci bin general_ci",
    "latin5": "turkish_ci bin",
    "utf8": (
        "general_ci tolower_ci bin unicode_ci icelandic_ci latvian_ci romanian_ci slovenian_ci polish_ci "
        "estonian_ci spanish_ci swedish_ci turkish_ci czech_ci danish_ci lithuanian_ci slovak_ci spanish2_ci "
        "roman_ci persian_ci esperanto_ci hungarian_ci sinhala_ci german2_ci croatian_ci unicode_520_ci "
        "vietnamese_ci general_mysql500_ci "
    ),
    "ucs2": (
        "general_ci bin unicode_ci icelandic_ci latvian_ci romanian_ci slovenian_ci polish_ci estonian_ci "
        "spanish_ci swedish_ci turkish_ci czech_ci danish_ci lithuanian_ci slovak_ci spanish2_ci roman_ci "
        "persian_ci esperanto_ci hungarian_ci sinhala_ci german2_ci croatian_ci unicode_520_ci vietnamese_ci "
        "general_mysql500_ci "
    ),
    "utf8mb4": (
        "general_ci bin unicode_ci icelandic_ci latvian_ci romanian_ci slovenian_ci polish_ci estonian_ci "
        "spanish_ci swedish_ci turkish_ci czech_ci danish_ci lithuanian_ci slovak_ci spanish2_ci roman_ci "
        "persian_ci esperanto_ci hungarian_ci sinhala_ci german2_ci croatian_ci unicode_520_ci vietnamese_ci "
        "0900_ai_ci de_pb_0900_ai_ci is_0900_ai_ci lv_0900_ai_ci ro_0900_ai_ci sl_0900_ai_ci pl_0900_ai_ci "
        "et_0900_ai_ci es_0900_ai_ci sv_0900_ai_ci tr_0900_ai_ci cs_0900_ai_ci da_0900_ai_ci lt_0900_ai_ci "
        "sk_0900_ai_ci es_trad_0900_ai_ci la_0900_ai_ci eo_0900_ai_ci hu_0900_ai_ci hr_0900_ai_ci "
        "vi_0900_ai_ci 0900_as_cs de_pb_0900_as_cs is_0900_as_cs lv_0900_as_cs ro_0900_as_cs sl_0900_as_cs "
        "pl_0900_as_cs et_0900_as_cs es_0900_as_cs sv_0900_as_cs tr_0900_as_cs cs_0900_as_cs da_0900_as_cs "
        "lt_0900_as_cs sk_0900_as_cs es_trad_0900_as_cs la_0900_as_cs eo_0900_as_cs hu_0900_as_cs "
        "hr_0900_as_cs vi_0900_as_cs ja_0900_as_cs ja_0900_as_cs_ks 0900_as_ci ru_0900_ai_ci ru_0900_as_cs "
        "zh_0900_as_cs 0900_bin zh_pinyin_tidb_as_cs "
    ),
    "utf16 utf32": (
        "general_ci bin unicode_ci icelandic_ci latvian_ci romanian_ci slovenian_ci polish_ci estonian_ci "
        "spanish_ci swedish_ci turkish_ci czech_ci danish_ci lithuanian_ci slovak_ci spanish2_ci roman_ci "
        "persian_ci esperanto_ci hungarian_ci sinhala_ci german2_ci croatian_ci unicode_520_ci vietnamese_ci "
    ),
    "gb18030": "chinese_ci bin unicode_520_ci",
}
_KNOWN = {
    "binary",
    *(
        f"{charset}_{suffix}"
        for charsets, suffixes in _SUFFIXES.items()
        for charset in charsets.split()
        for suffix in suffixes.split()
    ),
}
_ALIASES = {f"utf8mb3_{suffix}": f"utf8_{suffix}" for suffix in ("bin", "unicode_ci", "general_ci")}


def collation_name(name: str) -> str:
    """Return a collation's own name in lower case; ``SchemaError`` if TiDB's parser does not know it."""
    lowered = name.lower()
    lowered = _ALIASES.get(lowered, lowered)
    if lowered not in _KNOWN:
        raise SchemaError(f"unknown collation {name!r}", remedy="Check its name", collation=name)
    return lowered


# charset -> (default collation, bytes of the longest character, Python codec)
_CHARSETS = {
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
    if lowered not in _CHARSETS:
        raise SchemaError(f"unknown character set {name!r}", remedy="TiDB supports " + ", ".join(sorted(_CHARSETS)))
    return lowered


def _supported_collation(name: str) -> str:
    lowered = name.lower()
    lowered = _ALIASES.get(lowered, lowered)
    if lowered not in _COLLATIONS:
        raise SchemaError(f"unsupported collation {name!r}", remedy="TiDB supports " + ", ".join(sorted(_COLLATIONS)))
    return lowered


def default_collation(charset: str) -> str:
    """Return TiDB's default collation of a charset (not MySQL's: ``latin1_bin``, ``utf8mb4_bin`` ...)."""
    return _CHARSETS[charset_name(charset)][0]


def charset_of_collation(collation: str) -> str:
    """Return the charset that a collation belongs to; ``SchemaError`` if TiDB does not support it."""
    return _COLLATIONS[_supported_collation(collation)]


def max_bytes_per_char(charset: str) -> int:
    """Return the length in bytes of the charset's longest character."""
    return _CHARSETS[charset_name(charset)][1]


def python_codec(charset: str) -> str:
    """Return the Python codec that decodes a hex literal given to a column of this charset; "" for ``binary``."""
    return _CHARSETS[charset_name(charset)][2]


def resolve(charset: str, collation: str, *inherited: tuple[str, str]) -> tuple[str, str]:
    """Return the (charset, collation) that result from an explicit pair and the levels it inherits from.

    Either or both may be empty at each level; a collation alone implies its charset, a charset alone its default
    collation. ``SchemaError`` for an unknown name or a collation of another charset.
    """
    for level_charset, level_collation in ((charset, collation), *inherited):
        if level_collation:
            collate = _supported_collation(level_collation)
            owner = _COLLATIONS[collate]
            if level_charset and charset_name(level_charset) != owner:
                raise SchemaError(
                    f"collation {collate!r} is not valid for character set {level_charset!r}",
                    remedy="Choose a collation of that character set",
                )
            return owner, collate
        if level_charset:
            name = charset_name(level_charset)
            return name, _CHARSETS[name][0]
    return "utf8mb4", "utf8mb4_bin"


def collation_key(text: str, collation: str) -> str:
    """Return a key that is equal for labels that are equal in the collation (case folding, PAD SPACE).

    Accents are not folded: a label that differs only by accent is matched exactly or not at all.
    """
    padded = text if collation in _NO_PAD else text.rstrip(" ")
    return padded.upper() if collation.endswith("_ci") else padded
