"""The step protocol: a forward transaction T and its compensation C, each safe to run any number of times.

| call | step record found        | what happens                                                                  |
| ---- | ------------------------ | ----------------------------------------------------------------------------- |
| T    | none                     | record COMMITTED and business writes, atomically; the result is returned      |
| T    | COMMITTED, same payload  | nothing is written; the stored result is returned; one WARNING line           |
| T    | COMMITTED, other payload | PayloadMismatch                                                               |
| T    | COMPENSATED or -ING      | StepCompensated                                                               |
| C    | COMMITTED                | record COMPENSATED and undo writes, atomically; answers that it undid T       |
| C    | none                     | tombstone COMPENSATED, which bars a late T; answers that nothing was undone   |
| C    | COMPENSATED              | nothing is written; the stored result is returned                             |
| C    | COMMITTED, other payload | PayloadMismatch                                                               |
| C    | COMMITTED and sealed     | StateConflict: the saga has succeeded, its steps can no longer be undone      |

If T has effects outside DynamoDB too, C first makes the record COMPENSATING, which bars T, then undoes what is outside,
then goes on as above. A C that finds COMPENSATING does the same again: the one before it broke off.

Idempotence, empty rollback and anti-suspension are the three names that Seata's TCC fence gives to these guarantees;
that the record commits with the business write, in one `TransactWriteItems`, is what leaves nothing in between to
crash in.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .dynamodb import Action, Cancellation, StepClient, conditional_update, read, transact, update
from .errors import Contention, PayloadMismatch, Refusal, StateConflict, StepCompensated
from .payloads import canonical_json, payload_hash

COMMITTED = "COMMITTED"
COMPENSATING = "COMPENSATING"
COMPENSATED = "COMPENSATED"

# A compensation that finds no record writes a tombstone; each round lost means that a twin wrote the record just then.
_COMPENSATION_ROUNDS = 3

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a step or of its compensation.

    saga_id: the saga's execution name, here the order_id.
    name: the step's name; a compensation carries the name of the step that it undoes.
    payload: the request as it came in (anything that JSON can hold). Its hash tells a duplicate from a reused id.
    owner: who is calling, for the record: the invocation's request id.
    at: the time of the call, aware UTC.
    """

    saga_id: str
    name: str
    payload: Any
    owner: str
    at: datetime

    @property
    def key(self) -> str:
        """The step record's primary key."""
        return _key(self.saga_id, self.name)


