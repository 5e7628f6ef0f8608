"""Whether a person is a customer already: the uniqueness rows of CustomersTable."""

from dataclasses import dataclass
from typing import Any

from idempotency.dynamodb import read_rows

from .applications import Application
from .people import uniqueness_keys


@dataclass(frozen=True, slots=True)
class KnownCustomers:
    """client: a `boto3.client("dynamodb")`. name: of the table."""

    client: Any
    name: str

    def has(self, application: Application) -> bool:
        """Whether another application has made this person a customer. Raises StoreUnavailable."""
        keys = uniqueness_keys(application.name, application.date_of_birth)
        rows = read_rows(self.client, [(self.name, {"customer_id": key}) for key in keys])
        return any(row is not None and row["application_id"]["S"] != application.application_id for row in rows)
