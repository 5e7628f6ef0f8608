"""All access to the tables of keys: reads, and writes, each with its condition.

entities.gate combines the writes into transactions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from idempotency.codec import Item, to_item, to_value
from idempotency.dynamodb import Action, LeaseClient, read_rows
from idempotency.expressions import condition_check, conditional_put, conditional_update
from runtime.table import NEW, Table

from .command import Attempt, Command, Decision, Key
from .document import Change
from .errors import StaleCommand
from .state import FINISHED, PENDING_SINCE, SKIPPED, STARTED, CommandRow, Gate, State

# An ended row never changes again.
_OPEN = "attribute_exists(#pk) AND NOT #status IN (:done, :skipped)"
_OWN = f"#attempt = :attempt AND {_OPEN}"
_ENDED = {"done": FINISHED, "skipped": SKIPPED}


@dataclass(frozen=True, slots=True)
class Tables:
    """Physical names of the tables; empty for a table that a function does not use."""

    commands: str
    gates: str
    data: str = ""
    history: str = ""


@dataclass(frozen=True, slots=True)
class States:
    """Reads rows, consistently."""

    client: LeaseClient
    tables: Tables

    def gate(self, key: Key) -> Gate | None:
        """Read the gate of a key; None if nothing was published."""
        (item,) = read_rows(self.client, [self.gate_row(key)])
        return Gate.of(item) if item else None

    def listed(self, index: str) -> Iterator[Gate]:
        """Yield the gates in a sparse index, which may be late."""
        return map(Gate.of, Table(self.client, self.tables.gates).read_index(index))

    def state(self, attempt: Attempt, *, data: bool = False) -> State | None:
        """Read gate and command, and the data row if wanted, in one call.

        None without a gate, or without the command.
        """
        wanted = [self.gate_row(attempt.key), self.command_row(attempt.key, attempt.version)]
        gate, row, *more = read_rows(self.client, [*wanted, *([(self.tables.data, attempt.key.row)] if data else [])])
        command = CommandRow(row) if row else None
        if command and (command.has_ended or command.has_failed):
            # A batch read is not a snapshot: the gate may have been read before this end moved it.
            (gate,) = read_rows(self.client, wanted[:1])
        if gate is None or command is None:
            return None
        return State(attempt, Gate.of(gate), command, more[0] if more else None)

    def at_turn(self, attempt: Attempt, *, data: bool = False) -> State:
        """Like `state`. Raises StaleCommand unless the attempt may run.

        Once a turn has come, it lasts until the version has finished or was skipped: `finished` only grows.
        """
        state = self.state(attempt, data=data)
        if state is None or not state.may_run:
            raise StaleCommand(f"{attempt}: it is not its turn, or not this execution's command")
        return state

    def command(self, key: Key, version: int) -> CommandRow | None:
        """Read the row of a version."""
        (item,) = read_rows(self.client, [self.command_row(key, version)])
        return CommandRow(item) if item else None

    def gate_row(self, key: Key) -> tuple[str, Mapping[str, str]]:
        return self.tables.gates, key.row

    def command_row(self, key: Key, version: int) -> tuple[str, Mapping[str, str]]:
        return self.tables.commands, key.at(version)


@dataclass(frozen=True, slots=True)
class Rows:
    """Builds parameters of conditional writes."""

    tables: Tables

    # Gate

    def published(self, command: Command, version: int, at: str, seen_type: str) -> Action:
        """Move published n-1 -> n; the first version creates the gate. seen_type: the gate's type until then."""
        values = {"published": version, "updated_at": at}
        if version == 1:
            new = {**values, "finished": 0, "type": command.type, PENDING_SINCE: at}
            return self._gate(command.key, NEW, assign=new)
        pending = {PENDING_SINCE: f"if_not_exists(#{PENDING_SINCE}, :updated_at)"}
        previous = {"previous": version - 1, "seen_type": seen_type}
        condition = "#published = :previous AND #type = :seen_type"
        values |= {"type": command.type}
        return self._gate(command.key, condition, assign=values, computed=pending, values=previous)

    def published_finished(self, command: Command, version: int, at: str, seen_type: str) -> Action:
        """Move published and finished n-1 -> n, at once. seen_type: as for `published`."""
        values = {"published": version, "finished": version, "data_version": version, "updated_at": at}
        values |= {"type": command.type}
        if version == 1:
            return self._gate(command.key, NEW, assign=values)
        condition = "#published = :previous AND #finished = :previous AND #type = :seen_type"
        return self._gate(
            command.key, condition, assign=values, values={"previous": version - 1, "seen_type": seen_type}
        )

    def passed(self, gate: Gate, at: str, *, skip: bool = False) -> Action:
        """Move finished n-1 -> n, and remove n from dead. The key stays pending if it has newer versions.

        skip: n must be dead, and the data row does not change.
        """
        last = gate.turn == gate.published
        condition = "#finished = :previous AND " + ("#published = :finished" if last else "#published > :finished")
        return self._gate(
            gate.key,
            f"{condition} AND contains(#dead, :version)" if skip else condition,
            assign={"finished": gate.turn, "updated_at": at, **({} if skip else {"data_version": gate.turn})},
            remove=[PENDING_SINCE] if last else [],
            delete={"dead": "alone"},
            values={"previous": gate.finished, "version": gate.turn, "alone": frozenset({gate.turn})},
        )

    def died(self, attempt: Attempt, at: str) -> Action:
        """Add n to dead, if n has not finished."""
        return self._gate(
            attempt.key,
            "#finished < :version",
            assign={"updated_at": at},
            add={"dead": "alone"},
            values={"version": attempt.version, "alone": frozenset({attempt.version})},
        )

    def revived(self, attempt: Attempt, at: str) -> Action:
        """Remove n from dead, if n is dead and has not finished."""
        return self._gate(
            attempt.key,
            "#finished < :version AND contains(#dead, :version)",
            assign={"updated_at": at},
            delete={"dead": "alone"},
            values={"version": attempt.version, "alone": frozenset({attempt.version})},
        )

    def still_undecided(self, attempt: Attempt, at: str) -> Action:
        """Update the gate if it is the attempt's turn and version n is not dead."""
        return self._gate(
            attempt.key,
            "#finished = :previous AND NOT contains(#dead, :version)",
            assign={"updated_at": at},
            values={"previous": attempt.version - 1, "version": attempt.version},
        )

    def turn(self, attempt: Attempt) -> Action:
        """Check that it is the attempt's turn."""
        return self._check(attempt.key, "#finished = :previous", attempt.version - 1)

    @staticmethod
    def is_turn(client: LeaseClient, turn: Action) -> bool:
        """True if the condition of `turn` holds now, for a target that cannot check it in its write."""
        check = turn["ConditionCheck"]
        ((expected),) = check["ExpressionAttributeValues"].values()
        key = {name: value["S"] for name, value in check["Key"].items()}
        (gate,) = read_rows(client, [(check["TableName"], key)])
        return gate is not None and gate["finished"] == expected

    def too_early(self, attempt: Attempt) -> Action:
        """Check that an older version has not finished."""
        return self._check(attempt.key, "#finished < :previous", attempt.version - 1)

    # Command

    def command(self, command: Command, version: int, at: datetime) -> Action:
        """Insert a command that will run."""
        return self._new(self.command_item(command, version, STARTED, at))

    def finished_command(self, command: Command, version: int, at: datetime, lifetime_days: int) -> Action:
        """Insert a command that has run."""
        ended = {"lifetime_days": {"N": str(lifetime_days)}, "expires_at": {"N": str(_expiry(at, lifetime_days))}}
        return self._new({**self.command_item(command, version, FINISHED, at), **ended})

    def command_item(self, command: Command, version: int, status: str, at: datetime) -> Item:
        """Build the row of a command."""
        fields = {name: value for name, value in command.fields.items() if name not in ("attributes", "version")}
        state = {"version": version, "mode": command.mode, "attempt": 1, "status": status}
        times = {"created_at": at.isoformat(), "updated_at": at.isoformat()}
        known = {**fields, **state, **times, **command.payload(version).attributes, **command.key.at(version)}
        return {**to_item(known), "attributes": to_value(command.attributes, fractions=True)}

    def parked(self, attempt: Attempt, token: str, at: str) -> Action:
        """Keep a callback token. A late duplicate of the call may still run for an attempt that has ended."""
        return self._command(
            attempt,
            f"{_OWN} AND NOT contains(#status, :failed)",
            assign={"status": "wait_prev_command:STARTED", "updated_at": at},
            add={"tokens": "token"},
            values={"attempt": attempt.number, "token": frozenset({token}), "failed": ":FAILED", **_ENDED},
        )

    def noted(self, state: State, status: str, also: Mapping[str, Any], at: str) -> Mapping[str, Any]:
        """Set the status of a command, if it is unchanged since it was read.

        Returns the parameters of an UpdateItem.
        """
        assign = {"status": status, "updated_at": at, **also}
        seen = {"seen": state.command.status, "seen_at": state.command.updated_at}
        # The end of the execution may write the same status again: then only the time differs.
        condition = f"{_OWN} AND #status = :seen AND #updated_at = :seen_at"
        values = {"attempt": state.attempt.number, **seen, **_ENDED}
        return self._command(state.attempt, condition, assign=assign, values=values)["Update"]

    def ended(self, state: State, at: str, also: Mapping[str, Any]) -> Action:
        """Mark the attempt as ended without finishing, if it is still the newest."""
        assign = {"status": f"{state.command.state}:FAILED", "updated_at": at, **also}
        return self._command(state.attempt, _OWN, assign=assign, values={"attempt": state.attempt.number, **_ENDED})

    def again(self, attempt: Attempt, decision: Decision) -> Action:
        """Make the next attempt of the command. The tokens of the current one become dead."""
        return self._command(
            attempt,
            f"#attempt = :seen AND {_OPEN}",
            assign={"attempt": attempt.number + 1, "status": STARTED, "updated_at": decision.at},
            remove=["tokens", "error"],
            values={"seen": attempt.number, **_ENDED},
            decision=decision,
        )

    def finished(self, attempt: Attempt, at: datetime, lifetime_days: int) -> Action:
        """Mark the command as finished, whichever attempt it was."""
        assign = {"status": FINISHED, "updated_at": at.isoformat(), "expires_at": _expiry(at, lifetime_days)}
        return self._command(attempt, _OPEN, assign=assign, remove=["tokens", "error"], values=_ENDED)

    def skipped(self, attempt: Attempt, at: datetime, lifetime_days: int, decision: Decision) -> Action:
        """Mark the command as skipped."""
        assign = {"status": SKIPPED, "updated_at": at.isoformat(), "expires_at": _expiry(at, lifetime_days)}
        return self._command(attempt, _OPEN, assign=assign, remove=["tokens"], values=_ENDED, decision=decision)

    # Data and history

    def data(self, change: Change, at: str) -> Action:
        """Replace the data row, if it is unchanged since it was read."""
        as_read = "#version = :replaced" if change.data else NEW
        put = conditional_put(self.tables.data, {}, as_read, {"replaced": change.replaced})
        return {"Put": {**put, "Item": change.row(at)}}

    def history(self, change: Change) -> list[Action]:
        """Copy the replaced row, if any, to the history, which may already have it if only the data was restored."""
        copy = change.copy()
        if copy is None:
            return []
        same = {"copied": copy["updated_at"]["S"]}
        put = conditional_put(self.tables.history, {}, f"{NEW} OR #updated_at = :copied", same)
        return [{"Put": {**put, "Item": copy}}]

    def _gate(self, key: Key, condition: str, **parts: Any) -> Action:
        return {"Update": conditional_update(self.tables.gates, key.row, condition=condition, **parts)}

    def _check(self, key: Key, condition: str, previous: int) -> Action:
        return {"ConditionCheck": condition_check(self.tables.gates, key.row, condition, {"previous": previous})}

    def _new(self, item: Item) -> Action:
        return {"Put": {**conditional_put(self.tables.commands, {}, NEW, {}), "Item": item}}

    def _command(
        self,
        attempt: Attempt,
        condition: str,
        *,
        values: Mapping[str, Any],
        decision: Decision | None = None,
        **parts: Any,
    ) -> Action:
        if decision:
            entry = {"move": decision.move, "by": decision.by, "reason": decision.reason, "at": decision.at}
            values = {**values, "none": [], "entry": [entry]}
            parts["computed"] = {"decisions": "list_append(if_not_exists(#decisions, :none), :entry)"}
        update = conditional_update(self.tables.commands, attempt.row, condition=condition, values=values, **parts)
        return {"Update": update}


def _expiry(at: datetime, lifetime_days: int) -> int:
    return int((at + timedelta(days=lifetime_days)).timestamp())
