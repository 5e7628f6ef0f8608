"""The errors of approvals.

BusinessError
├── InvalidApproval     the state's request is refused; nothing is written (PayloadMismatch is the layer's)
├── SubjectClosed       the row that it asks about is decided, or not there; nothing is written
├── InvalidDecision     the decision is refused; nothing is written
├── OwnRequest          who decides has requested the approval; nothing is written
└── ApprovalNotFound, AlreadyDecided, ApprovalExpired, ApprovalCancelled
(ExecutionsUnavailable and SweepUnfinished are the runtime's)
"""

from idempotency import BusinessError


class InvalidApproval(BusinessError):
    """The request of a waiting state is not valid. The message starts with the path of the field."""


class SubjectClosed(BusinessError):
    """The row that the state asks about is decided or missing. Nobody is asked, and nothing is written."""


class InvalidDecision(BusinessError):
    """The decision is not valid. The message starts with the path of the field; nothing is written."""


class OwnRequest(BusinessError):
    """The decider requested the approval. Nothing is written; another person must decide."""


class ApprovalNotFound(BusinessError):
    """No state has asked for this approval, or its record has expired."""


class AlreadyDecided(BusinessError):
    """The approval was decided the other way."""


class ApprovalExpired(BusinessError):
    """Nobody decided before the approval was due."""


class ApprovalCancelled(BusinessError):
    """The execution ended by other means before anybody decided."""
