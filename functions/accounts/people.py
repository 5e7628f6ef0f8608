"""How names and addresses are compared: by a normal form that no spelling changes."""

import hashlib
import unicodedata
from collections.abc import Mapping

# Unicode names of marks that do not count. Others, such as vowel signs, tell one name from another.
_ACCENTS = ("COMBINING ", "HEBREW ", "ARABIC ", "SYRIAC ", "VARIATION SELECTOR")
_DAKUTEN = "COMBINING KATAKANA-HIRAGANA"
# A second line names a flat, a floor, or a person: the house is the same.
_OF_A_HOUSE = ("line1", "city", "postal_code", "country")


def normal_name(name: str) -> str:
    """A name without case, accents, punctuation and order of words: `Zuse, Konrad` is `Konrad Zuse`.

    Hebrew and Arabic points are accents; vowel signs, viramas and dakuten are not.
    """
    return " ".join(sorted(_words(name)))


def name_key(name: str) -> str:
    """What a barred name is found by."""
    return _digest(normal_name(name))


def address_key(address: Mapping[str, str]) -> str:
    """What the applications from one address have in common."""
    parts = ("".join(_words(address.get(name, ""))) for name in _OF_A_HOUSE)
    return _digest("\n".join(parts))


def _words(text: str) -> list[str]:
    """The runs of letters, marks and numbers."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not _is_accent(sign)).casefold()
    return "".join(sign if unicodedata.category(sign)[0] in "LMN" else " " for sign in plain).split()


def _is_accent(sign: str) -> bool:
    if not unicodedata.category(sign).startswith("M"):
        return False
    name = unicodedata.name(sign, "")
    return name.startswith(_ACCENTS) and not name.startswith(_DAKUTEN)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
