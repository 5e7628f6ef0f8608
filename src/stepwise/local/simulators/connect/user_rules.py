"""The rules of CreateUser that only its documentation states, not the service model."""

import re
import unicodedata
from collections.abc import Callable

from .account import Document
from .errors import ConnectError, invalid_parameter, invalid_request

_CONNECT = "CONNECT_MANAGED"
_USERNAME = re.compile(r"[a-zA-Z0-9_.\-@]+")
_USERNAME_AS_EMAIL = re.compile(r"[^@]+@[^@.]+(\.[^@.]+)+")
_EMAIL = re.compile(r"(?=.{0,265}$)[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,63}")
_NAME_LENGTHS = {"FirstName": 255, "LastName": 256}
_MAX_AFTER_CONTACT_WORK = 2_000_000

type Rule = Callable[[str, Document], ConnectError | None]


def check(identity_management: str, parameters: Document) -> None:
    """Raises ConnectError for the first broken rule."""
    for rule in (_username, _password, _names, _emails, _directory, _phone):
        error = rule(identity_management, parameters)
        if error:
            raise error


def _username(identity_management: str, parameters: Document) -> ConnectError | None:
    username, longest = parameters["Username"], 64 if identity_management == "SAML" else 20
    if len(username) > longest:
        return invalid_parameter(f"Username has more than {longest} characters")
    if not _USERNAME.fullmatch(username):
        return invalid_parameter("Username has a character that is not a letter, a digit, or one of _ . - @")
    if "@" in username and not _USERNAME_AS_EMAIL.fullmatch(username):
        return invalid_parameter("Username has an @ and is not an e-mail address")
    return None


def _password(identity_management: str, parameters: Document) -> ConnectError | None:
    if identity_management == _CONNECT and "Password" not in parameters:
        return invalid_request("Password is required")
    if identity_management != _CONNECT and "Password" in parameters:
        return invalid_request("Password must not be given, as the identity is not managed by Amazon Connect")
    return None


def _names(identity_management: str, parameters: Document) -> ConnectError | None:
    given = parameters.get("IdentityInfo", {})
    for name, longest in _NAME_LENGTHS.items():
        text = given.get(name, "")
        if not text and identity_management != "EXISTING_DIRECTORY":
            return invalid_request(f"{name} is required")
        if not unicodedata.is_normalized("NFC", text):
            return invalid_parameter(f"{name} is not in Unicode Normalization Form C")
        if identity_management == _CONNECT and len(text) > longest:
            return invalid_parameter(f"{name} has more than {longest} characters")
    return None


def _emails(identity_management: str, parameters: Document) -> ConnectError | None:
    given = parameters.get("IdentityInfo", {})
    if identity_management == "SAML" and "Email" in given:
        return invalid_request("Email must not be given with SAML")
    for name in ("Email", "SecondaryEmail"):
        if name in given and not _EMAIL.fullmatch(given[name]):
            return invalid_parameter(f"{name} is not an e-mail address")
    return None


def _directory(identity_management: str, parameters: Document) -> ConnectError | None:
    if identity_management == "SAML" and "DirectoryUserId" in parameters:
        return invalid_request("DirectoryUserId must not be given with SAML")
    return None


def _phone(_identity_management: str, parameters: Document) -> ConnectError | None:
    phone = parameters.get("PhoneConfig", {})
    if phone.get("PhoneType") == "DESK_PHONE" and "DeskPhoneNumber" not in phone:
        return invalid_request("a desk phone needs its DeskPhoneNumber")
    if phone.get("AfterContactWorkTimeLimit", 0) > _MAX_AFTER_CONTACT_WORK:
        return invalid_parameter(f"AfterContactWorkTimeLimit is over {_MAX_AFTER_CONTACT_WORK} seconds")
    return None
