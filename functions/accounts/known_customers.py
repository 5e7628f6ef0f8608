"""Whether a person is a customer already: the uniqueness rows of CustomersTable."""

from dataclasses import dataclass
from typing import Any

from idempotency.dynamodb import read_rows

from .applications import Application
from .numbers import uniqueness_key


@dataclass(frozen=True, slots=True)
class KnownCustomers:
    """client: a `boto3.client("dynamodb")`. name: of the table."""

    client: Any
    name: str

    def has(self, application: Application) -> bool:
        """Whether another application has made this person a customer. Raises StoreUnavailable."""
        key = {"customer_id": uniqueness_key(application.name, application.date_of_birth)}
        (row,) = read_rows(self.client, [(self.name, key)])
        return row is not None and row["application_id"]["S"] != application.application_id
