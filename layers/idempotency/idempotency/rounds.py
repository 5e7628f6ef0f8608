"""Steps that may be refused, and tried again in a later round.

| call     | record found                    | what happens                                                     |
| -------- | ------------------------------- | ---------------------------------------------------------------- |
| commit   | none, or REFUSED in an older    | record COMMITTED and business writes, atomically                 |
|          | round                           |                                                                  |
| refuse   | the same                        | record REFUSED and business writes, atomically                   |
| either   | COMMITTED, or REFUSED in this   | nothing is written; the record is returned, and it alone decides |
|          | round or a newer one            |                                                                  |

COMMITTED is final. Rounds of one step must not overlap: start the next round after the previous one has ended.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from .dynamodb import Action, StepClient, state_conflict, transact
from .expressions import conditional_put
from .payloads import read_json
from .results import as_stored, finished
from .steps import COMMITTED, Step

REFUSED = "REFUSED"
_OPEN = "attribute_not_exists(#pk) OR (#status = :refused AND #round < :round)"


@dataclass(frozen=True, slots=True)
class Decided:
    """Content of a record. round: the round that wrote it. result: the committed or refused result."""

    committed: bool
    round: int
    result: Mapping[str, Any]

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> "Decided":
        """Read a record from DynamoDB JSON."""
        return cls(item["status"]["S"] == COMMITTED, int(item["round"]["N"]), read_json(item["result"]["S"]))

    def is_final(self, number: int) -> bool:
        """True if the record decides the round with this number."""
        return self.committed or self.round >= number


@dataclass(frozen=True, slots=True)
class RoundStore:
    """Records of such steps, in the table of step records. lifetime: how long a record outlives its last write."""

    client: StepClient
    table: str
    lifetime: timedelta = timedelta(days=90)

    def commit(self, step: Step, number: int, writes: Sequence[Action], result: Mapping[str, Any]) -> Decided:
        """Commit the step with its business writes, or return the existing decision. One DynamoDB call.

        number: the round's number, from 1.
        Raises StateConflict (the condition of a write failed), Contention, StoreUnavailable.
        """
        return self._write(step, Decided(True, number, as_stored(finished(result))[1]), writes)

    def refuse(self, step: Step, number: int, writes: Sequence[Action], result: Mapping[str, Any]) -> Decided:
        """Refuse the step in this round, or return the existing decision. One DynamoDB call. Raises as `commit`."""
        return self._write(step, Decided(False, number, as_stored(finished(result))[1]), writes)

    def _write(self, step: Step, decided: Decided, writes: Sequence[Action]) -> Decided:
        cancelled = transact(self.client, [{"Put": self._record(step, decided)}, *writes])
        if cancelled is None:
            return decided
        if 0 not in cancelled.refusals:
            raise state_conflict(step.key, writes, cancelled)
        # A condition of this kind fails only if there is an item.
        return Decided.of(cancelled.refusals[0].item or {})

    def _record(self, step: Step, decided: Decided) -> Mapping[str, Any]:
        item = {
            "pk": step.key,
            "status": COMMITTED if decided.committed else REFUSED,
            "round": decided.round,
            "result": as_stored(decided.result)[0],
            **step.payload_hash.attributes,
            "owner": step.owner,
            "created_at": step.at.isoformat(),
            "updated_at": step.at.isoformat(),
            "expires_at": int((step.at + self.lifetime).timestamp()),
        }
        return conditional_put(self.table, item, _OPEN, {"refused": REFUSED, "round": decided.round})
