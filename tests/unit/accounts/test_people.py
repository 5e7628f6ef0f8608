"""Spellings of one name, and of different names."""

import hashlib

import pytest

from accounts.people import FIRST_UNIQUE, UNIQUE, address_keys, name_keys, uniqueness_keys
from runtime.text import normal_name

SPELLINGS = {
    "accents": ("Zoë Ångström", "angstrom zoe"),
    "decomposed accents": ("Zoe\u0308 Angstro\u0308m", "angstrom zoe"),
    "German": ("Jürgen GROß", "gross jurgen"),
    "Vietnamese": ("Nguyễn Văn Đức", "nguyen van đuc"),
    "Greek": (
        "\u1f08\u03bb\u03ad\u03be\u03b1\u03bd\u03b4\u03c1\u03bf\u03c2",
        "\u03b1\u03bb\u03b5\u03be\u03b1\u03bd\u03b4\u03c1\u03bf\u03c3",
    ),
    "Cyrillic": ("\u0419\u043e\u0441\u0438\u0444", "\u0438\u043e\u0441\u0438\u0444"),
    "harakat": ("\u0645\u064f\u062d\u064e\u0645\u064e\u0651\u062f", "\u0645\u062d\u0645\u062f"),
    "hamza": ("\u0623\u062d\u0645\u062f", "\u0627\u062d\u0645\u062f"),
    "Hebrew points": ("\u05d3\u05bc\u05b8\u05d5\u05b4\u05d3", "\u05d3\u05d5\u05d3"),
    "full width": ("\uff2b\uff2f\uff2e\uff32\uff21\uff24", "konrad"),
    "half width": ("\uff76\uff9e\uff84\uff73", "\u30ab\u3099\u30c8\u30a6"),
    "a variant of a character": ("\u845b\U000e0100\u57ce", "\u845b\u57ce"),
    "a picture": ("Ada \u2764\ufe0f Lovelace", "ada lovelace"),
    "hyphen": ("Jean-Luc", "jean luc"),
    "apostrophes": ("O\u2019Brien O'Brien O\u00b4Brien OBrien", "obrien obrien obrien obrien"),
    "order and punctuation": ("  Zuse,  Konrad E.", "e konrad zuse"),
}
OTHERS = {
    "Devanagari": ("राम", "मीरा", "रोमा", "रमा"),
    "Devanagari virama": ("कमल", "कमल्"),
    "Bengali": ("রাম", "রোমা", "মীরা"),
    "Tamil": ("குமார்", "கமர்", "குமர்"),
    "Thai": ("ศรี", "ศรี่", "ศร", "ศรู"),
    "Burmese": ("မြ", "မ"),
    "Khmer": ("ខ្មែរ", "ខមរ"),
    "dakuten": ("ガトウ", "カトウ"),
    "Japanese": ("山田 太郎", "山田 次郎"),
    "Korean": ("김철수", "김철소"),
    "letters with a stroke": ("Łukasz", "Lukasz"),
}


@pytest.mark.parametrize(("name", "normal"), SPELLINGS.values(), ids=SPELLINGS)
def test_accents_case_and_punctuation_do_not_matter(name: str, normal: str) -> None:
    assert normal_name(name) == normal
    assert name_keys(name)[0] == name_keys(normal)[0]


@pytest.mark.parametrize("names", OTHERS.values(), ids=OTHERS)
def test_vowel_signs_viramas_and_dakuten_matter(names: tuple[str, ...]) -> None:
    assert len({name_keys(name)[0] for name in names}) == len(names)
    assert len({address_keys({"line1": name})[0] for name in names}) == len(names)


def test_vowel_sign_does_not_split_a_word() -> None:
    assert normal_name("राम कुमार") == "कुमार राम"


@pytest.mark.parametrize(
    "name", ["Mal\u200blory X", "MALLORY\u00a0X", "X, Mallory", "Ma\u0301llory\u3164 X", "Ｍａｌｌｏｒｙ Ｘ"]
)
def test_customers_and_barred_names_have_one_normal_form(name: str) -> None:
    assert name_keys(name)[0] == name_keys("Mallory X")[0]
    assert uniqueness_keys(name, "1990-12-10")[0] == uniqueness_keys("Mallory X", "1990-12-10")[0]


def test_keys_name_their_form_and_the_first_is_that_of_earlier_releases() -> None:
    second, first = uniqueness_keys("  Konrad  ZUSE", "1910-06-22")
    digest = hashlib.sha256(b"konrad zuse\n1910-06-22").hexdigest()

    assert (second, first) == (f"{UNIQUE}{digest}", f"{FIRST_UNIQUE}{digest}")
    assert name_keys("Brien, O'") == tuple(
        f"{form}{hashlib.sha256(text).hexdigest()}" for form, text in (("2#", b"brien o"), ("", b"brien o"))
    )


SAME_HOUSE = (
    "1-2-34",
    "１−２−３４",
    "1\u20102\u201034",
    "1ー2ー34",
    "1ｰ2ｰ34",
    "1 2 34",
    "1–2–34",
    "1\u200b-2-34",
    "١-٢-٣٤",
)
OTHER_HOUSES = ("12-34", "1-234", "1-23-4", "1234", "1-2-3-4", "1-2", "1-2-34A", "12 3-4")


@pytest.mark.parametrize("house", SAME_HOUSE)
def test_house_number_has_one_key_in_every_spelling(house: str) -> None:
    assert _house(house) == _house("1-2-34")


def test_numbers_of_different_houses_stay_distinct() -> None:
    assert len({_house(house) for house in ("1-2-34", *OTHER_HOUSES)}) == len(OTHER_HOUSES) + 1


def test_postal_code_needs_no_hyphen() -> None:
    assert address_keys({"postal_code": "150-0001"})[0] == address_keys({"postal_code": "\uff11\uff15\uff10 0001"})[0]


def _house(number: str) -> str:
    return address_keys({"line1": f"Jingumae {number}", "city": "Shibuya", "postal_code": "150-0001", "country": "JP"})[
        0
    ]
