"""Applications for operators: submit, look up, follow. The same for the local stack and for AWS."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from accounts.definition import ACCOUNT_SETUP
from accounts.errors import InvalidApplication
from accounts.requests import SubmitRequest, parse_submit, setup_input
from accounts.state import DOCUMENT_VERSION, FLAGS
from idempotency import PayloadMismatch
from idempotency.saga.table import UNSETTLED

from . import recovery
from .errors import CommandError, StillRunning
from .executions import SUCCEEDED, Execution, find
from .functions import call
from .orders import ended, patiently
from .recovery import NothingToRecover
from .stack import Row, Stack

_ERRORS = {one.__name__: one for one in (InvalidApplication, PayloadMismatch)}
# Timeout for an account that is set up with all its retries.
_MAX_SECONDS = 9_600
_RECOVERY_SECONDS, _FINALIZED_SECONDS = 43_200, 10
"""Maximum duration of account-recovery."""


class ApplicationNotFound(CommandError):
    """The application does not exist."""


class DocumentChanged(CommandError):
    """Another call uploads the document of this application. This one has uploaded nothing."""


@dataclass(frozen=True, slots=True)
class Summary:
    """An application as operators see it, without the applicant.

    flags: why it is or was reviewed. reason: why it ended.
    document_version: version of the checked document; a reviewer reads this one, even if it was replaced since.
    """

    application_id: str
    status: str
    submitted_at: str
    updated_at: str
    flags: tuple[str, ...] = ()
    reason: str = ""
    standing: tuple[str, ...] = ()
    document_version: str = ""

    @classmethod
    def of(cls, row: Row) -> "Summary":
        names = ("application_id", "status", "updated_at")
        return cls(
            **{name: str(row[name]) for name in names},
            submitted_at=str(row.get("submitted_at", row["created_at"])),
            flags=tuple(sorted(row.get(FLAGS, ()))),
            reason=str(row.get("reason", "")),
            standing=tuple(sorted(row.get("standing", ()))),
            document_version=str(row.get(DOCUMENT_VERSION, "")),
        )

    @property
    def decided(self) -> bool:
        return self.status not in ACCOUNT_SETUP.undecided


def submit(stack: Stack, document: Any, file: Path | None = None) -> dict[str, str]:
    """Upload the document, if one is given, and submit the application. Returns SubmitApplication's result.

    The document of another application, or of one that is decided, is not replaced.
    Raises InvalidApplication before anything is uploaded, DocumentChanged, PayloadMismatch, FunctionFailed.
    """
    request = parse_submit(document)
    if file:
        _upload(stack, request, file)
    answer: dict[str, str] = call(stack, "SubmitApplication", document, _ERRORS)
    return answer


def _upload(stack: Stack, request: SubmitRequest, file: Path) -> None:
    s3, place = stack.client("s3"), {"Bucket": stack.outputs["DocumentsBucket"], "Key": request.document_key}
    # Before the row: another call that uploads and submits after it changes the object, and this one's put is refused.
    try:
        unchanged = {"IfMatch": s3.head_object(**place)["ETag"]}
    except ClientError as error:
        if error.response["Error"]["Code"] not in {"403", "404", "NoSuchKey"}:
            raise
        unchanged = {"IfNoneMatch": "*"}
    standing = stack.row("ApplicationsTable", application_id=request.application_id)
    if standing is not None and not _takes_document(standing, request):
        return
    try:
        s3.put_object(**place, Body=file.read_bytes(), **unchanged)
    except ClientError as error:
        if error.response["Error"]["Code"] not in {"ConditionalRequestConflict", "NoSuchKey", "PreconditionFailed"}:
            raise
        raise DocumentChanged("document: another call has uploaded it meanwhile; repeat the command") from None


def _takes_document(standing: Row, request: SubmitRequest) -> bool:
    return standing.get("payload_hash") == request.payload_hash and not Summary.of(standing).decided


def view(stack: Stack, application_id: str) -> Summary:
    """Read an application, consistently. Raises ApplicationNotFound."""
    return Summary.of(_row(stack, application_id))


def follow(stack: Stack, application_id: str, seconds: float = _MAX_SECONDS) -> Iterator[Summary]:
    """Yield the application until it is decided.

    Raises ApplicationNotFound, StillRunning; the application continues.
    """
    for _ in patiently(seconds):
        seen = view(stack, application_id)
        yield seen
        if seen.decided:
            return
    raise _still_running(application_id, "is still running")


def recover(stack: Stack, application_id: str) -> str:
    """Start account-recovery, or find the running one. Returns the name of its execution.

    The saga's input is the id alone, so it is known even if no execution has it any more.
    Raises ApplicationNotFound; NothingToRecover if the account-setup has not begun, is running or has succeeded.
    """
    row = _row(stack, application_id)
    if UNSETTLED not in row and find(stack, ACCOUNT_SETUP.machine, application_id) is None:
        raise NothingToRecover(f"no account-setup of application {application_id} has begun")
    return recovery.recover(stack, application_id, setup_input(application_id), saga=ACCOUNT_SETUP)


def recovered(stack: Stack, application_id: str, name: str) -> tuple[Execution, Summary]:
    """Wait until the recovery of this name has ended, and until its finalization shows that nothing is left.

    Finalization follows the end asynchronously, by an event. Raises StillRunning; the recovery continues.
    """
    try:
        last = ended(stack, name, seconds=_RECOVERY_SECONDS, output=f"{ACCOUNT_SETUP.recovery}Arn")
    except StillRunning:
        raise _still_running(application_id, "is still being recovered") from None
    seen = view(stack, application_id)
    for _ in patiently(_FINALIZED_SECONDS):
        if last.status != SUCCEEDED or not seen.standing:
            break
        seen = view(stack, application_id)
    return last, seen


def listed(stack: Stack, status: str, last: int) -> list[Summary]:
    """Return the last applications, newest first. status: only these; empty for all."""
    found = (Summary.of(row) for row in stack.rows("ApplicationsTable"))
    matching = [one for one in found if status in ("", one.status)]
    return sorted(matching, key=lambda one: one.submitted_at, reverse=True)[:last]


def _row(stack: Stack, application_id: str) -> Row:
    row = stack.row("ApplicationsTable", application_id=application_id)
    if row is None:
        raise ApplicationNotFound(f"{application_id}: no such application", see=("applications", "list"))
    return row


def _still_running(application_id: str, what: str) -> StillRunning:
    return StillRunning(f"{application_id} {what}", see=("applications", "show", application_id))
