"""The properties of readable text, on every character and on generated texts."""

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runtime.text import (
    NOT_ALLOWED,
    REQUIRED,
    UNSAFE_TO_PRINT,
    composed,
    has_stray_mark,
    is_blank,
    normal_words,
    problem,
)

ALL = [chr(number) for number in range(sys.maxunicode + 1)]
# Default_Ignorable_Code_Point, and blanks of other categories, as the issue and public reports name them.
HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u180f\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2064"
    "\u206a\u2800\u3164\ufe00\ufe0f\ufeff\uffa0\ufff9\U0001d159\U0001d173\U000e0001\U000e0041\U000e0100\U000e01ef"
)
WHITE = " \u00a0\u1680\u2000\u200a\u202f\u205f\u3000"
NONCHARACTERS = [sign for sign in ALL if ord(sign) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(sign) <= 0xFDEF]
FORBIDDEN = [
    *(sign for sign in ALL if unicodedata.category(sign) in ("Cc", "Cs", "Co") and sign not in "\t\n\r"),
    *NONCHARACTERS,
    *"\ufffd\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
]
NAMES = st.text(st.sampled_from("aZßİıᾳΣй'’´`- .12１ａかガﾞカ゛राम्한é\u0301\u0345\u17d2\u0e31" + HIDDEN)) | st.text()


