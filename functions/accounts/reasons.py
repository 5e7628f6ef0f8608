"""Why a check flags an application. The execution history has these codes, and nothing else of the applicant."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any


class Reason(StrEnum):
    DOCUMENT_MISSING = "DocumentMissing"
    DOCUMENT_TYPE = "DocumentType"
    DOCUMENT_TOO_LARGE = "DocumentTooLarge"
    DOCUMENT_USED_BEFORE = "DocumentUsedBefore"
    ADDRESS_INCOMPLETE = "AddressIncomplete"
    POSTAL_CODE_FORM = "PostalCodeForm"
    CUSTOMER_EXISTS = "CustomerExists"
    TOO_MANY_FROM_ADDRESS = "TooManyFromAddress"
    NAME_BARRED = "NameBarred"
    CHECK_UNAVAILABLE = "CheckUnavailable"


IDENTITY = frozenset(
    {Reason.DOCUMENT_MISSING, Reason.DOCUMENT_TYPE, Reason.DOCUMENT_TOO_LARGE, Reason.DOCUMENT_USED_BEFORE}
)
ADDRESS = frozenset({Reason.ADDRESS_INCOMPLETE, Reason.POSTAL_CODE_FORM})
FRAUD_MODEL = frozenset({Reason.CUSTOMER_EXISTS, Reason.TOO_MANY_FROM_ADDRESS, Reason.NAME_BARRED})
"""What each check may flag."""


def finding(reasons: Iterable[Reason]) -> dict[str, Any]:
    """What a check answers."""
    codes = [str(reason) for reason in reasons]
    return {"flagged": bool(codes), "reasons": codes}
