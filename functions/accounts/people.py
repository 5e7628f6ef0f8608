"""Comparison of names and addresses, and keys of the rows that are found by a person or an address.

A key says which form of the text it is a hash of. Rows of the first form have keys without a number. Until none of
them is left, a row is looked for under its keys of both forms, and a new person gets a row under each, because
functions of the release before look for the first form only: during a deployment, and after a rollback.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping

from runtime.text import comparable_name, normal_name, normal_words, without_hidden

UNIQUE, FIRST_UNIQUE = "UNIQUE2#", "UNIQUE#"
"""Prefixes of the keys of CustomersTable that bar a second customer: of the second form, and of the first."""
SECOND_FORM = "2#"
"""Prefix of the keys of barred names and addresses in the second form."""

# A second line names a flat, a floor, or a person: the house is the same.
_OF_A_HOUSE = ("line1", "city", "postal_code", "country")
# Japanese writers type the long vowel mark for a hyphen.
_BETWEEN_NUMBERS = re.compile(r"(?<=\d)[ \u30fc]+(?=\d)")
# Marks that the first normal form ignores, by Unicode name.
_FIRST_ACCENTS = ("COMBINING ", "HEBREW ", "ARABIC ", "SYRIAC ", "VARIATION SELECTOR")
_FIRST_DAKUTEN = "COMBINING KATAKANA-HIRAGANA"


def uniqueness_keys(name: str, date_of_birth: str) -> tuple[str, ...]:
    """The keys of the rows that bar a second customer of this name and date of birth: second form, first form.

    A name with hidden characters has two keys of the first form: an earlier release may have stored it without them.
    """
    # An application that an earlier release accepted may have a name without a letter.
    person = comparable_name(name)
    first = dict.fromkeys(map(_folded, (name, without_hidden(name))))
    keys = (FIRST_UNIQUE + _digest(f"{known}\n{date_of_birth}") for known in first)
    return UNIQUE + _digest(f"{person}\n{date_of_birth}"), *keys


def name_keys(name: str) -> tuple[str, str]:
    """The keys of a barred name: second form, first form."""
    return SECOND_FORM + _digest(normal_name(name)), _digest(" ".join(sorted(_first_words(name))))


def address_keys(address: Mapping[str, str]) -> tuple[str, str]:
    """The keys of the applications from one address: second form, first form.

    Numbers stay apart: 1-2-34 and 12-34 are two houses. A postal code has no such numbers: 150-0001 is 1500001.
    """
    parts = {name: address.get(name, "") for name in _OF_A_HOUSE}
    second = (_place(text) if name != "postal_code" else "".join(normal_words(text)) for name, text in parts.items())
    first = ("".join(_first_words(text)) for text in parts.values())
    return SECOND_FORM + _digest("\n".join(second)), _digest("\n".join(first))


def _place(text: str) -> str:
    return _BETWEEN_NUMBERS.sub("-", " ".join(normal_words(text))).replace(" ", "")


def _folded(name: str) -> str:
    """The first form of a customer's name: case, width and spacing do not count."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _first_words(text: str) -> list[str]:
    """The first form of barred names and addresses: the runs of letters, marks and numbers."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not _is_first_accent(sign)).casefold()
    return "".join(sign if unicodedata.category(sign)[0] in "LMN" else " " for sign in plain).split()


def _is_first_accent(sign: str) -> bool:
    if not unicodedata.category(sign).startswith("M"):
        return False
    name = unicodedata.name(sign, "")
    return name.startswith(_FIRST_ACCENTS) and not name.startswith(_FIRST_DAKUTEN)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
