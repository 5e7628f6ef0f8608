"""Broken variants of code for two keys, policies, lagging targets, rebuilds and expired rows."""

import dataclasses
import hashlib
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

from commands.recovery import Recovery, Turns
from entities import catalog
from entities.command import Attempt
from entities.document import document_of
from entities.gate import Gates
from entities.lagging import GATE, Lagging
from entities.rebuild import Rebuild
from entities.state import Gate
from entities.tables import Rows, States
from idempotency.dynamodb import read_rows
from runtime.streams import images
from stepwise.operations import gates
from tests.faults import faults as f
from tests.faults.commands import invariants as breaks
from tests.faults.commands import schedule as s
from tests.faults.commands.mutant import DEAD_FIRST, mutant
from tests.faults.mutant import replaced


@mutant("executions that two keys share", breaks.WAITS, breaks.DEAD, breaks.LISTED)
def _shared_names() -> AbstractContextManager[None]:
    """An execution's name lacks the sk, so the second key's start is taken for a duplicate."""

    def name(self: Any) -> str:
        return f"{hashlib.sha256(self.key.pk.encode()).hexdigest()[:40]}-{self.version}-{self.number}"

    return replaced(Attempt, "name", property(name))


@mutant(
    "a sweep that one key holds up",
    breaks.WAITS,
    focus=(DEAD_FIRST, (r"^record:StartCommands", (s.shared.RECORD_LOST,))),
)
def _sweep_of_one_key() -> AbstractContextManager[None]:
    """The sweep reviews only the key that has been pending longest."""
    listed = States.listed

    def oldest(self: Any, index: str) -> Any:
        return islice(sorted(listed(self, index), key=lambda gate: gate.pending_since), 1)

    return replaced(States, "listed", oldest)


@mutant(
    "a policy that misses a version that died before its turn",
    breaks.SKIPPED,
    # The first version is slow, so that the second one dies before its turn.
    focus=(
        (r"^(check_version|wait_prev_command)@b?[2-5]\.1", (s.shared.ABORTED_AT, f.ABORTED_AFTER)),
        (r"^(transform_data|history_copy)@b?1\.1#1\.call1$", (s.shared.SLOW,)),
    ),
)
def _skipped_at_death_only() -> AbstractContextManager[None]:
    """The policy applies when a version dies, but not when its turn comes."""
    followed = Turns.follow

    def follow(self: Any, record: Any, machine: Any, at: Any) -> None:
        before, after = (Gate.of(image) if image else None for image in images(record))
        if before and after and before.dead == after.dead and after.blocked:
            return
        followed(self, record, machine, at)

    return replaced(Turns, "follow", follow)


@mutant("a failing target that nobody lists", breaks.LAGS, focus=((r"^record:SyncTargets", (s.TARGET_FAILS,)),))
def _not_listed() -> AbstractContextManager[None]:
    """The target shows an older version than data, and no list has it."""
    return replaced(Lagging, "mark", lambda *_: None)


@mutant("a rebuild that replaces what still runs", breaks.BACK, focus=((r"^finish@\d\.1#1\.call", (s.REBUILD_AT,)),))
def _rebuild_unchecked() -> AbstractContextManager[None]:
    """The rebuild assumes that every newer version was skipped."""

    def run(self: Any, key: Any, _: str, target: Any, __: Any) -> int:
        item, row = read_rows(self.client, [(self.tables.gates, key.row), (self.tables.data, key.row)])
        if item and row:
            target.write(document_of(row), None, skipped=Gate.of(item).published)
        return 0

    return replaced(Rebuild, "run", run)


@mutant("an expired version that is published again", breaks.GATE, breaks.FINAL, focus=((r"^rest", (s.MONTHS_PASS,)),))
def _published_again() -> AbstractContextManager[None]:
    """Only the command's row shows that the version was published."""
    published = Rows.published

    def whenever(self: Any, *arguments: Any) -> Any:
        action: Any = published(self, *arguments)
        parameters = action["Update"]
        condition = parameters["ConditionExpression"]
        parameters["ConditionExpression"] = condition.replace("#published = :previous", "#published >= :previous")
        return action

    return replaced(Rows, "published", whenever)


