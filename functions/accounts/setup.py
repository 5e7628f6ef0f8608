"""The input of the saga account-setup: which application, and nothing of what it says."""

from typing import Annotated, Any

import msgspec

from runtime.validation import parser

from .errors import InvalidApplication

type ApplicationId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,60}\Z")]


class ApplicationKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An application, without its data: the execution history has no name, address or date of birth."""

    id: ApplicationId


class AccountSetup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    application: ApplicationKey

    @property
    def application_id(self) -> str:
        return self.application.id


parse_setup = parser(AccountSetup, InvalidApplication, "the input")


def setup_input(application_id: str) -> dict[str, Any]:
    """The saga's input, as the state machine gets it."""
    return {"application": {"id": application_id}}
