"""Readable text: what counts as content, what is refused, what is unsafe to print, and when two texts are equal.

| characters | examples | in text | in comparisons |
| --- | --- | --- | --- |
| visible | letters, digits, punctuation, symbols | content | letters and digits count |
| marks, white space | accents, U+00A0 | not content by themselves | see `normal_words` |
| ignored: invisible | U+200B, U+00AD, U+034F, U+3164, U+FE0F | accepted beside content | dropped |
| forbidden: control, private use, bidirectional overrides | NUL, ESC, U+202E, U+FFFD | refused | dropped |

This module imports the standard library only. Characters are those of Unicode 15.1, as in Python 3.13.
Ranges: Default_Ignorable_Code_Point in https://www.unicode.org/Public/15.1.0/ucd/DerivedCoreProperties.txt.
"""

import re
import unicodedata
from functools import cache

REQUIRED, NOT_ALLOWED = "Required", "NotAllowed"
"""Codes of `problem`: nothing visible, and a forbidden character."""
SENTENCES = {
    REQUIRED: "has no visible character",
    NOT_ALLOWED: "has a control character or another one that is no text; type it again",
}
"""Message text that follows the name of a field with a problem. Never a value."""

_BIDI = "\u202a-\u202e\u2066-\u2069"
_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(
    chr(plane + last) for plane in range(0, 0xF0000, 0x10000) for last in (0xFFFE, 0xFFFF)
)
# Surrogates and private use. The last two planes are private except for their noncharacters.
_WITHOUT_MEANING = f"\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff{_NONCHARACTERS}"
# A decoder or a program leaves U+FFFD (replacement character) or U+FFFC (object) where it lost something.
_FORBIDDEN = f"\x7f-\x9f{_BIDI}{_WITHOUT_MEANING}\ufffc\ufffd"
_LINES = "\t\n\r"
_BREAKS = f"{_LINES}\u2028\u2029"
# Joiners form letters of Persian and Indic names, and emoji. Selectors choose a variant of a character.
_JOINERS, _SELECTORS = "\u200c\u200d", "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Default_Ignorable_Code_Point and category Cf; then blanks of other categories, such as U+2800, the empty Braille cell.
_IGNORED = (
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\u2800\U00013441\U00013442\U00016fe4\U0001d159"
)
# Modifier letters that people type for an apostrophe are letters to Unicode.
_APOSTROPHES = "'`\u02b9\u02bb-\u02bf\u02c8\u02ca\u02cb\u055a\u05f3\u07f4\u07f5\u2018-\u201b\u2032\u2035\ua78b\ua78c"
# Unicode names of marks that do not count. Others, such as vowel signs, tell one name from another.
_ACCENTS = ("COMBINING ", "HEBREW ", "ARABIC ", "SYRIAC ")
_DAKUTEN, _KANA = "COMBINING KATAKANA-HIRAGANA", ("KATAKANA", "HIRAGANA")

UNSAFE_TO_PRINT = re.compile(
    f"(?![{_JOINERS}{_SELECTORS}])[\x00-\x1f\x7f-\x9f\u2028\u2029{_BIDI}{_WITHOUT_MEANING}{_IGNORED}]"
)
"""Matches a character that controls a terminal, reorders its text or is hidden, including tab and line feed."""

_REFUSED = f"\x00-\x08\x0b\x0c\x0e-\x1f{_FORBIDDEN}"
_NOT_COMPARED = f"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f{_WITHOUT_MEANING}{_IGNORED}{_APOSTROPHES}"
_HIDDEN = _IGNORED + _WITHOUT_MEANING
_COMPATIBILITY_IDEOGRAPHS = "\uf900-\ufaff\U0002f800-\U0002fa1f"


@cache
def _any_of(characters: str) -> re.Pattern[str]:
    # Compiled at first use: most functions never inspect a text, and compiling a pattern takes a millisecond.
    return re.compile(f"[{characters}]")


def is_blank(text: str) -> bool:
    """Check that a text has nothing visible: no letter, digit, punctuation or symbol."""
    return not any(map(_is_visible, text))


