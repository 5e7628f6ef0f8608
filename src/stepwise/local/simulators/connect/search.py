"""The conditions of SearchUsers on strings. Conditions on lists, groups and tags are not supported."""

from collections.abc import Callable

from .account import Document, Resource
from .errors import NotSupported, invalid_parameter

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


def condition(parameters: Document) -> Condition:
    """The condition of a search. Raises ConnectError, NotSupported."""
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
