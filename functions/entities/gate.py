"""The gate of a key: the moves of a command, each one transaction.

| move       | transaction                                                                                         |
| ---------- | --------------------------------------------------------------------------------------------------- |
| publish(n) | put command n if none; gate.published n-1 -> n (no gate: n = 1): in `entities.publish`              |
| park(n)    | command n: add the token; gate.finished < n-1                                                       |
| finish(n)  | gate.finished n-1 -> n, dead without n; data; history of the replaced row; command n: finished      |
| ended(n)   | command n, if it is its attempt: <state>:FAILED; gate: dead with n if finished < n                  |
| retry(n)   | gate: dead without n, if n is in it and finished < n; command n: attempt + 1                        |
| renew(n)   | command n: attempt + 1, if finished = n-1 and n is not in dead                                       |
| skip(n)    | gate.finished n-1 -> n, dead without n, if n is in it; command n: skipped                           |

`finished` only grows, so once a read shows that a turn has come, that stays true until the version has ended. Reads
decide what is tried; only conditions decide what is written.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from idempotency import Contention, StateConflict
from idempotency.codec import Item
from idempotency.dynamodb import Action, Cancellation, RowClient, row, update
from runtime.backoff import until_decided, written

from .command import Attempt, Decision, Key
from .errors import NotBlocked, StaleCommand
from .lagging import GATE, Consistency, Lagging
from .state import CommandRow, Gate, State
from .tables import Rows, States, Tables

# A round is lost if a newer version was published.
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Gates:
    """Moves gates. client: a `boto3.client("dynamodb")`."""

    client: RowClient
    tables: Tables

    @property
    def states(self) -> States:
        return States(self.client, self.tables)

    @property
    def rows(self) -> Rows:
        return Rows(self.tables)

    def write(self, actions: Sequence[Action]) -> Cancellation | None:
        """Write one transaction; repeat it while it conflicts with others. Raises Contention, StoreUnavailable."""
        return written(self.client, actions)

    def park(self, attempt: Attempt, token: str, at: datetime) -> bool:
        """Keep the token of a version that must wait. False if it need not wait; nothing is written then.

        Raises StaleCommand if the attempt is not the command's current one.
        """
        # The token is stored and the gate is checked in one transaction. A later move of the gate finds the token.
        actions = [self.rows.parked(attempt, token, at.isoformat()), self.rows.too_early(attempt)]
        cancelled = self.write(actions)
        if cancelled and 0 in cancelled.refusals:
            raise StaleCommand(f"{attempt}: not this execution's command")
        return cancelled is None

    def note(self, state: State, status: str, also: Mapping[str, object], at: datetime) -> None:
        """Set the status of a command, and other attributes. Raises StaleCommand if the status has changed since."""
        parameters = self.rows.noted(state, status, also, at.isoformat())
        outcome = until_decided(lambda: update(self.client, parameters))
        # An update has no client token: the SDK's retry, or a duplicate call, finds what the first one wrote.
        if not outcome.applied and not (outcome.old and _is_noted(CommandRow(outcome.old), state, status)):
            raise StaleCommand(f"{state.attempt}: not this execution's command")

    def finish(self, state: State, at: datetime) -> None:
        """Finish the attempt, whose state was read with its data. A late call of an older attempt counts.

        Raises StaleCommand, StateConflict.
        """
        lifetime_days = state.command.lifetime_days
        if lifetime_days is None:
            raise StaleCommand(f"{state.attempt}: set_ttl_command has not run")
        change, now = state.change, at.isoformat()
        writes = [
            self.rows.finished(state.attempt, at, lifetime_days),
            self.rows.data(change, now),
            *self.rows.history(change),
        ]
        self._pass(state.gate, writes, at)

    def ended(self, attempt: Attempt, error: Mapping[str, str], at: datetime) -> bool:
        """Mark the version as dead whose attempt ended without finishing. False if there is nothing to do.

        error: type and message, unless a state has noted a final one.
        """
        state = self.states.state(attempt)
        if state is None or not state.is_own or state.gate.finished >= attempt.version:
            return False
        if attempt.version in state.gate.dead:
            return False
        now = at.isoformat()
        failed = self.rows.ended(state, now, {} if state.command.has_failed else {"error": error})
        return self.write([failed, self.rows.died(attempt, now)]) is None

    def retry(self, key: Key, by: str, reason: str, at: datetime) -> Iterator[Attempt]:
        """Make a new attempt of every dead version, in order. Start each one before requesting the next.

        Raises NotBlocked if there is none; StateConflict if the gate is older than the key's rows, which is then
        listed.
        """
        gate = self._known(key)
        decision = Decision("retry", by, reason, at.isoformat())
        retried = 0
        for version in sorted(gate.dead):
            attempt = self._newest(key, version, at)
            actions = [self.rows.revived(attempt, decision.at), self.rows.again(attempt, decision)]
            cancelled = self.write(actions)
            if cancelled is None:
                retried += 1
                yield Attempt(key, version, attempt.number + 1)
            elif 0 not in cancelled.refusals and _is_over(cancelled.refusals[1].item):
                raise self.conflict(key, f"version {version} has ended, and the gate does not know it", at)
        if not retried:
            raise NotBlocked(f"{key.sk}: no version has ended without finishing")

    def renew(self, attempt: Attempt, decision: Decision) -> Attempt | None:
        """Start a new attempt of the current version; None if a newer attempt exists or the version has ended."""
        actions = [self.rows.still_undecided(attempt, decision.at), self.rows.again(attempt, decision)]
        if self.write(actions) is not None:
            return None
        return Attempt(attempt.key, attempt.version, attempt.number + 1)

    def skip(
        self, key: Key, by: str, reason: str, at: datetime, lifetime: Callable[[str], int], version: int | None = None
    ) -> int:
        """Skip the dead version whose turn it is. Returns it.

        lifetime: days by type. version: the one that is meant, so that a repeated call does not skip the next one.
        Raises NotBlocked; StateConflict, as `retry`.
        """
        gate = self._known(key)
        if not gate.blocked or gate.turn != (version or gate.turn):
            raise NotBlocked(f"{key.sk}: the version whose turn it is has not ended, or is another one")
        attempt = self._newest(key, gate.turn, at)
        decision = Decision("skip", by, reason, at.isoformat())
        try:
            self._pass(gate, [self.rows.skipped(attempt, at, lifetime(gate.type), decision)], at, skip=True)
        except StaleCommand:
            raise NotBlocked(f"{key.sk}: the version whose turn it was is not dead any more") from None
        return gate.turn

    def _pass(self, gate: Gate, writes: Sequence[Action], at: datetime, *, skip: bool = False) -> None:
        """Move `finished` together with these writes.

        skip: as for `Rows.passed`. Raises StaleCommand if the gate has moved, StateConflict.
        """
        turn = gate.turn
        for _ in range(_ROUNDS):
            actions = [self.rows.passed(gate, at.isoformat(), skip=skip), *writes]
            cancelled = self.write(actions)
            if cancelled is None:
                return
            if 0 not in cancelled.refusals:
                refused = ", ".join(row(actions[index]) for index in sorted(cancelled.refusals))
                raise self.conflict(gate.key, f"version {turn} does not find the expected state: {refused}", at)
            # A newer version was published since the gate was read, or the turn is over.
            item = cancelled.refusals[0].item
            if item is None or (gate := Gate.of(item)).turn != turn or (skip and not gate.blocked):
                raise StaleCommand(f"{gate.key.sk}@{turn}: it is not its turn")
            if gate.published < turn:
                raise self.conflict(gate.key, f"version {turn} has a row, and the gate does not know it", at)
        raise Contention(f"{gate.key.sk} is being published by other calls")

    def check(self, key: Key, at: datetime) -> None:
        """Raise StateConflict if the gate is older than the key's rows; the key is then listed."""
        if problem := Consistency(self.client, self.tables).problem(key):
            raise self.conflict(key, problem, at)

    def conflict(self, key: Key, problem: str, at: datetime) -> StateConflict:
        """List the key, whose gate is older than its rows, as after a restore of GatesTable alone. Returns the error.

        Raises Contention, StoreUnavailable.
        """
        Lagging(self.client, self.tables.gates).mark(key, GATE, at)
        return StateConflict(f"{key.sk}: {problem}; repeating the call does not help (see commands rebuild gate)")

    def _known(self, key: Key) -> Gate:
        gate = self.states.gate(key)
        if gate is None:
            raise NotBlocked(f"{key.sk}: nothing was published")
        return gate

    def _newest(self, key: Key, version: int, at: datetime) -> Attempt:
        command = self.states.command(key, version)
        if command is None:
            raise self.conflict(key, f"version {version} is dead and has no row", at)
        return Attempt(key, version, command.attempt)


def _is_over(command: Item | None) -> bool:
    return command is None or CommandRow(command).has_ended


def _is_noted(row: CommandRow, state: State, status: str) -> bool:
    return (row.attempt, row.status) == (state.attempt.number, status)
