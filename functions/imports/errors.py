"""The errors of imports. The class name of an ArchiveRefused is a stable code; its message says what to do.

BusinessError
├── InvalidImport, TooManyRows    the call is refused; nothing is written
├── FileRefused                   the file is; the import is FAILED
├── ArchiveRefused and its classes  the ZIP is; nothing of it is imported
└── ImportCutOff                  the import was stopped, or has ended
TransientError
├── BatchUnfinished, StillRunning, ArchiveCutShort
└── of runtime: BucketUnavailable, ExecutionsUnavailable, SweepUnfinished
"""

from typing import Any

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
    """Some rows of the batch have no outcome yet; another try continues with them."""


class StillRunning(TransientError):
    """The Map Run, or the function, of an import that was cut off has not ended yet."""


class ArchiveRefused(BusinessError):
    """Nothing of the archive is imported."""

    def error(self) -> dict[str, Any]:
        """`error` of the import."""
        return {"code": type(self).__name__, "column": "", "message": str(self)}


class NotAnArchive(ArchiveRefused):
    """There is no end record of a ZIP: another kind of file, or a part of an upload."""


class EmptyArchive(ArchiveRefused):
    """The archive has no file."""


class SplitArchive(ArchiveRefused):
    """The archive is one of several disks."""


class CorruptDirectory(ArchiveRefused):
    """The end records or the central directory contradict each other or the file."""


class TooManyEntries(ArchiveRefused): ...


class ArchiveTooLarge(ArchiveRefused): ...


class RatioTooHigh(ArchiveRefused): ...


class UnsafeName(ArchiveRefused):
    """A name is absolute, leaves the archive, or is not one that every system reads alike."""


class DuplicateName(ArchiveRefused):
    """Two names are equal, or differ only in case or Unicode form."""


class SpecialFile(ArchiveRefused):
    """A link, a device, or what is a directory in one place and a file in another."""


class EncryptedEntry(ArchiveRefused): ...


class UnsupportedCompression(ArchiveRefused): ...


class NestedArchive(ArchiveRefused): ...


class NotCsv(ArchiveRefused): ...


class OverlappingEntries(ArchiveRefused):
    """Two entries share bytes, or bytes belong to no entry."""


class HeaderMismatch(ArchiveRefused):
    """An entry's own header contradicts the central directory."""


class CorruptData(ArchiveRefused): ...


class WrongSize(ArchiveRefused): ...


class WrongCrc(ArchiveRefused): ...


class ArchiveCutShort(TransientError):
    """A read returned nothing before the end of the object. The same read is worth a retry."""
