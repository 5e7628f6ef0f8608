"""The step protocol: a forward transaction T and its compensation C, each safe to run any number of times.

| call | step record found        | what happens                                                                  |
| ---- | ------------------------ | ----------------------------------------------------------------------------- |
| T    | none                     | record COMMITTED and business writes, atomically; the result is returned      |
| T    | COMMITTED, same payload  | nothing is written; the stored result is returned; one WARNING line           |
| T    | COMMITTED, other payload | PayloadMismatch                                                               |
| T    | COMPENSATED or -ING      | StepCompensated                                                               |
| T    | none, a row stands       | StateConflict                                                                 |
| C    | COMMITTED                | record COMPENSATED and undo writes, atomically; returns that it undid T       |
| C    | none                     | tombstone COMPENSATED, which bars a late T; returns that nothing was undone   |
| C    | COMPENSATED              | nothing is written; the stored result is returned                             |
| C    | COMMITTED and sealed     | StateConflict: the saga has succeeded, its steps can no longer be undone      |
| C    | COMMITTED, other payload | PayloadMismatch                                                               |
| C    | none, a row stands       | StateConflict                                                                 |

If T also has effects outside DynamoDB, it calls `find` before it causes them. C first sets the record to COMPENSATING,
which bars T, and checks the rows in the same transaction. It then undoes the outside effects and continues as above. A
C that finds COMPENSATING repeats this, because the one before it was interrupted.

Records expire and business rows do not, so the rows have the last word: a call whose record is gone decides by the
rows before it touches anything outside. A tombstone and a COMPENSATING record never expire.

Seata's TCC fence calls these guarantees idempotence, empty rollback and anti-suspension. Because the record and the
business writes commit in one `TransactWriteItems`, no crash can come between them.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from .codec import to_item
from .dynamodb import Action, Cancellation, StepClient, row, state_conflict, transact
from .errors import Contention, InvalidKey, PayloadMismatch, StateConflict, StepCompensated
from .expressions import condition_check, conditional_update
from .payloads import PayloadHash, read_json
from .results import as_stored, finished, require_plain

COMMITTED = "COMMITTED"
COMPENSATING = "COMPENSATING"
COMPENSATED = "COMPENSATED"

# A compensation that finds no record writes a tombstone. A round is lost if a duplicate writes the record meanwhile.
_COMPENSATION_ROUNDS = 3

_UNDONE, _BARRED = {"undone": True}, {"undone": False}

# See PayloadHash.is_of.
_SAME_PAYLOAD = (
    "(#payload_hash_v2 = :exact OR (attribute_not_exists(#payload_hash_v2) AND #payload_hash IN (:spelled, :exact)))"
)
# Conditions of a compensation on the record. First: T happened, with the same payload, and the saga has not succeeded.
# Second: T never happened, so there is no payload to compare, and any C may finish barring it.
_HAPPENED = (
    "(#status = :committed OR (#status = :compensating AND attribute_exists(#result)))"
    f" AND {_SAME_PAYLOAD} AND attribute_not_exists(#sealed_at)"
)
_NEVER_HAPPENED = "attribute_not_exists(#pk) OR (#status = :compensating AND attribute_not_exists(#result))"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a step or of its compensation.

    saga_id: the saga's execution name, such as the order_id. Neither it nor `name` contains `#`.
    name: the step's name; for a compensation, the name of the step that it undoes.
    payload: the request as received (anything that JSON can hold). Its hash tells a duplicate from a reused id.
    owner: the invocation's request id, for the record.
    at: the time of the call, aware UTC.
    """

    saga_id: str
    name: str
    payload: Any
    owner: str
    at: datetime
    # Once, because the caller may change the payload between two calls of the store.
    payload_hash: PayloadHash = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Hash the payload. Raises TypeError or ValueError if JSON cannot hold it."""
        object.__setattr__(self, "payload_hash", PayloadHash.of(self.payload))

    @property
    def key(self) -> str:
        """The step record's primary key."""
        return _key(self.saga_id, self.name)


