"""How names and addresses are compared: by a normal form that no spelling changes."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping

_WORD = re.compile(r"\w+")
# A second line names a flat, a floor, or a person: the house is the same.
_OF_A_HOUSE = ("line1", "city", "postal_code", "country")


def normal_name(name: str) -> str:
    """A name without case, accents, punctuation and order of words: `Zuse, Konrad` is `Konrad Zuse`."""
    return " ".join(sorted(_words(name)))


def name_key(name: str) -> str:
    """What a barred name is found by."""
    return _digest(normal_name(name))


def address_key(address: Mapping[str, str]) -> str:
    """What the applications from one address have in common."""
    parts = ("".join(_words(address.get(name, ""))) for name in _OF_A_HOUSE)
    return _digest("\n".join(parts))


def _words(text: str) -> list[str]:
    plain = (sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    return _WORD.findall("".join(plain).casefold())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