def problem(text: str, *, lines: bool = False) -> str | None:
    """Find what is wrong with a text: REQUIRED, NOT_ALLOWED or None. lines: it may have tabs and more than one line."""
    if text.isascii() and text.isprintable():
        return REQUIRED if is_blank(text) else None
    if _any_of(_REFUSED).search(text):
        return NOT_ALLOWED
    if is_blank(text):
        return REQUIRED
    return NOT_ALLOWED if not lines and _any_of(_BREAKS).search(text) else None


def composed(text: str) -> str:
    """Convert a text to NFC, so that an accent has one spelling. CJK compatibility ideographs are kept.

    NFC would replace U+FA19, a character form that people have in their names, by U+795E, a different one.
    """
    if unicodedata.is_normalized("NFC", text):
        return text
    parts = re.split(f"([{_COMPATIBILITY_IDEOGRAPHS}]+)", text)
    # Every second part is a separator.
    return "".join(part if index % 2 else unicodedata.normalize("NFC", part) for index, part in enumerate(parts))


def without_hidden(text: str) -> str:
    """Drop invisible characters."""
    return _any_of(_HIDDEN).sub("", text)


def has_stray_mark(text: str) -> bool:
    """Check whether an accent or vowel sign is on no character: at the beginning, or after white space."""
    before = " "
    for sign in text:
        if _any_of(_HIDDEN).match(sign):
            continue
        if before.isspace() and unicodedata.category(sign)[0] == "M":
            return True
        before = sign
    return False


def normal_words(text: str) -> list[str]:
    """Split a text into words that are equal in every spelling: texts with the same words count as equal.

    Case, width, accents, apostrophes, and ignored and forbidden characters do not count. White space, other punctuation
    and symbols separate words. Hebrew and Arabic points are accents. Vowel signs, viramas and dakuten are not, on a
    letter of their own script. Letters of two scripts differ, even if they look alike.
    """
    plain = unicodedata.normalize("NFKD", _any_of(_NOT_COMPARED).sub("", unicodedata.normalize("NFKD", text)))
    # Case folding alone leaves a dotless i apart from its capital, I. It makes a letter of an iota subscript.
    folded = unicodedata.normalize("NFKD", plain.upper().casefold())
    return "".join(map(_word_sign, _without_accents(folded))).split()


def normal_name(name: str) -> str:
    """Convert a name to its compared form: its `normal_words` in any order. `Zuse, Konrad` equals `Konrad Zuse`."""
    return " ".join(sorted(normal_words(name)))


def comparable_name(name: str) -> str:
    """Convert a name as `normal_name` does; one without a letter or digit keeps its signs."""
    return normal_name(name) or unicodedata.normalize("NFKC", name).casefold()


def _without_accents(text: str) -> str:
    """Drop the marks that do not count. text: in NFKD."""
    kept: list[str] = []
    before, base = "", ""
    for sign in text:
        if unicodedata.category(sign)[0] != "M":
            base = sign
            kept.append(sign)
        else:
            # NFKD of an accent by itself, such as U+00B4, is a space with a mark. People type it for an apostrophe.
            if before == " ":
                kept.pop()
                base = kept[-1] if kept else ""
            if _counts(sign, base):
                kept.append(sign)
        before = sign
    return "".join(kept)


def _counts(mark: str, base: str) -> bool:
    if not base or unicodedata.category(base)[0] not in "LN":
        return False
    name, script = unicodedata.name(mark, ""), unicodedata.name(base, "").partition(" ")[0]
    if name.startswith(_DAKUTEN):
        return script in _KANA
    return not name.startswith(_ACCENTS) and name.partition(" ")[0] == script


def _word_sign(sign: str) -> str:
    kind = unicodedata.category(sign)
    if kind == "Nd":
        return str(unicodedata.decimal(sign))
    # A letter that is newer than Python's Unicode is not assigned.
    return sign if kind[0] in "LMN" or kind == "Cn" else " "


def _is_visible(sign: str) -> bool:
    kind = unicodedata.category(sign)
    return (kind[0] in "LNPS" or kind == "Cn") and not _any_of(_HIDDEN).match(sign)