class StepStore:
    """Step records in one DynamoDB table, committed together with the business writes of the caller.

    client: a `boto3.client("dynamodb")`.
    table: name of the table of step records (string key `pk`, TTL on `expires_at`).
    lifetime: how long a record outlives its last write. It must be longer than the longest life of a saga; a record
        that has expired but is not deleted yet still counts.
    """

    def __init__(self, client: StepClient, table: str, *, lifetime: timedelta = timedelta(days=90)) -> None:
        self._client = client
        self._table = table
        self._lifetime = lifetime

    def commit(self, step: Step, writes: Sequence[Action], result: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run T: write the record and the business writes, or replay what an earlier call wrote. One DynamoDB call.

        writes: up to 99 actions of `TransactWriteItems`, each with its own condition, none on the same item.
        result: what T answers, and what every duplicate is answered later (a JSON object).

        Raises PayloadMismatch, StepCompensated, StateConflict (a write was refused, no record stands), Contention,
        StoreUnavailable. After a BusinessError nothing was written.
        """
        cancelled = transact(self._client, [self._committed(step, result), *writes])
        if cancelled is None:
            return result
        record = _old_record(cancelled)
        if record is None:
            raise _state_conflict(step, writes, cancelled)
        if record["status"]["S"] != COMMITTED:
            raise StepCompensated(f"{step.key} was compensated; place a new order under a new order_id")
        _require_same_payload(step, record)
        _logger.warning(
            "duplicate call: the stored result is returned",
            extra={"step": step.key, "owner": step.owner, "first_owner": record["owner"]["S"]},
        )
        return _result(record)

    def compensate(
        self,
        step: Step,
        *,
        undo: Sequence[Action],
        absence: Sequence[Action],
        outside: Callable[[], None] | None = None,
    ) -> Mapping[str, Any]:
        """Run C: undo what T wrote, or see to it that T can never land. One DynamoDB call if T had happened, else two.

        undo: up to 99 actions that undo T's writes, each on the condition that T's write stands.
        absence: condition checks that T's writes do not stand, so that a lost record never passes for "nothing to
            undo". They are evaluated only when no record is found.
        outside: undoes what T does outside DynamoDB, and keeps a T in flight from doing it. It runs when T is barred
            already and can no longer be sealed, and again until its success is recorded. It costs one call more.

        Returns {"undone": whether there was something to undo}; every duplicate of C is answered the same.
        Raises PayloadMismatch (T was called with another payload), StateConflict (the rows are not as T left them, or
        the step is sealed), Contention, StoreUnavailable, and what `outside` raises. After a BusinessError of the layer
        nothing was undone.
        """
        if outside is not None:
            record = self._bar(step)
            if record is not None:
                return self._compensated_before(step, record)
            outside()
        return self._compensate(step, undo, absence)

    def _compensate(self, step: Step, undo: Sequence[Action], absence: Sequence[Action]) -> Mapping[str, Any]:
        undone, barred = {"undone": True}, {"undone": False}
        for _ in range(_COMPENSATION_ROUNDS):
            cancelled = transact(self._client, [self._compensated(step, undone), *undo])
            if cancelled is None:
                return undone
            if 0 not in cancelled.refusals:
                raise _state_conflict(step, undo, cancelled)
            record = _old_record(cancelled)
            if record is not None and not _bars_what_never_happened(record):
                return self._compensated_before(step, record)
            cancelled = transact(self._client, [self._tombstone(step, barred), *absence])
            if cancelled is None:
                return barred
            if 0 not in cancelled.refusals:
                raise _state_conflict(step, absence, cancelled)
        raise Contention(f"{step.key} is being written by other calls")

    def statuses(self, saga_id: str, names: Sequence[str]) -> dict[str, str | None]:
        """The status of each of a saga's records, None if there is none, read consistently. One DynamoDB call.

        names: of steps, or of other work of the same saga. Raises StoreUnavailable.
        """
        keys = {_key(saga_id, name): name for name in names}
        found = {keys[record["pk"]["S"]]: record["status"]["S"] for record in read(self._client, self._table, [*keys])}
        return {name: found.get(name) for name in names}

    def seal(self, saga_id: str, names: Sequence[str], writes: Sequence[Action], at: datetime) -> None:
        """Bar the undoing of these steps and write all, on the condition that every one of the steps stands.

        A compensation of a sealed step is refused: a stray call must not undo a saga that has succeeded. Sealing twice
        is sealing once. One DynamoDB call.

        Raises StateConflict (its refusals count through the steps, then the writes), Contention, StoreUnavailable.
        After a StateConflict nothing was written.
        """
        actions = [*(self._sealed(saga_id, name, at) for name in names), *writes]
        cancelled = transact(self._client, actions)
        if cancelled is not None:
            refusals = tuple(cancelled.refusals[index] for index in sorted(cancelled.refusals))
            rows = ", ".join(_row(actions[refusal.index]) for refusal in refusals)
            raise StateConflict(f"{saga_id}: not in the expected state: {rows}", refusals)

    def _bar(self, step: Step) -> Mapping[str, Any] | None:
        """Make the record COMPENSATING; or return the one that stands, if there is nothing more to do outside."""
        outcome = update(
            self._client,
            conditional_update(
                self._table,
                step.key,
                condition=(
                    "attribute_not_exists(#pk) OR (#status IN (:committed, :status) AND #payload_hash = :payload_hash"
                    " AND attribute_not_exists(#sealed_at))"
                ),
                assign={
                    "status": COMPENSATING,
                    "payload_hash": payload_hash(step.payload),
                    "owner": step.owner,
                    "updated_at": step.at.isoformat(),
                    "expires_at": self._expires_at(step),
                },
                computed={"created_at": "if_not_exists(#created_at, :updated_at)"},
                values={"committed": COMMITTED},
            ),
        )
        return None if outcome.applied else outcome.old

    def _sealed(self, saga_id: str, name: str, at: datetime) -> Action:
        return {
            "Update": conditional_update(
                self._table,
                _key(saga_id, name),
                condition="#status = :committed",
                assign={"sealed_at": at.isoformat()},
                values={"committed": COMMITTED},
            )
        }

    def _compensated_before(self, step: Step, record: Mapping[str, Any]) -> Mapping[str, Any]:
        if record["status"]["S"] != COMPENSATED:
            _require_same_payload(step, record)
            raise StateConflict(f"{step.key} belongs to a saga that has succeeded; it can no longer be undone")
        _logger.warning(
            "duplicate compensation: the stored result is returned",
            extra={"step": step.key, "owner": step.owner, "first_owner": record["owner"]["S"]},
        )
        return _result(record)

    def _committed(self, step: Step, result: Mapping[str, Any]) -> Action:
        first_call = "attribute_not_exists(pk)"
        return {"Put": {**self._new_record(step, COMMITTED, result), "ConditionExpression": first_call}}

    def _tombstone(self, step: Step, result: Mapping[str, Any]) -> Action:
        never_committed = "attribute_not_exists(pk) OR (#status = :compensating AND attribute_not_exists(#result))"
        return {
            "Put": {
                **self._new_record(step, COMPENSATED, result),
                "ConditionExpression": never_committed,
                "ExpressionAttributeNames": {"#status": "status", "#result": "result"},
                "ExpressionAttributeValues": {":compensating": {"S": COMPENSATING}},
            }
        }

    def _new_record(self, step: Step, status: str, result: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "TableName": self._table,
            "Item": {
                "pk": {"S": step.key},
                "status": {"S": status},
                "result": {"S": canonical_json(result)},
                "payload_hash": {"S": payload_hash(step.payload)},
                "owner": {"S": step.owner},
                "created_at": {"S": step.at.isoformat()},
                "updated_at": {"S": step.at.isoformat()},
                "expires_at": {"N": str(self._expires_at(step))},
            },
        }

    def _compensated(self, step: Step, result: Mapping[str, Any]) -> Action:
        stands = "#status = :committed OR (#status = :compensating AND attribute_exists(#result))"
        by_the_same_request_and_not_sealed = "#payload_hash = :payload_hash AND attribute_not_exists(#sealed_at)"
        return {
            "Update": conditional_update(
                self._table,
                step.key,
                condition=f"({stands}) AND {by_the_same_request_and_not_sealed}",
                assign={
                    "status": COMPENSATED,
                    "result": canonical_json(result),
                    "owner": step.owner,
                    "updated_at": step.at.isoformat(),
                    "expires_at": self._expires_at(step),
                },
                values={
                    "committed": COMMITTED,
                    "compensating": COMPENSATING,
                    "payload_hash": payload_hash(step.payload),
                },
            )
        }

    def _expires_at(self, step: Step) -> int:
        return int((step.at + self._lifetime).timestamp())


def _key(saga_id: str, name: str) -> str:
    return f"{saga_id}#{name}"


def _old_record(cancelled: Cancellation) -> Mapping[str, Any] | None:
    refusal = cancelled.refusals.get(0)
    return refusal.item if refusal else None


def _bars_what_never_happened(record: Mapping[str, Any]) -> bool:
    return record["status"]["S"] == COMPENSATING and "result" not in record


def _result(record: Mapping[str, Any]) -> Mapping[str, Any]:
    result: Mapping[str, Any] = json.loads(record["result"]["S"])
    return result


def _require_same_payload(step: Step, record: Mapping[str, Any]) -> None:
    if record["payload_hash"]["S"] != payload_hash(step.payload):
        raise PayloadMismatch(f"{step.key} is recorded with another payload; use a new order_id for another order")


def _state_conflict(step: Step, writes: Sequence[Action], cancelled: Cancellation) -> StateConflict:
    refusals = tuple(Refusal(index - 1, refusal.item) for index, refusal in sorted(cancelled.refusals.items()))
    rows = ", ".join(_row(writes[refusal.index]) for refusal in refusals)
    return StateConflict(f"{step.key}: not in the expected state: {rows}", refusals)


def _row(action: Action) -> str:
    ((_, parameters),) = action.items()
    return f"{parameters['TableName']} {json.dumps(parameters.get('Key', '(new row)'))}"
