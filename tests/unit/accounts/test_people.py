"""Which spellings are one name, and which are two."""

import pytest

from accounts.people import address_key, name_key, normal_name

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
    "apostrophes": ("O\u2019Brien O'Brien", "brien brien o o"),
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
def test_accents_case_and_punctuation_do_not_count(name: str, normal: str) -> None:
    assert normal_name(name) == normal
    assert name_key(name) == name_key(normal)


@pytest.mark.parametrize("names", OTHERS.values(), ids=OTHERS)
def test_vowel_signs_viramas_and_dakuten_count(names: tuple[str, ...]) -> None:
    assert len({name_key(name) for name in names}) == len(names)
    assert len({address_key({"line1": name}) for name in names}) == len(names)


def test_a_vowel_sign_does_not_split_a_word() -> None:
    assert normal_name("राम कुमार") == "कुमार राम"
