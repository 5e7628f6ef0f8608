"""The inbox of on-call engineers, for all contexts of a stack."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Protocol, cast

from botocore.exceptions import BotoCoreError, ClientError

from stepwise.operations.stack import Stack

from .concern import Concern

PROVIDERS = {
    "orders": "OrdersTable",
    "work": "IdempotencyTable",
    "commands": "GatesTable",
    "approvals": "ApprovalsTable",
    "applications": "AccountSetupArn",
    "imports": "ImportCsvArn",
    "user_imports": "UserImportArn",
    "queues": "",
    "alarms": "",
}
"""Modules of this package, each with an output that the stack has if the context is deployed."""


class _Provider(Protocol):
    def concerns(self, stack: Stack, name: str) -> Iterable[Concern]: ...


def concerns(stack: Stack, name: str) -> Iterator[Concern]:
    """What needs a person, by context, the oldest first. name: of the root stack.

    A context that cannot be read is a concern of its own, so that neither a missing permission nor an odd row hides
    the other contexts.
    """
    for context, output in PROVIDERS.items():
        if output and output not in stack.outputs:
            continue
        provider = cast("_Provider", import_module(f"stepwise.operations.inbox.{context}"))
        try:
            yield from sorted(provider.concerns(stack, name), key=lambda one: (one.since, one.id))
        except Exception as error:
            cause = str(error) if isinstance(error, ClientError | BotoCoreError) else repr(error)
            yield Concern(context.replace("_", "-"), "", "cannot be read", cause, ("status",))
