"""ScreeningTable: barred names and limits, which operators edit, and the application that each document belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idempotency.dynamodb import put, read_rows
from idempotency.expressions import conditional_put
from runtime.text import without_hidden

from .people import name_keys

BARRED, LIMIT, DOCUMENT = "BARRED", "LIMIT", "DOCUMENT"
DEFAULTS = {"max_applications_from_address": 3, "max_customers_at_address": 5, "days_of_applications": 30}
"""The limits, and what holds while an operator has set none."""
MAX_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Limits:
    """applications: from one address within `days`. customers: at one address, ever. Both without the applicant's."""

    applications: int
    customers: int
    days: int

    @classmethod
    def of(cls, values: Mapping[str, int]) -> "Limits":
        return cls(
            values["max_applications_from_address"], values["max_customers_at_address"], values["days_of_applications"]
        )


@dataclass(frozen=True, slots=True)
class ScreeningTable:
    """client: a `boto3.client("dynamodb")`. name: of the table."""

    client: Any
    name: str

    def is_barred(self, name: str) -> bool:
        """Check whether an operator has barred a name, in any spelling that has the same normal form."""
        # An earlier release may have barred the name without the hidden characters that this one has.
        keys = {key["sk"]: key for text in (name, without_hidden(name)) for key in barred_keys(text)}
        return any(read_rows(self.client, [(self.name, key) for key in keys.values()]))

    def limits(self) -> dict[str, int]:
        """Each limit by its name."""
        rows = read_rows(self.client, [(self.name, limit_key(name)) for name in DEFAULTS])
        return {
            name: int(row["value"]["N"]) if row else default
            for (name, default), row in zip(DEFAULTS.items(), rows, strict=True)
        }

    def is_first_use(self, digest: str, application_id: str) -> bool:
        """Claim a document for an application. Returns whether no other one has claimed it."""
        row = {**_document_key(digest), "application_id": application_id}
        condition = "attribute_not_exists(#pk) OR #application_id = :application_id"
        return put(self.client, conditional_put(self.name, row, condition, {"application_id": application_id})).applied


def barred_keys(name: str) -> list[dict[str, str]]:
    """The keys of a barred name, the newest form first. Equal for every spelling that has the same normal form."""
    return [{"pk": BARRED, "sk": key} for key in name_keys(name)]


def limit_key(name: str) -> dict[str, str]:
    return {"pk": LIMIT, "sk": name}


def _document_key(digest: str) -> dict[str, str]:
    """Documents are spread by their digests. Barred names and limits are few, and operators list them."""
    return {"pk": f"{DOCUMENT}#{digest}", "sk": DOCUMENT}