@mutant(
    "a late wait that hides a failure",
    breaks.STATUS,
    focus=(
        DEAD_FIRST,
        (r"^wait_prev_command@2\.1#1$", (f.AGAIN,)),
        (r"^wait_prev_command@2\.1#1\.call1$", (s.shared.ABORTED_AT,)),
    ),
)
def _late_wait() -> AbstractContextManager[None]:
    """A duplicate of the call parks a dead version."""
    parked = Rows.parked

    def whenever(self: Any, attempt: Any, token: str, at: str) -> Any:
        action: Any = parked(self, attempt, token, at)
        parameters = action["Update"]
        condition, values = parameters["ConditionExpression"], parameters["ExpressionAttributeValues"]
        del values[":failed"]
        parameters["ConditionExpression"] = condition.replace(" AND NOT contains(#status, :failed)", "")
        return action

    return replaced(Rows, "parked", whenever)


@mutant(
    "a rebuilt object with the ETag of a version before",
    breaks.CURRENT,
    focus=(
        (r"^sync_data:catalog@2\.1#1\.call", (s.shared.HELD,)),
        (r"^sync_data:catalog@2\.1#?", (f.ABORTED_AFTER,)),
        (r"^(SkipCommand|WakeCommands).*\.call", (s.REBUILD_AT,)),
    ),
)
def _same_etag() -> AbstractContextManager[None]:
    """A late put of a skipped version succeeds, because its condition holds again."""
    return replaced(catalog, "_salt", lambda: b"")


_PUT_BACK = (r"^(PublishCommand|finish|transform_data|WakeCommands|SkipCommand).*\.call", (s.RESTORED_AT,))


@mutant("a gate that is put back, and told to be contention", breaks.RESTORED, focus=(_PUT_BACK,))
def _lasting_contention() -> AbstractContextManager[None]:
    """Every caller is told to try again, and no try succeeds."""
    return replaced(Gates, "check", lambda *_: None)


@mutant("a gate that is put back, and that nobody lists", breaks.RESTORED, focus=(_PUT_BACK,))
def _unlisted_gate() -> AbstractContextManager[None]:
    """Callers get the error, but no operator sees it."""
    mark = Lagging.mark

    def targets_alone(self: Any, key: Any, target: str, at: Any) -> None:
        if target != GATE:
            mark(self, key, target, at)

    return replaced(Lagging, "mark", targets_alone)


@mutant(
    "a sweep that passes over a version without a row",
    breaks.RESTORED,
    focus=((r"^(finish|WakeCommands).*\.call", (s.RESTORED_AT,)),),
)
def _expired_turn() -> AbstractContextManager[None]:
    """The row of the current version has expired, so nothing runs and nothing is listed."""
    review = Recovery._review

    def known_alone(self: Any, seen: Gate, at: Any) -> str:
        command = self.turns.gates.states.command(seen.key, seen.turn)
        return review(self, seen, at) if command else "moving"

    return replaced(Recovery, "_review", known_alone)


@mutant("a retry of a version that was skipped", breaks.FINAL, focus=(DEAD_FIRST, _PUT_BACK))
def _retried_after_its_end() -> AbstractContextManager[None]:
    """A gate from before the skip says that the version is dead."""
    again = Rows.again

    def whenever(self: Any, *arguments: Any) -> Any:
        action: Any = again(self, *arguments)
        parameters = action["Update"]
        parameters["ConditionExpression"] = "#attempt = :seen"
        for name in (":done", ":skipped"):
            del parameters["ExpressionAttributeValues"][name]
        return action

    return replaced(Rows, "again", whenever)


@mutant("a rebuilt gate that does not know what was skipped", breaks.RESTORED, focus=(DEAD_FIRST, _PUT_BACK))
def _skipped_is_forgotten() -> AbstractContextManager[None]:
    """The rebuilt gate has the version of the data, and the key waits for a version that has ended."""
    corrected = gates._corrected

    def by_data(states: Any, key: Any, seen: Any) -> Any:
        return corrected(states, key, dataclasses.replace(seen, ended={}))

    return replaced(gates, "_corrected", by_data)
