"""Waiting versions and their waiting times, and dead versions."""

from typing import TYPE_CHECKING

from tests.faults.commands.invariants import ALARM, DEAD, LISTED, SKIPPED, THROTTLED, WAITS
from tests.faults.commands.ledger import Ledger

if TYPE_CHECKING:
    from tests.faults.commands.run import Run

_AT_ONCE, _SWEPT, _SWEEP = 5.0, 310.0, 300.0


class Waits(Ledger):
    """Judges how long versions wait for their turn, and how long dead ones take to be listed."""

    def __init__(self, run: "Run", number: int) -> None:
        super().__init__(run, number)
        self._blocked_at: dict[int, float] = {}
        self.turned = 0.0
        self._ready: dict[int, float] = {}
        self._dead: set[int] = set()
        self._ended_at: dict[int, float] = {}

    def check_dead(self) -> None:
        for version in self.dead - self._dead:
            attempt = int(self.command(version)["attempt"]["N"])
            execution = self.run.engine.execution(self.name(version, attempt))
            # The end of a version is final: what a redrive continues is refused.
            redriven = execution and execution["executionArn"] in self.run.redriven
            if execution is None or execution["status"] in ({"SUCCEEDED"} if redriven else {"RUNNING", "SUCCEEDED"}):
                self.broken(DEAD, f"version {version} is dead, its attempt {attempt} is not")
            if version == self.finished + 1:
                self._in_time(LISTED, version, max(self._ended_at.get(version, 0), self.turned))
            self._ready.pop(version, None)
            self.run.when_dead(self)
        self._dead = self.dead
        if self.run.skips:
            self._check_skipped()

    def _check_skipped(self) -> None:
        """Check that a dead version is skipped at its turn, unless an operator is faster."""
        turn = self.finished + 1
        for version in [one for one in self._blocked_at if one != turn or not self.blocked]:
            self._in_time(SKIPPED, version, self._blocked_at.pop(version))
        if self.blocked:
            self._blocked_at.setdefault(turn, self.run.simulation.now)

    def note_turn(self) -> None:
        turn = self.finished + 1
        for version in [one for one in self._ready if one < turn]:
            # Finished or skipped: an attempt may have died along the way.
            del self._ready[version]
        if turn <= self.newest and turn not in self.dead and turn not in self._ready:
            self._ready[turn] = self.run.simulation.now

    def entered(self, state: str, version: int) -> None:
        """Note that an execution enters a state."""
        if state == "check_version":
            self.starts.append(version)
        if state == "set_ttl_command" and version in self._ready:
            self._in_time(WAITS, version, self._ready[version])
            self._ready[version] = float("inf")

    def ended(self, version: int, attempt: int, status: str, error: str) -> None:
        """Note that an execution has ended."""
        told = any(self.name(version, attempt) in notice for notice in self.run.notices)
        # No Catch sees States.Runtime; an alarm on the executions does.
        if status == "FAILED" and error != "States.Runtime" and told == (error == "StaleCommand"):
            self.broken(ALARM, f"version {version}, attempt {attempt}: {error}, told: {told}")
        if error == "Lambda.TooManyRequestsException":
            self.broken(THROTTLED, f"version {version}, attempt {attempt}")
        own = int(self.command(version)["attempt"]["N"]) == attempt
        if own and status != "SUCCEEDED" and version > self.finished:
            self._ended_at[version] = self.run.simulation.now

    def _in_time(self, invariant: str, version: int, since: float) -> None:
        run = self.run
        most = self.excess + (_SWEPT + _SWEEP * run.sweep_faults if self.disturbed else _AT_ONCE)
        waited = run.simulation.now - since
        if waited > most:
            self.broken(invariant, f"version {version}: {waited:.1f} s, at most {most:.1f} s")
