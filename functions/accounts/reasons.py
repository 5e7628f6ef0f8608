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


def finding(reasons: Iterable[Reason]) -> dict[str, Any]:
    """What a check answers."""
    codes = [str(reason) for reason in reasons]
    return {"flagged": bool(codes), "reasons": codes}