class StepStore:
    """Step records in one DynamoDB table, committed together with the caller's business writes.

    client: a `boto3.client("dynamodb")`.
    table: name of the table of step records (string key `pk`, TTL on `expires_at`).
    lifetime: how long the record of a step that happened outlives its last write. It must exceed the longest life of a
        saga. An expired record counts until DynamoDB deletes it.
    """

    def __init__(self, client: StepClient, table: str, *, lifetime: timedelta = timedelta(days=90)) -> None:
        self._client = client
        self._table = table
        self._lifetime = lifetime

    def find(self, step: Step, *, absence: Sequence[Action], after: Sequence[str] = ()) -> Mapping[str, Any] | None:
        """Find what T would return, before T causes effects outside DynamoDB. Writes nothing. One DynamoDB call.

        absence: condition checks of the business rows that T needs, such as that its own row does not exist.
        after: as for `commit`.

        Returns the stored result of an earlier call, or None if T may go ahead. Raises as `commit`.
        """
        cancelled = transact(self._client, [self._absent(step.key), *absence, *self._not_compensated(step, after)])
        return None if cancelled is None else self._answer(step, absence, cancelled)

    def commit(
        self, step: Step, writes: Sequence[Action], result: Mapping[str, Any], *, after: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        """Run T: write the record and the business writes, or return the stored result. One DynamoDB call.

        writes: actions of `TransactWriteItems` on different items, each with its condition; up to 99, including
            `after`.
        result: a JSON object, returned to this call and to every duplicate as it is stored, with lists for tuples.
        after: names of earlier steps of the same saga. T does not run once one of them is compensated.

        Raises PayloadMismatch, StepCompensated, StateConflict (the condition of a write failed, and there is no
        record), Contention, StoreUnavailable; TypeError or ValueError if the result is not JSON, or deferred. After any
        error but the transient ones nothing was written.
        """
        _, stored = as_stored(finished(result))
        actions = [self._committed(step, stored), *writes, *self._not_compensated(step, after)]
        cancelled = transact(self._client, actions)
        return stored if cancelled is None else self._answer(step, writes, cancelled)

    def bar(self, steps: Sequence[Step], writes: Sequence[Action]) -> None:
        """Write a tombstone for each of these steps, none of which happened, and all `writes`. One DynamoDB call.

        Raises StateConflict (its refusals count through the steps, then the writes), Contention, StoreUnavailable.
        After a StateConflict nothing was written.
        """
        self._write_all([*(self._tombstone(step, _BARRED) for step in steps), *writes])

    def compensate(
        self,
        step: Step,
        *,
        undo: Sequence[Action],
        absence: Sequence[Action],
        outside: Callable[[], None] | None = None,
        stands: Sequence[Action] = (),
    ) -> Mapping[str, Any]:
        """Run C: undo what T wrote, or bar T forever. One DynamoDB call if T happened, else two.

        undo: up to 99 actions that undo T's writes, each on the condition that T's write stands.
        absence: condition checks that T's writes do not stand, so that a lost record is not mistaken for "nothing to
            undo". They are evaluated only if there is no record.
        outside: undoes what T did outside DynamoDB, and keeps a T in flight from doing it. It runs after T is barred
            and can no longer be sealed, and runs again until its success is recorded. It costs one more call if T
            happened, else two.
        stands: condition checks that T's writes stand; evaluated before `outside` runs.

        Returns {"undone": whether there was something to undo}, the same for every duplicate of C.
        Raises PayloadMismatch (T had a different payload), StateConflict (the rows are not as T left them, or
        the step is sealed), Contention, StoreUnavailable, and what `outside` raises. After a BusinessError of the layer
        nothing was undone, and nothing outside was touched by this call.
        """
        if outside is not None:
            require_plain(outside)
            barred = self._bar(step, stands, absence)
            if not isinstance(barred, bool):
                return self._compensated_before(step, barred)
            finished(outside())
        return self._compensate(step, undo, absence)

    def _bar(self, step: Step, stands: Sequence[Action], absence: Sequence[Action]) -> bool | Mapping[str, Any]:
        """Bar T before C works outside. Returns as `_write_by_record`."""
        return self._write_by_record(
            step, [self._barred(step, _HAPPENED), *stands], [self._barred(step, _NEVER_HAPPENED), *absence]
        )

    def _compensate(self, step: Step, undo: Sequence[Action], absence: Sequence[Action]) -> Mapping[str, Any]:
        undone = self._write_by_record(
            step, [self._compensated(step, _UNDONE), *undo], [self._tombstone(step, _BARRED), *absence]
        )
        if not isinstance(undone, bool):
            return self._compensated_before(step, undone)
        return _UNDONE if undone else _BARRED

    def _write_by_record(
        self, step: Step, if_happened: Sequence[Action], if_never: Sequence[Action]
    ) -> bool | Mapping[str, Any]:
        """Write the actions that fit the step's record: the condition of the first action of each list decides.

        Returns whether T happened; or the record, if it fits neither.
        """
        for _ in range(_COMPENSATION_ROUNDS):
            cancelled = transact(self._client, if_happened)
            if cancelled is None:
                return True
            if 0 not in cancelled.refusals:
                raise state_conflict(step.key, if_happened[1:], cancelled)
            record = _old_record(cancelled)
            if record is not None and not _bars_what_never_happened(record):
                return record
            cancelled = transact(self._client, if_never)
            if cancelled is None:
                return False
            if 0 not in cancelled.refusals:
                raise state_conflict(step.key, if_never[1:], cancelled)
        raise Contention(f"{step.key} is being written by other calls")

    def seal(
        self, saga_id: str, names: Sequence[str], writes: Sequence[Action], at: datetime, *, lost: Sequence[str] = ()
    ) -> None:
        """Seal these steps, so that they cannot be compensated, and write all `writes`, if every step is in effect.

        A stray compensation must not undo a saga that has succeeded. Sealing is idempotent. One DynamoDB call.
        lost: steps whose record has expired: there must still be none, and `writes` check their rows.

        Raises StateConflict (its refusals count through the steps, then the writes), Contention, StoreUnavailable.
        After a StateConflict nothing was written.
        """
        sealed = (
            self._absent(_key(saga_id, name)) if name in lost else self._sealed(saga_id, name, at) for name in names
        )
        self._write_all([*sealed, *writes])

    def _write_all(self, actions: Sequence[Action]) -> None:
        cancelled = transact(self._client, actions)
        if cancelled is not None:
            refusals = tuple(cancelled.refusals[index] for index in sorted(cancelled.refusals))
            rows = ", ".join(row(actions[refusal.index]) for refusal in refusals)
            raise StateConflict(f"not in the expected state: {rows}", refusals)

    def _answer(self, step: Step, writes: Sequence[Action], cancelled: Cancellation) -> Mapping[str, Any]:
        """Return the result of a T whose transaction was cancelled: the stored result, or an error."""
        record = _old_record(cancelled)
        if record is None:
            if max(cancelled.refusals) > len(writes):
                raise StepCompensated(f"an earlier step of {step.saga_id} was compensated; begin again under a new id")
            raise state_conflict(step.key, writes, cancelled)
        if record["status"]["S"] != COMMITTED:
            raise StepCompensated(f"{step.key} was compensated; begin again under a new id")
        _require_same_payload(step, record)
        _logger.warning(
            "duplicate call: the stored result is returned",
            extra={"step": step.key, "owner": step.owner, "first_owner": record["owner"]["S"]},
        )
        return _result(record)

    def _absent(self, key: str) -> Action:
        return self._check(key, "attribute_not_exists(pk)")

    def _not_compensated(self, step: Step, names: Sequence[str]) -> list[Action]:
        condition = "attribute_not_exists(pk) OR #status = :committed"
        return [self._check(_key(step.saga_id, name), condition, committed=COMMITTED) for name in names]

    def _check(self, key: str, condition: str, **values: str) -> Action:
        return {"ConditionCheck": condition_check(self._table, key, condition, values)}

    def _barred(self, step: Step, condition: str) -> Action:
        """Set the record to COMPENSATING, without an expiry: it must last until C succeeds."""
        return {
            "Update": conditional_update(
                self._table,
                step.key,
                condition=condition,
                assign={
                    "status": COMPENSATING,
                    **step.payload_hash.attributes,
                    "owner": step.owner,
                    "updated_at": step.at.isoformat(),
                },
                computed={"created_at": "if_not_exists(#created_at, :updated_at)"},
                remove=["expires_at"],
                values=_known(step),
            )
        }

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
            if "sealed_at" not in record:
                _require_same_payload(step, record)
            raise StateConflict(f"{step.key} belongs to a saga that has succeeded; it can no longer be undone")
        _logger.warning(
            "duplicate compensation: the stored result is returned",
            extra={"step": step.key, "owner": step.owner, "first_owner": record["owner"]["S"]},
        )
        return _result(record)

    def _committed(self, step: Step, result: Mapping[str, Any]) -> Action:
        record = self._new_record(step, COMMITTED, result)
        record["Item"]["expires_at"] = {"N": str(self._expires_at(step))}
        return {"Put": {**record, "ConditionExpression": "attribute_not_exists(pk)"}}

    def _tombstone(self, step: Step, result: Mapping[str, Any]) -> Action:
        """Build the tombstone.

        It has no expiry, because no row bars a T that never happened: only the tombstone does.
        """
        return {
            "Put": {
                **self._new_record(step, COMPENSATED, result),
                "ConditionExpression": _NEVER_HAPPENED,
                "ExpressionAttributeNames": {"#pk": "pk", "#status": "status", "#result": "result"},
                "ExpressionAttributeValues": {":compensating": {"S": COMPENSATING}},
            }
        }

    def _new_record(self, step: Step, status: str, result: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "TableName": self._table,
            "Item": {
                "pk": {"S": step.key},
                "status": {"S": status},
                "result": {"S": as_stored(result)[0]},
                **to_item(step.payload_hash.attributes),
                "owner": {"S": step.owner},
                "created_at": {"S": step.at.isoformat()},
                "updated_at": {"S": step.at.isoformat()},
            },
        }

    def _compensated(self, step: Step, result: Mapping[str, Any]) -> Action:
        return {
            "Update": conditional_update(
                self._table,
                step.key,
                condition=_HAPPENED,
                assign={
                    "status": COMPENSATED,
                    "result": as_stored(result)[0],
                    "owner": step.owner,
                    "updated_at": step.at.isoformat(),
                    "expires_at": self._expires_at(step),
                },
                values=_known(step),
            )
        }

    def _expires_at(self, step: Step) -> int:
        return int((step.at + self._lifetime).timestamp())


def _key(saga_id: str, name: str) -> str:
    """Build a record's key. Raises InvalidKey for a # in either part, because two steps could then share a key."""
    if "#" in saga_id or "#" in name:
        raise InvalidKey(f"{'saga_id' if '#' in saga_id else 'name'}: must not contain '#', which separates the two")
    return f"{saga_id}#{name}"


def _known(step: Step) -> dict[str, str]:
    """Values in the conditions on a record."""
    payload = step.payload_hash
    return {
        "committed": COMMITTED,
        "compensating": COMPENSATING,
        "spelled": payload.spelled,
        "exact": payload.exact,
    }


def _old_record(cancelled: Cancellation) -> Mapping[str, Any] | None:
    refusal = cancelled.refusals.get(0)
    return refusal.item if refusal else None


def _bars_what_never_happened(record: Mapping[str, Any]) -> bool:
    return record["status"]["S"] == COMPENSATING and "result" not in record


def _result(record: Mapping[str, Any]) -> Mapping[str, Any]:
    result: Mapping[str, Any] = read_json(record["result"]["S"])
    return result


def _require_same_payload(step: Step, record: Mapping[str, Any]) -> None:
    if not step.payload_hash.matches(record):
        raise PayloadMismatch(f"{step.key} is recorded with a different payload; use a new saga_id for a new request")
