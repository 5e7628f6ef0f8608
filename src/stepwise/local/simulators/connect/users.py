"""Operations on users. Passwords are checked but not stored."""

import re
import unicodedata
from collections.abc import Callable

from .account import Account, Document, Instance, Resource, page
from .errors import ConnectError, NotSupported, invalid_parameter, invalid_request, not_found

_CONNECT = "CONNECT_MANAGED"
_USERNAME = re.compile(r"[a-zA-Z0-9_.\-@]+")
_USERNAME_AS_EMAIL = re.compile(r"[^@]+@[^@.]+(\.[^@.]+)+")
_EMAIL = re.compile(r"(?=.{0,265}$)[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,63}")
_NAME_LENGTHS = {"FirstName": 255, "LastName": 256}
_MAX_AFTER_CONTACT_WORK = 2_000_000

type Rule = Callable[[str, Document], ConnectError | None]
type Condition = Callable[[Resource], bool]

_COMPARE: dict[str, Callable[[str, str], bool]] = {
    "EXACT": lambda text, value: text == value,
    "STARTS_WITH": lambda text, value: text.startswith(value),
    "CONTAINS": lambda text, value: value in text,
}
_FIELDS: dict[str, Callable[[Resource], list[str]]] = {
    "Username": lambda user: [user.attributes["Username"]],
    "FirstName": lambda user: [user.attributes.get("IdentityInfo", {}).get("FirstName", "")],
    "LastName": lambda user: [user.attributes.get("IdentityInfo", {}).get("LastName", "")],
    "RoutingProfileId": lambda user: [user.attributes["RoutingProfileId"]],
    "SecurityProfileId": lambda user: list(user.attributes["SecurityProfileIds"]),
    "resourceId": lambda user: [user.id],
}


def create_user(account: Account, parameters: Document) -> Document:
    instance = account.active_instance(parameters["InstanceId"])
    _check_rules(instance.attributes["IdentityManagementType"], parameters)
    _check_profiles(account, instance, parameters)
    username = parameters["Username"]
    if username in instance.usernames:
        message = f"The user {username} is already associated with the Amazon Connect instance {instance.id}"
        raise ConnectError("DuplicateResourceException", message)
    if len(instance.users) >= account.settings.users_per_instance:
        raise ConnectError("LimitExceededException", "the instance has as many users as it may have")
    user = _add(account, instance, parameters)
    return {"UserId": user.id, "UserArn": user.arn}


def describe_user(account: Account, parameters: Document) -> Document:
    return {"User": _described(_user(account, parameters))}


def list_users(account: Account, parameters: Document) -> Document:
    instance = account.active_instance(parameters["InstanceId"])
    some, more = page(list(instance.users.values()), parameters, size=1000)
    return {"UserSummaryList": [_described(user) for user in some], **more}


def search_users(account: Account, parameters: Document) -> Document:
    instance = account.active_instance(parameters["InstanceId"])
    meets, until = _condition(parameters), account.now() - account.settings.search_lag_seconds
    found = [user for user in instance.users.values() if user.created_at <= until and meets(user)]
    some, more = page(found, parameters, size=100)
    return {"Users": [_searched(user) for user in some], "ApproximateTotalCount": len(found), **more}


def delete_user(account: Account, parameters: Document) -> Document:
    user, instance = _user(account, parameters), account.active_instance(parameters["InstanceId"])
    del instance.users[user.id], instance.usernames[user.attributes["Username"]]
    return {}


def _add(account: Account, instance: Instance, parameters: Document) -> Resource:
    attributes = {name: value for name, value in parameters.items() if name not in {"Password", "InstanceId", "Tags"}}
    tags = dict(parameters.get("Tags", {}))
    user = Resource(**account.identity(f"{instance.arn}/agent"), attributes=attributes, tags=tags)
    instance.users[user.id] = user
    instance.usernames[attributes["Username"]] = user.id
    return user


def _check_profiles(account: Account, instance: Instance, parameters: Document) -> None:
    there = account.now() >= instance.profiles_at
    security = {profile.id for profile in instance.security_profiles if there}
    routing = {profile.id for profile in instance.routing_profiles if there}
    for profile_id in parameters["SecurityProfileIds"]:
        if profile_id not in security:
            raise not_found(f"the security profile {profile_id}")
    if parameters["RoutingProfileId"] not in routing:
        raise not_found(f"the routing profile {parameters['RoutingProfileId']}")


def _user(account: Account, parameters: Document) -> Resource:
    users = account.active_instance(parameters["InstanceId"]).users
    if parameters["UserId"] not in users:
        raise not_found(f"the user {parameters['UserId']}")
    return users[parameters["UserId"]]


def _described(user: Resource) -> Document:
    tags = {"Tags": user.tags} if user.tags else {}
    return {**user.attributes, "Id": user.id, "Arn": user.arn, "LastModifiedTime": user.created, **tags}


def _searched(user: Resource) -> Document:
    """Convert a user: SearchUsers returns after-contact work in milliseconds; other operations use seconds."""
    described = _described(user)
    phone = described.get("PhoneConfig", {})
    if "AfterContactWorkTimeLimit" in phone:
        phone = {**phone, "AfterContactWorkTimeLimit": phone["AfterContactWorkTimeLimit"] * 1000}
        return {**described, "PhoneConfig": phone}
    return described


def _check_rules(identity_management: str, parameters: Document) -> None:
    """Check CreateUser's rules that only its documentation states. Raises ConnectError for the first broken one."""
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


def _condition(parameters: Document) -> Condition:
    """Parse the condition of a search; only those on strings are supported. Raises ConnectError, NotSupported."""
    if "SearchFilter" in parameters:
        raise NotSupported("SearchUsers with a SearchFilter")
    return _all(parameters.get("SearchCriteria", {}))


def _all(criteria: Document) -> Condition:
    others = criteria.keys() - {"OrConditions", "AndConditions", "StringCondition"}
    if others:
        raise NotSupported(f"SearchUsers with {', '.join(sorted(others))}")
    conditions = [_all(one) for one in criteria.get("AndConditions", [])]
    if "OrConditions" in criteria:
        alternatives = [_all(one) for one in criteria["OrConditions"]]
        conditions.append(lambda user: any(meets(user) for meets in alternatives))
    if "StringCondition" in criteria:
        conditions.append(_string(criteria["StringCondition"]))
    return lambda user: all(meets(user) for meets in conditions)


def _string(criteria: Document) -> Condition:
    if criteria.get("FieldName") not in _FIELDS:
        raise invalid_parameter(f"FieldName is not one of {', '.join(_FIELDS)}")
    texts, value = _FIELDS[criteria["FieldName"]], criteria.get("Value", "")
    compare = _COMPARE[criteria.get("ComparisonType", "EXACT")]
    return lambda user: any(compare(text, value) for text in texts(user))
