"""All access to ApprovalsTable.

The record of an approval is one item, and the tokens of the states that wait for it are another, which has no attribute
of an index: no list reads it. A transaction writes both.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from idempotency.codec import Item, to_item
from idempotency.dynamodb import Action, Outcome
from idempotency.expressions import conditional_update
from runtime.table import Table

from .errors import SubjectClosed
from .requests import ApprovalRequest
from .state import Approval, Status

WAITING = "waiting"
"""Sparse index of WAITING approvals, by group and time."""
EXECUTION = "waiting_execution"
"""Attribute, and sparse index, of the execution of a WAITING approval."""
OWED_SINCE = "owed_since"
"""Attribute, and sparse index, of the decisions that a state may wait for."""
ASKED_AT = "asked_at"
"""Attribute of the record, and of the row that it is about: when a state last asked."""
_WAITING_ONLY = ("waiting_until", EXECUTION)
_NEW = "attribute_not_exists(#approval_id)"
_AS_SEEN = "#requests = :seen AND #status = :seen_status"
# An item of tokens has no status.
_TOKENS = "attribute_not_exists(#status)"
_UNDUE = "#status = :waiting AND #due_at > :decided_at"
_DUE = "#status = :waiting AND #due_at <= :decided_at"


def stamp(at: datetime) -> str:
    """Format as ISO 8601, always with microseconds, so that times compare as strings."""
    return at.isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class Subject:
    """The row that an approval is about. statuses: those in which it is undecided."""

    table: str
    key: Mapping[str, str]
    statuses: Sequence[str]

    def ask(self, at: datetime) -> Action:
        """Check that the row is undecided, and store in it when somebody was asked."""
        undecided = {f"undecided_{number}": status for number, status in enumerate(self.statuses)}
        condition = f"#status IN ({', '.join(f':{name}' for name in undecided)})"
        asked = {ASKED_AT: stamp(at)}
        changes = conditional_update(self.table, self.key, condition=condition, assign=asked, values=undecided)
        return {"Update": changes}


@dataclass(frozen=True, slots=True)
class ApprovalsTable(Table):
    """Access to the table. lifetime: how long a record outlives the approval's end.

    Writes return their outcome; `old` is the record that failed the condition.
    """

    lifetime: timedelta

    def find(self, approval_id: str) -> Approval | None:
        """Read the record consistently."""
        row = self.row(_key(approval_id))
        return Approval.of(row) if row else None

    def with_tokens(self, approval_id: str) -> tuple[Approval | None, list[str]]:
        """Read the record and its tokens consistently.

        The record is read first, in a separate call: a token added in between changes it, so no write loses the token.
        """
        found = self.find(approval_id)
        tokens = self.row(_tokens_key(approval_id))
        return found, sorted(tokens["tokens"]["SS"]) if tokens else []

    def waiting(self, group: str | None = None) -> Iterator[Approval]:
        """Yield waiting approvals, of a group by due time, or all, from the index, which may be late."""
        return map(Approval.of, self._query(WAITING, "group", group) if group is not None else self.read_index(WAITING))

    def of_execution(self, arn: str) -> list[str]:
        """Return the ids of approvals that wait in an execution, from the index."""
        return [row["approval_id"]["S"] for row in self._query(EXECUTION, EXECUTION, arn)]

    def owed(self) -> list[str]:
        """Return the ids of decisions that a state may wait for, from the index."""
        return [row["approval_id"]["S"] for row in self.read_index(OWED_SINCE)]

    # A state asks.

    def create(
        self, request: ApprovalRequest, at: datetime, subject: Subject | None, *, over: Approval | None = None
    ) -> Outcome:
        """Store a record with its token. over: the record that it replaces, if that has not changed.

        Raises SubjectClosed if the subject is decided or missing.
        """
        due_at = stamp(at + timedelta(seconds=request.due_in_seconds))
        row = {
            **_key(request.approval_id),
            "status": Status.WAITING,
            "subject": request.subject,
            "group": request.group,
            "requested_by": request.requested_by,
            "four_eyes": request.four_eyes,
            "requested_at": stamp(at),
            ASKED_AT: stamp(at),
            "due_at": due_at,
            "execution_arn": request.execution_arn,
            "payload_hash": request.payload_hash,
            "requests": over.requests + 1 if over else 1,
            "round": over.round + 1 if over else 1,
            "waiting_until": due_at,
            EXECUTION: request.execution_arn,
        }
        put = self.put_action(row, _AS_SEEN if over else _NEW, _seen(over) if over else {})
        return self._ask(request, put, at, subject)

    def add_token(self, seen: Approval, request: ApprovalRequest, at: datetime, subject: Subject | None) -> Outcome:
        """Store the token of a state that asks again. If the approval is decided, the state is owed the decision.

        Raises as `create`.
        """
        decided = seen.status is not Status.WAITING
        change = self.update_action(
            _key(seen.id),
            "#status = :seen_status",
            {ASKED_AT: stamp(at)},
            computed={
                "requests": "#requests + :one",
                **({OWED_SINCE: f"if_not_exists(#{OWED_SINCE}, :asked_at)"} if decided else {}),
            },
            values={**_seen(seen), "one": 1},
        )
        return self._ask(request, change, at, subject)

    def _ask(self, request: ApprovalRequest, record: Action, at: datetime, subject: Subject | None) -> Outcome:
        touched = [subject.ask(at)] if subject else []
        return self._transact(record, self._add(request), *touched)

    # It ends.

    def decide(self, seen: Approval, status: Status, at: datetime, **values: str) -> Outcome:
        """Decide a WAITING approval that is not due yet.

        seen: as it was read, in this round. values: the decider, and the reason.
        """
        return self._end(seen.id, _UNDUE, status, {**values, **_decided(at)}, at, round=seen.round)

    def expire(self, approval_id: str, at: datetime) -> Outcome:
        """Expire a WAITING approval that is due."""
        return self._end(approval_id, _DUE, Status.EXPIRED, _decided(at), at)

    def cancel(self, seen: Approval, at: datetime) -> Outcome:
        """Cancel a WAITING approval that no state has asked for since it was read."""
        assign = {"status": Status.CANCELLED, "cancelled_at": stamp(at), **self._expiry(at)}
        change = self.update_action(_key(seen.id), _AS_SEEN, assign, remove=_WAITING_ONLY, values=_seen(seen))
        return self._transact(change, self._forget(seen))

    def close(self, seen: Approval, *, took_effect: bool) -> Outcome:
        """Store whether a decision took effect, if no state has asked since it was read."""
        owed = f"{_AS_SEEN} AND attribute_exists(#{OWED_SINCE})"
        effect = {"took_effect": took_effect}
        change = self.update_action(_key(seen.id), owed, effect, remove=[OWED_SINCE], values=_seen(seen))
        return self._transact(change, self._forget(seen))

    def forget_tokens(self, seen: Approval) -> Outcome:
        """Delete dead tokens, if no state has asked since they were read."""
        return self._transact(self.check_action(_key(seen.id), _AS_SEEN, _seen(seen)), self._forget(seen))

    def _end(
        self, approval_id: str, condition: str, status: Status, values: Mapping[str, str], at: datetime, **same: Any
    ) -> Outcome:
        """End a WAITING approval. same: attributes that must not have changed."""
        return self.updated(
            _key(approval_id),
            " AND ".join([condition, *(f"#{name} = :same_{name}" for name in same)]),
            {"status": status, **values, **self._expiry(at)},
            remove=_WAITING_ONLY,
            values={"waiting": Status.WAITING, **{f"same_{name}": value for name, value in same.items()}},
        )

    def _expiry(self, at: datetime) -> dict[str, int]:
        return {"expires_at": int((at + self.lifetime).timestamp())}

    def _add(self, request: ApprovalRequest) -> Action:
        key, token = _tokens_key(request.approval_id), frozenset({request.token})
        return self.update_action(key, _TOKENS, add={"tokens": "token"}, values={"token": token})

    def _forget(self, seen: Approval) -> Action:
        return self.delete_action(_tokens_key(seen.id))

    def _transact(self, *actions: Action) -> Outcome:
        cancelled = self.transact(actions)
        if cancelled is None:
            return Outcome(True)
        if 0 not in cancelled.refusals:
            raise SubjectClosed("about: the row is decided, or not there; nobody is asked")
        return Outcome(False, cancelled.refusals[0].item)

    def _query(self, index: str, name: str, value: str) -> Iterator[Item]:
        """Yield the rows of an index in which an attribute, its key, has this value."""
        pages = self.client.get_paginator("query").paginate(
            TableName=self.name,
            IndexName=index,
            KeyConditionExpression=f"#{name} = :{name}",
            ExpressionAttributeNames={f"#{name}": name},
            ExpressionAttributeValues=to_item({f":{name}": value}),
        )
        for page in pages:
            yield from page["Items"]


def _key(approval_id: str) -> dict[str, str]:
    return {"approval_id": approval_id}


def _tokens_key(approval_id: str) -> dict[str, str]:
    # No id has "#".
    return {"approval_id": f"TOKENS#{approval_id}"}


def _decided(at: datetime) -> dict[str, str]:
    return {"decided_at": stamp(at), OWED_SINCE: stamp(at)}


def _seen(approval: Approval) -> dict[str, Any]:
    return {"seen": approval.requests, "seen_status": approval.status}
