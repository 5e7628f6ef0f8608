"""The payloads of the states of account-opening: which application, and nothing of what it says."""

from typing import Literal

from msgspec import Struct

from runtime.validation import InvalidEvent, parser

from .setup import ApplicationId


class StateInput(Struct, frozen=True, forbid_unknown_fields=True):
    """application_id: the name of the execution."""

    application_id: ApplicationId


class RejectInput(Struct, frozen=True, forbid_unknown_fields=True):
    """decision: of the review; `expired` if nobody has decided."""

    application_id: ApplicationId
    decision: Literal["reject", "expired"]

    @property
    def reason(self) -> str:
        return "ReviewExpired" if self.decision == "expired" else "Rejected"


parse_state = parser(StateInput, InvalidEvent, "the input")
parse_reject = parser(RejectInput, InvalidEvent, "the input")