def is_content(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "LNPS"


def spaced(text: str) -> str:
    return " ".join(normal_words(text))


@pytest.mark.parametrize(
    "text", ["", *WHITE, *HIDDEN, "\u0301", "\u093f", HIDDEN + WHITE, "\t", "\n", "\r\n", "\u2028"]
)
def test_visible_text_is_required(text: str) -> None:
    assert is_blank(text)
    assert problem(text) == problem(text, lines=True) == REQUIRED


def test_forbidden_characters_are_not_allowed_anywhere() -> None:
    for sign in FORBIDDEN[::97] + FORBIDDEN[:70] + FORBIDDEN[-80:]:
        for text in (sign, f"{sign}a", f"a{sign}b", f"a{sign}", f"a\n{sign}"):
            assert problem(text, lines=True) == problem(text) == NOT_ALLOWED, ascii(text)


def test_line_breaks_and_tabs_are_allowed_only_in_free_text() -> None:
    for sign in "\t\n\r\u2028\u2029":
        assert problem(f"a{sign}b") == NOT_ALLOWED
        assert problem(f"a{sign}b", lines=True) is None


@pytest.mark.parametrize(
    "text",
    [
        "O'Brien",
        "Zoë",
        "نمی\u200cخواهم",
        "क्\u200dष",
        "👩\u200d💻❤\ufe0f",
        "葛\U000e0100城",
        "שָׁלוֹם",
        "a\u200bb",
        "co\u00adop",
        "\ue0001"[1:],
    ],
)
def test_names_and_joiners_are_accepted(text: str) -> None:
    assert problem(text) is None


@given(st.text(), st.booleans())
def test_accepted_text_has_a_visible_character(text: str, lines: bool) -> None:
    if problem(text, lines=lines) is None:
        assert any(is_content(sign) or unicodedata.category(sign) == "Cn" for sign in text if sign not in HIDDEN)
        assert all(sign not in FORBIDDEN for sign in text)


def test_every_format_and_control_character_is_blank() -> None:
    for sign in ALL:
        if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Co", "Mn", "Mc", "Me", "Zs", "Zl", "Zp"):
            assert is_blank(sign), ascii(sign)


@given(NAMES)
def test_normal_form_is_idempotent(text: str) -> None:
    assert normal_words(spaced(text)) == normal_words(text)


@pytest.mark.slow
def test_normal_form_of_each_character_is_idempotent_and_normalized() -> None:
    for sign in ALL:
        if not unicodedata.combining(sign) and unicodedata.normalize("NFKD", sign) == sign.casefold() == sign:
            continue
        found = spaced(sign)
        assert spaced(found) == found, ascii(sign)
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            assert spaced(unicodedata.normalize(form, f"a{sign}b")) == spaced(f"a{sign}b"), ascii(sign)
        for other in (sign.upper(), sign.lower(), sign.title(), sign.casefold()):
            assert spaced(f"a{other}b") == spaced(f"a{sign}b"), ascii(sign)


@given(NAMES, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_normal_form_does_not_depend_on_normalization(text: str, form: str) -> None:
    assert normal_words(unicodedata.normalize(form, text)) == normal_words(text)  # type: ignore[arg-type]


@given(NAMES, st.sampled_from(HIDDEN + "".join(NONCHARACTERS[:3]) + "\u202e\ue000\ud800\x00\x1b"), st.integers(0, 20))
def test_inserted_invisible_character_does_not_change_the_normal_form(text: str, hidden: str, at: int) -> None:
    assert normal_words(f"{text[:at]}{hidden}{text[at:]}") == normal_words(text)


@given(NAMES)
@example("Işık")
@example("ᾳ")
@example("\u092e\u0345\u094d")
def test_case_does_not_change_the_normal_form(text: str) -> None:
    # Unicode converts the case of NFD (D145): the capital of an iota subscript is a letter, which following marks join.
    plain = unicodedata.normalize("NFD", text)
    for other in (plain.upper(), plain.lower(), plain.casefold()):
        assert normal_words(other) == normal_words(text)


@pytest.mark.parametrize("sign", "'’‘‛`´＇ʼʻʹʾʿ′‵ˊˋ՚׳ꞌ᾿᾽")
def test_apostrophe_does_not_matter(sign: str) -> None:
    assert spaced(f"O{sign}Brien") == spaced("OBrien") == "obrien"


@pytest.mark.parametrize("sign", "-‐‑‒–—−－.,·・/_ \u00a0\u3000\t&+❤")
def test_other_punctuation_and_white_space_separate_words(sign: str) -> None:
    assert spaced(f"Jean{sign}Luc") == "jean luc"


@pytest.mark.parametrize(
    "mark", ["\u17d2", "\u094d", "\u0e31", "\u3099", "\U0001107f", "\u2d7f", "\u0301", "\U000e0100"]
)
def test_mark_of_another_script_does_not_matter(mark: str) -> None:
    assert spaced(f"Mal{mark}lory") == "mallory"


def test_composed_text_keeps_the_ideographs_of_names() -> None:
    assert composed("Zoe\u0308") == "Zoë"
    assert composed("か\u3099") == "が"
    assert composed("\ufa19田e\u0301") == "\ufa19田é"


@given(st.text())
def test_composed_text_is_canonically_equal_and_has_one_spelling(text: str) -> None:
    found = composed(text)
    assert unicodedata.normalize("NFC", found) == unicodedata.normalize("NFC", text)
    assert composed(found) == found


@pytest.mark.parametrize(
    ("text", "stray"), [("Ada \u0301L", True), ("\u0301A", True), ("A \u200b\u0301", True), ("Á é", False)]
)
def test_stray_mark_is_found(text: str, stray: bool) -> None:
    assert has_stray_mark(unicodedata.normalize("NFD", text)) == stray


def test_terminal_control_and_hidden_characters_are_unsafe_to_print() -> None:
    unsafe = [
        *"\x00\x07\x08\t\n\r\x1b\x7f\x85\x9b\u200b\u200e\u2028\u202e\u2066\ufeff\u00ad\ud800\ue000\U000e0041\ufffe"
    ]
    safe = [*"aé\u0301 \u00a0\u200c\u200d\ufe0f\u180b\U000e0100漢👩\ufffd"]
    assert [sign for sign in unsafe if not UNSAFE_TO_PRINT.match(sign)] == []
    assert [sign for sign in safe if UNSAFE_TO_PRINT.match(sign)] == []
    assert all(
        UNSAFE_TO_PRINT.match(sign) for sign in ALL if unicodedata.category(sign) in ("Cc", "Cs", "Co", "Zl", "Zp")
    )
