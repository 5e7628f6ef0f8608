"""SubmitApplication: one row for each application, whose insertion starts its execution."""

from dataclasses import dataclass
from datetime import date, datetime

from idempotency import PayloadMismatch, StateConflict, StepCompensated
from idempotency.saga import SagaSteps
from runtime.backoff import until_decided

from .definition import SUBMITTED
from .errors import InvalidApplication
from .requests import SubmitRequest
from .state import submission
from .table import Applications

DUPLICATE = "duplicate"
_BARRED = "application_id: account-recovery has barred it before it was submitted; use another one"


@dataclass(frozen=True, slots=True)
class Submission:
    steps: SagaSteps
    applications: Applications

    def submit(self, request: SubmitRequest, owner: str, at: datetime) -> dict[str, str]:
        """Store an application. owner: of the call. Returns {"application_id", "status": "SUBMITTED" | "duplicate"}.

        Raises InvalidApplication, PayloadMismatch, Contention, StoreUnavailable.
        """
        if date.fromisoformat(request.date_of_birth) > at.date():
            raise InvalidApplication("date_of_birth: in the future")
        new = self._store(request, owner, at)
        return {"application_id": request.application_id, "status": SUBMITTED if new else DUPLICATE}

    def _store(self, request: SubmitRequest, owner: str, at: datetime) -> bool:
        """Store it, once. Returns whether this call has stored it.

        Raises PayloadMismatch if a different payload is stored, InvalidApplication if the id is barred.
        """
        values = {**request.fields, "payload_hash": request.payload_hash}
        result = {"payload_hash": request.payload_hash, "owner": owner}
        step, writes = submission(request.application_id, owner, at), [self.applications.actions.submit(values, at)]
        try:
            answer = until_decided(lambda: self.steps.commit(step, writes, result))
        except (StateConflict, StepCompensated):
            stored = self._stored_hash(request.application_id)
            if stored is None:
                raise InvalidApplication(_BARRED) from None
            answer = {"payload_hash": stored}
        if answer["payload_hash"] != request.payload_hash:
            raise PayloadMismatch(f"application_id: {request.application_id} is an application with other content")
        # A duplicate gets what the first call has stored.
        return answer.get("owner") == owner

    def _stored_hash(self, application_id: str) -> str | None:
        """Read the hash of a row without its record: records expire, and an application that failed is barred."""
        found = self.applications.find(application_id)
        return found.values.get("payload_hash") if found else None
