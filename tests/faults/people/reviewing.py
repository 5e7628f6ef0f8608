"""Reviewers: when they decide, and which responses they get."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.faults.invocation import failure
from tests.faults.people.invariants import ANSWERS, EXPIRY, EYES, ONCE
from tests.faults.people.issuing import Issuing
from tests.faults.people.plan import APPROVE, REJECT, Review
from tests.faults.seams import Document

TRIES = 4
_STATUS = {APPROVE: "APPROVED", REJECT: "REJECTED"}
_REFUSED = {"AlreadyDecided", "ApprovalExpired", "ApprovalCancelled"}
_BARRED = {"OwnRequest", "not-in-group"}
_DECIDE = "DecideApprovalFunction"
_ROUTE = "POST /approvals/{approval_id}/decision"


@dataclass
class Reviewing(Issuing, ABC):
    """Reviewers of a run. answers: to reviewers."""

    answers: Counter[str] = field(default_factory=Counter)

    @abstractmethod
    def sweep(self) -> None:
        """Run all sweeps, as on their schedules."""

    def decide(self, approval_id: str, decision: str, by: str, groups: Sequence[str] | None = None) -> None:
        """Decide, as a reviewer, and try again if the response is lost. groups: of a token, to decide over HTTP."""
        request = {"approval_id": approval_id, "decision": decision, "decided_by": by, "comment": f"{by} says so"}
        refusals = _REFUSED | (_BARRED if by in self.plan.barred else set())
        for number in range(TRIES):
            began = self.simulation.now
            answer = self._decide(request) if groups is None else self._decide_over_http(request, groups)
            body = answer["body"]
            found = body["errorType"] if answer.get("error") else body["status"]
            if not answer.get("error") or found in refusals:
                self.answers[found] += 1
                self._judge_answer(approval_id, decision, body if not answer.get("error") else None, found, began)
                return
            if not self.disturbed:
                self.judge.broken(ANSWERS, f"a decision is answered with {found}: {body['errorMessage']}")
            self.simulation.sleep(self.chance.uniform(1, 30) * (number + 1))

    def _decide(self, request: Document) -> Document:
        return self.invoke(_DECIDE, request, f"Decide@{self.plan.label(request['approval_id'])}")

    def _decide_over_http(self, request: Document, groups: Sequence[str]) -> Document:
        """Decide by a token, which alone names who decides. Returns what the function would."""
        given = {"approval_id": request["approval_id"]}
        event = {
            "routeKey": _ROUTE,
            "rawPath": _ROUTE.partition(" ")[2].format(**given),
            "pathParameters": given,
            "headers": {"content-type": "application/json"},
            "requestContext": {
                "authorizer": {"jwt": {"claims": {"sub": request["decided_by"], "groups": f"[{' '.join(groups)}]"}}},
                "http": {"method": "POST"},
                "requestId": "request-1",
            },
            "body": json.dumps({name: request[name] for name in ("decision", "comment")}),
        }
        answer = self.invoke(self.engine.API, event, f"Http@{self.plan.label(request['approval_id'])}")
        if answer.get("error"):
            return answer
        body = json.loads(answer["body"]["body"])
        if answer["body"]["statusCode"] == 200:
            return {"body": body}
        return failure(body["type"].rpartition(":")[2], body.get("detail", ""))

    def invoke_for_api(self, function: str, payload: bytes) -> Document:
        """Invoke a function for the HTTP API."""
        event = json.loads(payload)
        return self.invoke(function, event, f"Decide@{self.plan.label(event['approval_id'])}")

    def refused(self, table: str) -> None:
        """Judge a write: nobody who must not decide makes it."""
        actor = self.simulation.current
        invocation = actor.notes.get("invocation") if actor else None
        if invocation and invocation.function == _DECIDE:
            by = json.loads(invocation.event)["decided_by"]
            if by in self.plan.barred:
                self.judge.broken(EYES, f"the decision of {by} writes {table}")

    def _judge_answer(self, approval_id: str, decision: str, body: Document | None, found: str, began: float) -> None:
        row = self.judge.approvals[approval_id]
        self.judge.passes("an answer to a reviewer", json.dumps(body))
        if body is not None:
            if row["status"] != _STATUS[decision] or body != {"approval_id": approval_id, "status": row["status"]}:
                self.judge.broken(ANSWERS, f"{decision} is answered with {body}, and the approval is {row['status']}")
        elif found == "AlreadyDecided" and row["status"] in {"WAITING", _STATUS[decision]}:
            self.judge.broken(ONCE, f"{decision} is answered with {found}, and the approval is {row['status']}")
        elif found == "ApprovalExpired" and self.simulation.now < self.judge.due(row):
            self.judge.broken(EXPIRY, f"{found} {self.judge.due(row) - began:.1f} s before it is due")

    def waits(self, approval_id: str) -> None:
        """Let reviewers decide about a waiting approval, and sweeps run when it is due."""
        due = self.judge.due(self.judge.approvals[approval_id]) - self.simulation.now
        for review in self.plan.reviews:
            moment = max(0.0, due + review.around_due) if review.after is None else review.after
            for again in range(review.times):
                self._review(approval_id, review, moment + again * self.later.choice((0.0, 0.1, 600.0)))
        # Around the due time, and so that sweeps run after it.
        for moment in (due + self.later.choice((-1.0, -0.01, 0.0, 0.01, 1.0)), due + 2, due + 302, due + 602):
            self.spawn(self.sweep, moment)

    def _review(self, approval_id: str, review: Review, moment: float) -> None:
        self.spawn(partial(self.decide, approval_id, review.decision, review.by, review.groups), moment)
