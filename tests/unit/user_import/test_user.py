"""Every rule of CreateUser, on both sides of its limit, before any call."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from user_import.errors import InvalidRow
from user_import.results import SENTENCES
from user_import.user import ProfileNames, User

DEFAULTS = ProfileNames("Agent", "Basic Routing Profile")
GOOD = {
    "No.": "1",
    "username": "taro.yamada",
    "default_password": "Passw0rd",
    "first_name": "太郎",
    "last_name": "山田",
}
DECOMPOSED = unicodedata.normalize("NFD", "É")
ACCEPTED = [
    ("username", "a"),
    ("username", "a" * 20),
    ("username", "A_b-c.9"),
    ("username", "t@example.com"),
    ("default_password", "Passw0rd"),
    ("default_password", "Aa1" + "!" * 61),
    ("default_password", 'Aa1",;=+é'),
    ("first_name", "f" * 255),
    ("first_name", "É"),
    ("last_name", "l" * 256),
    ("last_name", "O'Neill, Jr."),
    ("email", ""),
    ("email", "taro+x@mail.example.co.jp"),
    ("phone", ""),
    ("phone", "+81312345678"),
    ("phone", "+123456789012345"),
    ("security_profile", "Admin"),
    ("routing_profile", ""),
    ("routing_profile", "\u200b"),
    ("phone", "\u00a0"),
    ("first_name", DECOMPOSED),
    ("last_name", "Sm\u200bith"),
]
BLANK = ("\u200b", "\u3164", "\u00a0\ufeff", "\u2800", "\U000e0041")
FORBIDDEN = ("\x00", "\x1b[31mred", "Ta\tro", "\u202eTaro", "Taro\ufffd", "Taro\ue000")
REFUSED = [
    ("username", "", "UsernameMissing"),
    ("username", "  ", "UsernameMissing"),
    ("username", "a" * 21, "UsernameTooLong"),
    ("username", "taro yamada", "UsernameInvalid"),
    ("username", " taro", "UsernameInvalid"),
    ("username", "taro\n", "UsernameInvalid"),
    ("username", "太郎", "UsernameInvalid"),
    ("username", "taro+1", "UsernameInvalid"),
    ("username", "１２", "UsernameInvalid"),
    ("username", "taro@", "UsernameNotEmail"),
    ("username", "taro@example.", "UsernameNotEmail"),
    ("username", "@example.com", "UsernameNotEmail"),
    ("username", "a@b@example.com", "UsernameNotEmail"),
    ("default_password", "", "PasswordMissing"),
    ("default_password", "Passw0r", "PasswordTooShort"),
    ("default_password", "Aa1" + "x" * 62, "PasswordTooLong"),
    ("default_password", "PASSW0RD", "PasswordTooWeak"),
    ("default_password", "passw0rd", "PasswordTooWeak"),
    ("default_password", "Password", "PasswordTooWeak"),
    ("default_password", "Password１", "PasswordTooWeak"),
    ("default_password", "Pass w0rd", "PasswordHasSpace"),
    ("default_password", "Passw0rd\n", "PasswordHasSpace"),
    ("default_password", "Passw0rd\u3000", "PasswordHasSpace"),
    ("default_password", "Passw0rd\u200b", "PasswordHasSpace"),
    ("default_password", "Passw\x000rd", "PasswordHasSpace"),
    ("username", "\u200b", "UsernameMissing"),
    ("first_name", "", "FirstNameMissing"),
    ("first_name", " ", "FirstNameMissing"),
    ("first_name", "f" * 256, "FirstNameTooLong"),
    *(("first_name", text, "FirstNameMissing") for text in BLANK),
    *(("first_name", text, "FirstNameNotAllowed") for text in FORBIDDEN),
    ("last_name", "", "LastNameMissing"),
    ("last_name", "l" * 257, "LastNameTooLong"),
    *(("last_name", text, "LastNameMissing") for text in BLANK),
    *(("last_name", text, "LastNameNotAllowed") for text in FORBIDDEN),
    ("email", "taro", "EmailInvalid"),
    ("email", "taro@example", "EmailInvalid"),
    ("email", "taro@example.com ", "EmailInvalid"),
    ("email", "ta ro@example.com", "EmailInvalid"),
    ("email", "a" * 260 + "@example.com", "EmailInvalid"),
    ("phone", "0312345678", "PhoneInvalid"),
    ("phone", "+0312345678", "PhoneInvalid"),
    ("phone", "+81-3-1234-5678", "PhoneInvalid"),
    ("phone", "+1", "PhoneInvalid"),
    ("phone", "+1234567890123456", "PhoneInvalid"),
    ("phone", "+８１３１２３４", "PhoneInvalid"),
]


@pytest.mark.parametrize(("column", "text"), ACCEPTED)
def test_user_accepted_by_connect_is_accepted(column: str, text: str) -> None:
    assert User.from_row(GOOD | {column: text}, DEFAULTS)


def test_connect_gets_nfc_names_and_the_same_user_in_both_spellings() -> None:
    decomposed, composed = (User.from_row(GOOD | {"first_name": name}, DEFAULTS) for name in (DECOMPOSED, "É"))

    assert decomposed.first_name == "É"
    assert decomposed.fingerprint("origin") == composed.fingerprint("origin")


@pytest.mark.parametrize(("column", "text", "code"), REFUSED)
def test_user_rejected_by_connect_is_rejected_by_a_rule(column: str, text: str, code: str) -> None:
    with pytest.raises(InvalidRow) as refused:
        User.from_row(GOOD | {column: text}, DEFAULTS)

    assert type(refused.value).__name__ == code
    assert str(refused.value) == ""


def test_every_rule_has_a_case() -> None:
    found_elsewhere = {
        "WrongColumnCount",
        "QuoteNotDoubled",
        "RowSpansLines",
        "UsernameRepeated",
        "SecurityProfileNotAllowed",
        "SecurityProfileUnknown",
        "RoutingProfileUnknown",
    }

    assert {cls.__name__ for cls in InvalidRow.__subclasses__()} == {code for *_, code in REFUSED} | found_elsewhere


@given(st.fixed_dictionaries(dict.fromkeys(GOOD, st.text(max_size=30))))
def test_row_is_a_user_or_breaks_a_rule_with_a_sentence(row: dict[str, str]) -> None:
    assert _code(row) in {"", *SENTENCES}


def _code(row: dict[str, str]) -> str:
    try:
        User.from_row(row, DEFAULTS)
    except InvalidRow as refused:
        return type(refused).__name__
    return ""


def test_empty_cells_are_absent_values() -> None:
    user = User.from_row(GOOD | {"email": "", "phone": "", "routing_profile": " "}, DEFAULTS)

    assert (user.email, user.phone, user.profiles) == (None, None, DEFAULTS)


def test_user_repr_shows_nothing() -> None:
    shown = repr(User.from_row(GOOD, DEFAULTS))

    assert not any(text in shown for text in GOOD.values() if len(text) > 1)


def test_fingerprint_covers_every_field_but_the_password() -> None:
    first = User.from_row(GOOD, DEFAULTS).fingerprint("a.csv")
    same = User.from_row(GOOD | {"default_password": "Other0ne", "No.": "7"}, DEFAULTS).fingerprint("a.csv")
    changes = [{"last_name": "佐藤"}, {"email": "t@example.com"}, {"phone": "+8131234"}, {"security_profile": "Admin"}]
    others = {User.from_row(GOOD | change, DEFAULTS).fingerprint("a.csv") for change in changes}

    assert same == first
    assert len(others) == len(changes)
    assert first not in others
    assert User.from_row(GOOD, DEFAULTS).fingerprint("b.csv") != first
