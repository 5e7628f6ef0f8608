"""The errors of imports.

BusinessError
├── InvalidImport, TooManyRows    the call is refused; nothing is written
├── FileRefused                   the file is; the import is FAILED
└── ImportCutOff                  the import was stopped, or has ended
TransientError
└── BatchUnfinished, StillRunning; of runtime: BucketUnavailable, ExecutionsUnavailable, SweepUnfinished
"""

from idempotency import BusinessError, TransientError


class InvalidImport(BusinessError):
    """The call is not valid. The message starts with the field; nothing is written."""


class TooManyRows(BusinessError):
    """More rows than a DIRECT import takes; nothing is written."""


class FileRefused(BusinessError):
    """No row can be imported. code, column: as in the contract; column is empty if it is about the whole file."""

    def __init__(self, code: str, column: str, message: str) -> None:
        super().__init__(message)
        self.code, self.column, self.message = code, column, message

    def __reduce__(self) -> tuple[type["FileRefused"], tuple[str, str, str]]:
        return FileRefused, (self.code, self.column, self.message)


class ImportCutOff(BusinessError):
    """The import was stopped, has ended, or its batch is barred. Nothing is written."""


class BatchUnfinished(TransientError):
    """Some rows of the batch have no outcome yet; another try goes on with them."""


class StillRunning(TransientError):
    """The Map Run, or the function, of an import that was cut off has not ended yet."""
