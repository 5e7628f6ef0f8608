"""Why an archive is refused. A class name is a stable code; the message names the entry and says what to do."""

from typing import Any

from idempotency import BusinessError, TransientError

INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that a terminal does not show, or that move its cursor."""


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
