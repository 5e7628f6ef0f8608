"""The user that a row describes, and its profiles. Checks every rule of Connect's CreateUser before any call.

Rules: the API references of CreateUser and of UserIdentityInfo, for instances without SAML.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.text import REQUIRED, UNSAFE_TO_PRINT, is_blank, problem

from .errors import (
    EmailInvalid,
    FirstNameMissing,
    FirstNameNotAllowed,
    FirstNameTooLong,
    InvalidRow,
    LastNameMissing,
    LastNameNotAllowed,
    LastNameTooLong,
    PasswordHasSpace,
    PasswordMissing,
    PasswordTooLong,
    PasswordTooShort,
    PasswordTooWeak,
    PhoneInvalid,
    TooManyProfiles,
    UsernameInvalid,
    UsernameMissing,
    UsernameNotEmail,
    UsernameTooLong,
)

# The state data of each row carries them, about 170 bytes each.
_MAX_PROFILES = 40


@dataclass(frozen=True, slots=True)
class ProfileNames:
    """Which security profile and which routing profile, by name."""

    security: str
    routing: str


@dataclass(frozen=True, slots=True)
class ProfileIds:
    """Ids of an instance's profiles, by name."""

    security: Mapping[str, str]
    routing: Mapping[str, str]

    def have(self, names: ProfileNames) -> bool:
        return names.security in self.security and names.routing in self.routing


def profile_names(row: Mapping[str, str], defaults: ProfileNames) -> ProfileNames:
    """The profiles that a row names, or the defaults."""
    return ProfileNames(
        _named(row.get("security_profile", "")) or defaults.security,
        _named(row.get("routing_profile", "")) or defaults.routing,
    )


def _named(cell: str) -> str:
    return "" if is_blank(cell) else unicodedata.normalize("NFC", cell.strip())


def listed_names(names: str) -> frozenset[str]:
    """The names in a comma-separated list."""
    return frozenset(map(_named, names.split(","))) - {""}


def used_profiles(profiles: ProfileIds, names: frozenset[ProfileNames]) -> ProfileIds:
    """The ids of the named profiles that exist. Raises TooManyProfiles."""
    security = {pair.security for pair in names}
    routing = {pair.routing for pair in names}
    ids = ProfileIds(
        {name: profile for name, profile in profiles.security.items() if name in security},
        {name: profile for name, profile in profiles.routing.items() if name in routing},
    )
    if len(ids.security) + len(ids.routing) > _MAX_PROFILES:
        raise TooManyProfiles(f"the file names more than {_MAX_PROFILES} profiles; split it by profile")
    return ids


# \Z, not $: the latter also matches before a trailing newline.
_USERNAME = re.compile(r"[a-zA-Z0-9_.\-@]+\Z")
_EMAIL = re.compile(r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,63}\Z")
_E_164 = re.compile(r"\+[1-9][0-9]{1,14}\Z")
_PASSWORD_PARTS = ("[a-z]", "[A-Z]", "[0-9]")

_MAX_USERNAME, _MAX_EMAIL = 20, 265
_MIN_PASSWORD, _MAX_PASSWORD = 8, 64
_MAX_FIRST_NAME, _MAX_LAST_NAME = 255, 256


@dataclass(frozen=True, slots=True, repr=False)
class User:
    """A user that Connect accepts. Has no repr, so that it cannot end up in a log."""

    username: str
    password: str = field(compare=False)
    first_name: str
    last_name: str
    email: str | None
    phone: str | None
    profiles: ProfileNames

    @classmethod
    def from_row(cls, row: Mapping[str, str], defaults: ProfileNames) -> "User":
        """Read a row's cells. Raises the InvalidRow of the first broken rule."""
        return cls(
            username=_username(row["username"]),
            password=_password(row["default_password"]),
            first_name=_first_name(row["first_name"]),
            last_name=_last_name(row["last_name"]),
            email=_matching(_EMAIL, row.get("email", ""), EmailInvalid, longest=_MAX_EMAIL),
            phone=_matching(_E_164, row.get("phone", ""), PhoneInvalid),
            profiles=profile_names(row, defaults),
        )

    def fingerprint(self, origin: str) -> str:
        """Identifies the user of this row of this file: SHA-256 in hex, without the password.

        origin: key of the import's first file.
        The user is tagged with it, so the same row of a file that is uploaded again finds the user.
        """
        wanted = [origin, self.username, self.first_name, self.last_name, self.email, self.phone]
        return hashlib.sha256(json.dumps([*wanted, self.profiles.security, self.profiles.routing]).encode()).hexdigest()


def _username(text: str) -> str:
    _require(problem(text) != REQUIRED, UsernameMissing)
    _require(len(text) <= _MAX_USERNAME, UsernameTooLong)
    _require(_USERNAME.match(text), UsernameInvalid)
    _require("@" not in text or _EMAIL.match(text), UsernameNotEmail)
    return text


def _password(text: str) -> str:
    _require(problem(text) != REQUIRED, PasswordMissing)
    # Nobody can type a hidden character that was pasted into the file.
    _require(not any(sign.isspace() or UNSAFE_TO_PRINT.match(sign) for sign in text), PasswordHasSpace)
    _require(len(text) >= _MIN_PASSWORD, PasswordTooShort)
    _require(len(text) <= _MAX_PASSWORD, PasswordTooLong)
    _require(all(re.search(part, text) for part in _PASSWORD_PARTS), PasswordTooWeak)
    return text


def _first_name(text: str) -> str:
    return _name(text, _MAX_FIRST_NAME, FirstNameMissing, FirstNameTooLong, FirstNameNotAllowed)


def _last_name(text: str) -> str:
    return _name(text, _MAX_LAST_NAME, LastNameMissing, LastNameTooLong, LastNameNotAllowed)


def _name(
    text: str, longest: int, missing: type[InvalidRow], too_long: type[InvalidRow], not_allowed: type[InvalidRow]
) -> str:
    """The name as Connect takes it: in NFC, also CJK compatibility ideographs."""
    name = unicodedata.normalize("NFC", text)
    found = problem(name)
    _require(found != REQUIRED, missing)
    _require(len(name) <= longest, too_long)
    _require(found is None, not_allowed)
    return name


def _matching(pattern: re.Pattern[str], text: str, error: type[InvalidRow], *, longest: int = 20) -> str | None:
    """The text, or None for an empty cell."""
    if problem(text) == REQUIRED:
        return None
    _require(len(text) <= longest and pattern.match(text), error)
    return text


def _require(holds: object, error: type[InvalidRow]) -> None:
    if not holds:
        raise error
