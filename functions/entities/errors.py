"""The errors of commands. All are final; transient errors are the layer's TransientError and TargetUnavailable."""

from idempotency import BusinessError, TransientError


class InvalidCommand(BusinessError):
    """The command, or the document that it makes, is not valid. The message starts with the path of the field."""


class VersionConflict(BusinessError):
    """The version, or the request_id, is taken by another command."""


class VersionGap(BusinessError):
    """The version is not the next one of its key."""


class PendingCommand(BusinessError):
    """A synchronous command must wait: an older version of its key is pending or blocked."""


class AttributesTooLarge(BusinessError):
    """The merged document, or the history's copy of the replaced one, is larger than a row may be."""


class StaleCommand(BusinessError):
    """The call does not belong to the command's current execution, or it is not its turn. Nothing is written."""


class NotBlocked(BusinessError):
    """There is nothing to retry or skip: no version of this key has ended without finishing."""


class TargetUnavailable(TransientError):
    """A target throttled or failed, or its response was lost. The same write may be retried."""
