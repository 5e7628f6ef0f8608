"""The check of an address: is it complete, and has its postal code the form of its country?"""

import re
from collections.abc import Iterator, Mapping

from runtime.text import normal_words

from .reasons import Reason

# https://en.wikipedia.org/wiki/List_of_postal_codes; spaces at the ends are ignored, and so is case.
_FORMS = {
    "AT": r"\d{4}",
    "AU": r"\d{4}",
    "BE": r"\d{4}",
    "BR": r"\d{5}-?\d{3}",
    "CA": r"[A-Z]\d[A-Z] ?\d[A-Z]\d",
    "CH": r"\d{4}",
    "CN": r"\d{6}",
    "DE": r"\d{5}",
    "DK": r"\d{4}",
    "ES": r"\d{5}",
    "FI": r"\d{5}",
    "FR": r"\d{5}",
    "GB": r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}",
    "IE": r"[A-Z]\d[\dW] ?[A-Z\d]{4}",
    "IN": r"\d{3} ?\d{3}",
    "IT": r"\d{5}",
    "JP": r"\d{3}-?\d{4}",
    "KR": r"\d{5}",
    "NL": r"\d{4} ?[A-Z]{2}",
    "NO": r"\d{4}",
    "NZ": r"\d{4}",
    "PL": r"\d{2}-\d{3}",
    "PT": r"\d{4}-\d{3}",
    "SE": r"\d{3} ?\d{2}",
    "SG": r"\d{6}",
    "US": r"\d{5}(-\d{4})?",
}
_OTHERS = r"[A-Z\d][A-Z\d -]{0,10}"
_WITHOUT = frozenset({"AE", "AO", "BS", "BZ", "FJ", "HK", "MO", "QA", "UG", "ZW"})
# One sign, or none, is a placeholder.
_MIN_SIGNS = 2


def address_reasons(address: Mapping[str, str]) -> Iterator[Reason]:
    """The reasons to flag an address."""
    code, country = address["postal_code"].strip().upper(), address["country"]
    if (not code and country not in _WITHOUT) or any(_is_placeholder(address[name]) for name in ("line1", "city")):
        yield Reason.ADDRESS_INCOMPLETE
    if code and not re.fullmatch(_FORMS.get(country, _OTHERS), code, re.ASCII):
        yield Reason.POSTAL_CODE_FORM


def _is_placeholder(text: str) -> bool:
    return len("".join(normal_words(text))) < _MIN_SIGNS
