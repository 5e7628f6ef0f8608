"""Schedules of user imports, with the faults that only they have."""

from collections.abc import Mapping
from typing import ClassVar

from tests.faults import faults as f
from tests.faults.actors import schedule as shared

UPLOAD_AT, AGAIN_AT = "newer upload at", "second import at"
PERSON_AT, DELETED_AT, REMOVED_AT = "person creates at", "person deletes at", "file removed at"
FAILS_BEFORE, FAILS_AFTER = "Connect fails before", "Connect fails after"
FULL, DENIED, MISSING = "instance full at", "Connect denies at", "not found at"
CONFLICTING = "S3 conflict at"
MAP_FAILS = "Map fails:"

# Faults at one call, in addition to those of all actors.
CALL_KINDS = {
    UPLOAD_AT: "a newer version of the file is uploaded meanwhile",
    AGAIN_AT: "the same version is imported under another name meanwhile",
    PERSON_AT: "a person creates a user of a name in the file meanwhile",
    DELETED_AT: "a person deletes a user of the file meanwhile",
    REMOVED_AT: "the versions of the file are deleted meanwhile",
}
CONNECT_KINDS = {
    FAILS_BEFORE: "Connect answers 500, and has done nothing",
    FAILS_AFTER: "Connect answers 500, though all was done",
}
USER_KINDS = {
    FULL: "Connect answers LimitExceededException to CreateUser or SearchUsers",
    DENIED: "Connect answers AccessDeniedException to them",
    MISSING: "Connect answers ResourceNotFoundException to them",
}
CODES = {
    FULL: "LimitExceededException",
    DENIED: "AccessDeniedException",
    MISSING: "ResourceNotFoundException",
    FAILS_BEFORE: "InternalServiceException",
    FAILS_AFTER: "InternalServiceException",
}
PUT_KINDS = {CONFLICTING: "S3 answers ConditionalRequestConflict, because another write of the key is under way"}
MAP_KINDS = {MAP_FAILS: "CreateUsers fails as a whole; functions that run go on"}
PUBLISH_KINDS = {f.PUBLISH_FAILS: f.PUBLISH_KINDS[f.PUBLISH_FAILS]}
KINDS = {
    kind: why
    for kind, why in shared.kinds(
        *(CALL_KINDS, CONNECT_KINDS, USER_KINDS, PUT_KINDS, MAP_KINDS, PUBLISH_KINDS, shared.EVENT_KINDS),
        shared.ACCOUNT_KINDS,
    ).items()
    # User imports use neither transactions nor batches.
    if kind not in shared.TRANSACTION_KINDS | shared.READ_KINDS
}


class Schedule(shared.Schedule):
    """A schedule. seed: decides the files, the interleaving and, unless they are listed, the faults."""

    NAME: ClassVar[str] = "users"
    KINDS: ClassVar[Mapping[str, str]] = KINDS
    OWN_CALL_KINDS: ClassVar[Mapping[str, str]] = CALL_KINDS
