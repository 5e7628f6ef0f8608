"""The errors of tasks.

BusinessError
├── InvalidTask, TooManyItems   the call is refused; nothing is written (PayloadMismatch is the layer's)
├── NothingPublished, JobFailed the item fails
├── ResultTooLarge              the item's work is done, but its result is too large for its row
└── StaleTask                   another attempt, or none, may run; nothing is written
TransientError
└── JobUnfinished, AlertUnsent, StillRunning    (ExecutionsUnavailable and SweepUnfinished are runtime's)
"""

from idempotency import BusinessError, TransientError


class InvalidTask(BusinessError):
    """The call is not valid. The message starts with the path of the field; nothing is written."""


class TooManyItems(BusinessError):
    """The call has more items than a task takes; nothing is written."""


class NothingPublished(BusinessError):
    """No version of the key was ever published, so it has no read model."""


class JobFailed(BusinessError):
    """The job of the item failed for good; the message has its error."""


class ResultTooLarge(BusinessError):
    """The handler's result does not fit the item's row. Its work is done."""


class StaleTask(BusinessError):
    """The call belongs to an attempt that is not the task's current one, or has ended. Nothing is written."""


class JobUnfinished(TransientError):
    """The job of the item is still running, or its response was lost; the same call finds its result later."""


class AlertUnsent(TransientError):
    """SNS throttled the alert or failed, or its response was lost."""


class StillRunning(TransientError):
    """An invocation may still be working on an item."""
