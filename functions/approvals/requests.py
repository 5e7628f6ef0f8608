"""The input of the functions of approvals. Invalid input is rejected here, before anything is written."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, structs, to_builtins

from idempotency import payload_hash
from runtime import text
from runtime.ended import Ended as ExecutionEnded
from runtime.ended import detail_parser
from runtime.validation import check_text, parser
from runtime.values import Unstorable, storable

from .errors import InvalidApproval, InvalidDecision

# An execution runs for up to a year, and the state's last resort comes one day after the approval is due.
MAX_DUE_SECONDS = 364 * 24 * 60 * 60
MAX_COMMENT = 2000

# Without a dot, so that the name of the execution between them may have dots.
type Constant = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
# Characters that Step Functions accepts. "#" is not among them; it separates the key of the tokens.
type ExecutionName = Annotated[str, Meta(pattern=r'^[^\s<>{}\[\]?*"#%\\^|~`$&,;:/\x00-\x1f\x7f-\x9f]{1,80}\Z')]
type Group = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
type ApprovalId = Annotated[str, Meta(pattern=r"^[^\s#]{1,256}\Z")]
type Person = Annotated[str, Meta(max_length=128)]


class About(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The row to approve. table: a logical id. statuses: those in which the row is undecided."""

    table: str
    key: Annotated[dict[str, str], Meta(min_length=1, max_length=2)]
    statuses: Annotated[list[str], Meta(min_length=1, max_length=20)]


class ApprovalRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The request of a waiting state.

    machine, step: constants, which name the wait. token: the callback token of this attempt.
    about: the request is refused unless this row is undecided. four_eyes: requested_by must not decide.
    """

    schema: Literal[1]
    machine: Constant
    step: Constant
    execution_name: ExecutionName
    execution_arn: Annotated[str, Meta(pattern=r"^arn:[^:]+:states:[^:]+:\d{12}:execution:[^:]+:[^:]+\Z")]
    subject: Annotated[str, Meta(max_length=256)]
    group: Group
    requested_by: Person
    due_in_seconds: Annotated[int, Meta(ge=1, le=MAX_DUE_SECONDS)]
    token: Annotated[str, Meta(min_length=1, max_length=2048)]
    about: About | UnsetType = UNSET
    four_eyes: bool = True

    @property
    def approval_id(self) -> str:
        return f"{self.machine}.{self.execution_name}.{self.step}"

    @property
    def payload_hash(self) -> str:
        """Hash that tells a retry of the state from another approval under this id."""
        fields: dict[str, Any] = to_builtins(self)
        # A state that asked an earlier release has no four_eyes, and may ask again.
        dropped = {"token", "four_eyes"} if self.four_eyes else {"token"}
        return payload_hash({name: value for name, value in fields.items() if name not in dropped})


class DecideRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    approval_id: ApprovalId
    decision: Literal["approve", "reject"]
    decided_by: Person
    comment: Annotated[str, Meta(max_length=MAX_COMMENT)] | None = None


class Ended(ExecutionEnded, frozen=True, rename="camel"):
    """The end of any execution."""

    @property
    def execution(self) -> str:
        return self.name


_parse_request = parser(ApprovalRequest, InvalidApproval, "the request", lines=["subject", "requested_by"])
_parse_decision = parser(DecideRequest, InvalidDecision, "the decision", lines=["decided_by"])
parse_ended = detail_parser(Ended)


def parse_request(document: Any) -> ApprovalRequest:
    """Read the payload of a waiting state. Raises InvalidApproval."""
    request = _storable(_parse_request, document, InvalidApproval)
    if request.execution_arn.rpartition(":")[2] != request.execution_name:
        raise InvalidApproval("execution_arn: not of the execution that execution_name names")
    return request


def parse_decision(document: Any) -> DecideRequest:
    """Read a decision; a comment without a visible character is none. Raises InvalidDecision."""
    request = _storable(_parse_decision, document, InvalidDecision)
    if request.comment is None or text.problem(request.comment, lines=True) == text.REQUIRED:
        return structs.replace(request, comment=None)
    check_text("comment", request.comment, InvalidDecision, lines=True)
    return request


def _storable[T](parse: Callable[[Any], T], document: Any, refusal: type[Exception]) -> T:
    request = parse(document)
    try:
        for name, value in to_builtins(request).items():
            storable(value, name)
    except Unstorable as problem:
        raise refusal(str(problem)) from None
    return request
