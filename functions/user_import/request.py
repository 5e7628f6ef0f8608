"""The workflow's input. Invalid input is rejected here, before anything is created."""

from typing import Annotated, Any

import msgspec

from runtime.encodings import Encoding
from runtime.validation import parser

from .errors import InvalidImport
from .results import ResultKey

# \Z, not $: the latter also matches before a trailing newline. S3 keys are UTF-8, without halves of surrogate pairs.
type Key = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\ud800-\udfff]{1,1024}\Z")]
type VersionId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{1,1024}\Z")]
type InstanceId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9-]{1,100}\Z")]


class ImportRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to import. By default, the newest file into the stack's own instance.

    key, version_id: of the file. instance_id: use this instance, create none. validate_only: create nothing at all.
    retry_of: key of a result file; only its failed rows run again, without `key` from the file that the result belongs
    to. encoding: of the file. encoding_confirmed: it is right, whatever the file looks like.
    reset: delete the stack's own instances first.
    """

    key: Key | None = None
    version_id: VersionId | None = None
    instance_id: InstanceId | None = None
    validate_only: bool = False
    retry_of: Key | None = None
    encoding: Encoding | None = None
    encoding_confirmed: bool = False
    reset: bool = False

    @property
    def retried(self) -> ResultKey | None:
        """Raises InvalidImport if retry_of is not the key of a result file."""
        return ResultKey.parse(self.retry_of) if self.retry_of else None


_parse = parser(ImportRequest, InvalidImport, "the input")


def parse_request(document: Any) -> ImportRequest:
    """Read the input from parsed JSON. Raises InvalidImport, naming the field."""
    try:
        request = _parse(document)
    except InvalidImport as error:
        if str(error).startswith("encoding:"):
            raise InvalidImport("encoding: must be utf-8 or cp932") from None
        raise
    _require_sense(request)
    return request


def _require_sense(request: ImportRequest) -> None:
    if request.version_id and not request.key:
        raise InvalidImport("version_id: give the file's key too")
    retried = request.retried
    if retried and retried.validate_only and not request.validate_only:
        raise InvalidImport("retry_of: a validation has created no users; import the file without retry_of")
    for field in ("instance_id", "validate_only", "retry_of"):
        if request.reset and getattr(request, field):
            raise InvalidImport(f"reset: deletes instances with their users, and cannot be combined with {field}")
