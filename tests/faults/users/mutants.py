"""Deliberately broken variants of user imports: the explorer must see each one fail."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from ministack.services import stepfunctions

import runtime.objects
import user_import.connect
import user_import.creation
import user_import.files
import user_import.imports
import user_import.instances
import user_import.uploads
from idempotency import Happened
from tests.faults import faults as f
from tests.faults.actors import schedule as s
from tests.faults.actors.mutant import THROTTLED, Mutants, with_tries
from tests.faults.mutant import replaced
from tests.faults.users import invariants as breaks
from tests.faults.users import play
from tests.faults.users import schedule as u
from user_import import results
from user_import.bucket import Bucket
from user_import.creation import Creation, LeaseStore, _Row
from user_import.errors import UserExists, UsernameRepeated
from user_import.files import Files
from user_import.imports import Imports
from user_import.instances import Instances
from user_import.requests import RowTask

MUTANTS = mutant = Mutants()

_CREATE, _LOOKUP = r"^UserCreate@\d\.\d#1\.call3$", r"^UserCreate@\d\.\d#1\.call4$"
_REGISTER = r"^RegisterResult@\d#1\.call\d$"
_LOST = ((_CREATE, (f.DIES_AFTER, u.FAILS_AFTER)),)
_MAP_FAILED = ((r"^CreateUsers@", (u.MAP_FAILS,)),)


@contextmanager
def _edited(state: str, **fields: Any) -> Iterator[None]:
    """Deploy a changed definition of a state."""
    engine = play.engine()
    machine = stepfunctions._state_machines[engine.stack.arn(engine.MACHINE)]
    before, definition = machine["definition"], json.loads(machine["definition"])
    definition["States"][state].update(fields)
    machine["definition"] = json.dumps(definition)
    try:
        yield
    finally:
        machine["definition"] = before


def _put(self: Any, key: str, rows: Any, note: Any) -> Any:
    return self.bucket.put(key, results.write(rows), note)


# Results.


@mutant(
    "a put that the SDK repeats, taken for a newer import's", breaks.OWN, focus=((_REGISTER, (f.ANSWER_LOST_ONCE,)),)
)
def _elsewhere() -> AbstractContextManager[None]:
    """The result goes to another key."""
    return replaced(user_import.files, "_ROUNDS", 1)


@mutant("a passing refusal, taken for a defect", breaks.DEFECT, focus=((_REGISTER, (u.CONFLICTING,)),))
def _not_retried() -> AbstractContextManager[None]:
    """A temporary refusal fails the import, as NoSuchUpload once did."""
    return replaced(runtime.objects, "_TRANSIENT", frozenset())


@mutant("a first result that overwrites whatever is there", breaks.NEWEST, breaks.FINAL)
def _overwrites_first() -> AbstractContextManager[None]:
    """The key then belongs to the import that announced last, not to the newest one."""
    return replaced(Files, "announce", _put)


@mutant("a result that overwrites whatever is there", breaks.NEWEST)
def _overwrites() -> AbstractContextManager[None]:
    return replaced(Files, "register", _put)


@mutant("a first result after the last", breaks.FINAL, focus=((r"^ResultCsvFileCreate@\d#1$", (f.AGAIN,)),))
def _takes_back() -> AbstractContextManager[None]:
    return replaced(Files, "announce", lambda *given: Files._write(*given, final=True))


@mutant("a result of known outcomes only", breaks.COMPLETE)
def _incomplete() -> AbstractContextManager[None]:
    merged = user_import.imports.merged

    def known(*given: Any) -> list[Any]:
        return [one for one in merged(*given) if "NotRegistered" not in one.error_message]

    return replaced(user_import.imports, "merged", known)


@mutant("no result before the first user", breaks.ANNOUNCED)
def _unannounced() -> AbstractContextManager[None]:
    return replaced(Imports, "announce", lambda *_: {"key": "", "version_id": ""})


@mutant("success without outcomes", breaks.STATUS, focus=_MAP_FAILED)
def _green() -> AbstractContextManager[None]:
    return _edited("sns:NotifyImportResult", Next="ImportSucceeded")


# Users.


@mutant("a lost answer that nobody looks up", breaks.CODE, breaks.HARMLESS, focus=_LOST)
def _not_looked_up() -> AbstractContextManager[None]:
    def create(self: Any) -> Any:
        tags = {user_import.creation.ROW_TAG: f"{self.fingerprint}.{self.version}"}
        return self.connect.create_user(self.instance_id, self.user, self.profiles, tags)

    never = replaced(_Row, "_found", lambda _: None)
    return _both(never, replaced(_Row, "create", create))


@mutant("an outcome that is not asked of Connect", breaks.TRUE, focus=_LOST)
def _made_up() -> AbstractContextManager[None]:
    """The previous attempt is assumed to have succeeded."""
    return replaced(_Row, "resolve", lambda _: Happened(":unknown"))


@mutant(
    "a row without its lease",
    breaks.SAME,
    focus=(
        (r"^UserCreate@\d\.\d#1$", (f.AGAIN, f.ERROR_AFTER, f.TIMED_OUT_AFTER)),
        (r"^(UserCreate@\d\.\d#2|RegisterResult@\d#1)\.call1$", (u.DELETED_AT,)),
    ),
)
def _unleased() -> AbstractContextManager[None]:
    """A person deletes its user, and a repeated call creates another one."""
    return replaced(LeaseStore, "run", lambda *given, **_: given[4](None))


@mutant(
    "a lease that forgets its outcome",
    breaks.ONCE,
    focus=(
        (r"^UserCreate@\d\.\d#1$", (f.TIMED_OUT_AFTER,)),
        (r"^UserCreate@\d\.\d#2\.call1$", (u.DELETED_AT,)),
    ),
)
def _forgets() -> AbstractContextManager[None]:
    run = LeaseStore.run

    def again(self: Any, work: Any, key: str, payload: Any, function: Any, **more: Any) -> Any:
        run(self, work, key, payload, function, **more)
        return function(None)

    return replaced(LeaseStore, "run", again)


@mutant(
    "a person's user, taken for the row's", breaks.TRUE, focus=((r"^UserCreate@\d\.\d#1\.call[12]$", (u.PERSON_AT,)),)
)
def _taken() -> AbstractContextManager[None]:
    return replaced(_Row, "_own", lambda _, found: f":{found.id}")


@mutant("a user that only its own version finds", breaks.CODE)
def _of_version() -> AbstractContextManager[None]:
    """A later import starts from row 1, and reports all rows as failed."""
    own = _Row._own

    def strict(self: Any, found: Any) -> str:
        if own(self, found) != found.id:
            raise UserExists
        return str(found.id)

    return replaced(_Row, "_own", strict)


@mutant("a password that is said to be set", breaks.TRUE)
def _silent() -> AbstractContextManager[None]:
    return replaced(user_import.creation, "_version", lambda _: "v")


@mutant("a refused lookup that hides a lost answer", breaks.HARMLESS, focus=(*_LOST, (_LOOKUP, (u.DENIED, u.MISSING))))
def _hidden() -> AbstractContextManager[None]:
    return replaced(_Row, "_found_after", lambda self, _: self._found())


@mutant("rows of the newest file", breaks.ASKED, breaks.CODE, breaks.COMPLETE, breaks.TRUE)
def _unpinned() -> AbstractContextManager[None]:
    get = Bucket._get
    return replaced(Bucket, "_get", lambda self, source, **more: get(self, self.source(source.key), **more))


@mutant("a validation that creates", breaks.ASKED)
def _creates() -> AbstractContextManager[None]:
    run = Creation.run

    def create(self: Any, task: Any, deadline: Any) -> Any:
        return run(self, replace(task, validate_only=False), deadline)

    return replaced(Creation, "run", create)


@mutant("an instance for each import", breaks.INSTANCE)
def _another_instance() -> AbstractContextManager[None]:
    ensure = Instances.ensure

    def another(self: Any, import_id: str, deleted: Any = ()) -> str:
        return ensure(replace(self, alias=f"alias-{import_id[-20:]}"), import_id, deleted)

    return replaced(Instances, "ensure", another)


@mutant(
    "an import that looks for its file again at the end",
    breaks.REFUSED,
    focus=((r"^UserCreate@\d\.\d#1\.call3$", (u.REMOVED_AT,)),),
)
def _looks_again() -> AbstractContextManager[None]:
    register = Imports.register

    def looking(self: Any, call: Any) -> Any:
        self.files.bucket.source(call.plan.source.key)
        return register(self, call)

    return replaced(Imports, "register", looking)


# Starts, ends and secrets.


@mutant("an import for each event", breaks.STARTED, focus=((r"^event@", (s.EVENT_THRICE,)),))
def _each_event() -> AbstractContextManager[None]:
    numbers = iter(range(10**6))
    return replaced(user_import.uploads, "execution_name", lambda *_: f"upload-{next(numbers)}")


@mutant("an import that waits forever for its instance", breaks.ENDS)
def _waits() -> AbstractContextManager[None]:
    return replaced(Instances, "ready", lambda *_: None)


@mutant("a silent failure", breaks.TOLD, focus=((r"^CountCsvFiles@\d#1$", (f.ERROR_BEFORE,)),))
def _silent_failure() -> AbstractContextManager[None]:
    catch = [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "ImportFailed"}]
    return _edited("CountCsvFiles", Catch=catch)


@mutant("a name in an error", breaks.SECRET)
def _named() -> AbstractContextManager[None]:
    read = Creation._user

    def named(self: Any, task: RowTask) -> Any:
        user = read(self, replace(task, pointer=replace(task.pointer, repeats=0)))
        if task.pointer.repeats:
            raise UsernameRepeated(user.username)
        return user

    return replaced(Creation, "_user", named)


@mutant("Connect's message in an error", breaks.SECRET, focus=((_CREATE, (u.DENIED,)),))
def _messages() -> AbstractContextManager[None]:
    play.engine()
    meant = user_import.connect._meant
    told = replaced(user_import.connect, "_meant", lambda error: type(meant(error))(str(error)))
    return _both(told, replaced(user_import.handlers.connect_client(), "hooks", ()))


@contextmanager
def _both(first: AbstractContextManager[None], second: AbstractContextManager[None]) -> Iterator[None]:
    with first, second:
        yield


@mutant("a throttled row that gives up within two minutes", breaks.DEFECT, breaks.CODE, focus=THROTTLED)
def _impatient() -> AbstractContextManager[None]:
    """Let a row give up after two minutes."""
    return with_tries(7)
