"""Archives that must be refused: the defect, the archive, its code, and part of the message."""

import gzip
import io
import tarfile
import zlib
from struct import pack

from tests.kit.zip_builder import CSV, LARGE, REGULAR, File, archive, deflated, zip64

GIB = 1024**3
DESCRIPTOR = pack("<4s3L", b"PK\7\x08", zlib.crc32(CSV), len(deflated(CSV)), len(CSV))


def _mode(mode: int, name: bytes = b"a.csv", **more: bytes) -> bytes:
    return archive(File(name, mode=mode, **more))  # type: ignore[arg-type]


def _central(**lies: int | bytes) -> bytes:
    return archive(File(central=lies))


def _local(**lies: int | bytes) -> bytes:
    return archive(File(local=lies))


def _both(**lies: int | bytes) -> bytes:
    return archive(File(local=lies, central=lies))


def _named(*names: bytes | str) -> bytes:
    return archive(*(File(name) for name in names))


def _unicode_path(path: bytes) -> bytes:
    content = pack("<BL", 1, zlib.crc32(b"a.csv")) + path
    return archive(File(b"a.csv", central={"extra": pack("<2H", 0x7075, len(content)) + content}))


def _tar() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("a.csv"), io.BytesIO())
    return made.getvalue()


def _stored(data: bytes) -> bytes:
    return archive(File(data=data, method=0))


def _bomb() -> bytes:
    """Fifield's overlapping files: each entry of the directory points at one kernel."""
    first = File(b"a.csv")
    return archive(first, File(b"b.csv", central={"offset": 0}))


def _quoted() -> bytes:
    """Fifield's other bomb: the data of the first entry holds the header of the second."""
    inner = archive(File(b"b.csv"))[: 30 + 5 + len(deflated(CSV))]
    return archive(File(b"a.csv", data=inner, method=0), File(b"b.csv", central={"offset": 35}))


def _padded() -> bytes:
    """An archive whose data continues into the second entry, visible only in the first one's header."""
    offset = 30 + 5 + len(deflated(CSV))
    return archive(File(b"a.csv", local={"extra": bytes(200)}), File(b"b.csv", central={"offset": offset}))


SMALL = archive(File())
TWO_ENDS = archive(File(b"a.csv"), comment=archive(File(b"b.csv")))

HOSTILE = {
    # Not an archive, or one that two readers read differently.
    "an empty file": (b"", "NotAnArchive", "no end record"),
    "a CSV called ZIP": (CSV, "NotAnArchive", "no end record"),
    "a gzip called ZIP": (gzip.compress(CSV), "NotAnArchive", "no end record"),
    "an upload that was cut": (SMALL[:-30], "NotAnArchive", "was cut"),
    "an end record that was cut": (SMALL[:-1], "NotAnArchive", "was cut"),
    "bytes behind the end record": (SMALL + b"\0", "CorruptDirectory", "bytes after it"),
    "a comment longer than it says": (
        archive(File(), comment=b"four", comment_length=3),
        "CorruptDirectory",
        "bytes after",
    ),
    "a comment shorter than it says": (
        archive(File(), comment=b"four", comment_length=5),
        "CorruptDirectory",
        "bytes after",
    ),
    "an archive in the comment": (TWO_ENDS, "CorruptDirectory", "more than one end record"),
    "an end record in the comment": (
        archive(File(), comment=b"PK\5\6" + bytes(30)),
        "CorruptDirectory",
        "more than one",
    ),
    "no entries": (archive(), "EmptyArchive", "no entries"),
    "only a directory": (archive(File(b"a/", b"", 0, mode=0o40755 << 16)), "EmptyArchive", "no files"),
    "only what macOS adds": (_named(b"__MACOSX/._a.csv", b".DS_Store"), "EmptyArchive", "no files"),
    "a second disk": (archive(File(), disk=1), "SplitArchive", "split archive"),
    "a directory on a second disk": (archive(File(), start_disk=1), "SplitArchive", "split archive"),
    "entries on a second disk": (archive(File(), here=0), "SplitArchive", "split archive"),
    "an entry on a second disk": (_central(disk=1), "SplitArchive", "another disk"),
    "fewer entries than declared": (
        archive(File(), here=2, count=2),
        "CorruptDirectory",
        "1 entries, and its end record says 2",
    ),
    "more entries than declared": (archive(File(), File(b"b.csv"), here=1, count=1), "CorruptDirectory", "2 entries"),
    "a program in front": (archive(File(), before=b"MZ" * 50, offset=10), "CorruptDirectory", "without a program"),
    "bytes in front": (archive(File(), before=b"MZ" * 50), "CorruptDirectory", "before the first entry"),
    "a directory beyond the file": (archive(File(), offset=GIB), "CorruptDirectory", "not where"),
    "a directory larger than the file": (archive(File(), size=GIB), "CorruptDirectory", "not where"),
    "bytes behind the directory": (archive(File(), middle=b"hidden"), "CorruptDirectory", "not where"),
    "a directory that is garbage": (
        archive(File(), middle=b"hidden", size=6, offset=len(SMALL) - 22),
        "CorruptDirectory",
        "cannot be read",
    ),
    "a directory that ends inside an entry": (
        archive(File(), middle=b"PK\1\2", size=62),
        "CorruptDirectory",
        "cannot be read",
    ),
    "an extra field that was cut": (_central(extra=b"\1\0\x09\0"), "CorruptDirectory", "cannot be read"),
    "an entry of a future version": (_central(version=99), "CorruptDirectory", "cannot be read"),
    # ZIP64.
    "a ZIP64 record that is missing": (archive(File(), size=LARGE), "CorruptDirectory", "missing"),
    "a ZIP64 record elsewhere": (zip64(File(), locator={"offset": 0}), "CorruptDirectory", "not where"),
    "a ZIP64 record on another disk": (zip64(File(), locator={"disk": 1}), "SplitArchive", "split"),
    "a ZIP64 count that disagrees": (
        zip64(File(), record={"here": 2, "count": 2}, here=1, count=1),
        "CorruptDirectory",
        "disagree",
    ),
    "a ZIP64 count of a billion": (
        zip64(File(), record={"here": 10**9, "count": 10**9}),
        "TooManyEntries",
        "1000000000 entries",
    ),
    "a ZIP64 directory beyond the file": (zip64(File(), record={"offset": 2**63}), "CorruptDirectory", "not where"),
    "a ZIP64 record of another length": (zip64(File(), record={"length": 60}), "CorruptDirectory", "disagree"),
    "a size whose ZIP64 field is missing": (_central(size=LARGE), "ArchiveTooLarge", "over"),
    "a ZIP64 field that was cut": (
        _central(size=LARGE, extra=pack("<2HL", 1, 4, 7)),
        "CorruptDirectory",
        "cannot be read",
    ),
    "a ZIP64 size of 2^63": (_central(size=LARGE, extra=pack("<2HQ", 1, 8, 2**63)), "ArchiveTooLarge", "over"),
    "a ZIP64 size only in the header": (_local(size=LARGE, extra=pack("<2HQ", 1, 8, 7)), "HeaderMismatch", "the size"),
    # Too much.
    "1,001 entries": (_named(*(b"%d.csv" % one for one in range(1001))), "TooManyEntries", "1001 entries"),
    "an entry over 1 GiB": (_central(size=GIB + 1), "ArchiveTooLarge", "over 1073741824 bytes once inflated"),
    "entries over 1 GiB together": (
        archive(*(File(b"%d.csv" % one, central={"size": GIB // 8, "packed": GIB // 90}) for one in range(9))),
        "ArchiveTooLarge",
        "the entries are over",
    ),
    "a ratio over 100": (archive(File(data=bytes(10**6))), "RatioTooHigh", "over 100 times"),
    "data from nothing": (_central(packed=0), "RatioTooHigh", "over 100 times"),
    # Names.
    "no name": (_named(b""), "UnsafeName", "entry 1 of the archive has no name"),
    "a name of a slash": (_named(b"/"), "UnsafeName", "no name"),
    "a path that leaves": (_named(b"../a.csv"), "UnsafeName", "leaves the archive"),
    "a path that leaves further on": (_named(b"a/../../b.csv"), "UnsafeName", "leaves the archive"),
    "a directory that leaves": (_named(b"../"), "UnsafeName", "leaves the archive"),
    "an absolute path": (_named(b"/etc/a.csv"), "UnsafeName", "is absolute"),
    "a drive letter": (_named(b"C:/a.csv"), "UnsafeName", "is absolute"),
    "a drive letter without a slash": (_named(b"c:a.csv"), "UnsafeName", "is absolute"),
    "a backslash": (_named(b"..\\a.csv"), "UnsafeName", "backslash"),
    "a share": (_named(b"\\\\host\\share\\a.csv"), "UnsafeName", "backslash"),
    "two slashes": (_named(b"a//b.csv"), "UnsafeName", "empty folder name"),
    "a dot": (_named(b"./a.csv"), "UnsafeName", "empty folder name or ."),
    "a NUL": (_named(b"a.csv\0.exe"), "UnsafeName", "control character"),
    "a line end": (_named(b"a\n.csv"), "UnsafeName", "control character"),
    "text from right to left": (_named("a\u202evsc.csv"), "UnsafeName", "control character"),
    "a long name": (_named(b"a" * 252 + b".csv"), "UnsafeName", "over 255 characters"),
    "a name in no encoding": (_named(b"\xff\xfe.csv"), "UnsafeName", r'"\xff\xfe.csv" is neither UTF-8 nor cp932'),
    "a name that is not UTF-8, and says so": (
        archive(File(b"\x93.csv", flags=0x800)),
        "UnsafeName",
        "marked as UTF-8",
    ),
    "a Unicode path that leaves": (_unicode_path(b"../b.csv"), "UnsafeName", "leaves the archive"),
    "one name twice": (_named(b"a.csv", b"a.csv"), "DuplicateName", "one name"),
    "names that differ in case": (_named(b"a.csv", b"A.CSV"), "DuplicateName", "one name"),
    "names that differ in form": (_named("caf\u00e9.csv", "cafe\u0301.csv"), "DuplicateName", "one name"),
    "names that differ in width": (_named("a.csv", "\uff41.csv"), "DuplicateName", "one name"),
    "a file and a directory": (archive(File(b"a.csv"), File(b"a.csv/", b"", 0, mode=0)), "DuplicateName", "one name"),
    # Kinds.
    "a symbolic link": (_mode(0o120777 << 16), "SpecialFile", "is a link"),
    "a link of another system": (_mode((0o120777 << 16) | 0x20), "SpecialFile", "is a link"),
    "a link of Windows": (_mode(0x400), "SpecialFile", "is a link"),
    "a device": (_mode(0o60644 << 16), "SpecialFile", "no plain file"),
    "a FIFO": (_mode(0o10644 << 16), "SpecialFile", "no plain file"),
    "a socket": (_mode(0o140644 << 16), "SpecialFile", "no plain file"),
    "a volume": (_mode(0x08), "SpecialFile", "no plain file"),
    "a directory called a file": (_mode(0o40755 << 16), "SpecialFile", "no plain file"),
    "a DOS directory called a file": (_mode(REGULAR | 0x10), "SpecialFile", "a directory by its attributes"),
    "a file called a directory": (_mode(0, b"a.csv/"), "SpecialFile", "a directory with content"),
    "an encrypted entry": (archive(File(flags=1)), "EncryptedEntry", "without a password"),
    "strong encryption": (archive(File(flags=0x41)), "EncryptedEntry", "without a password"),
    "a masked directory": (archive(File(flags=0x2000)), "EncryptedEntry", "without a password"),
    "AES": (_both(method=99), "EncryptedEntry", "without a password"),
    "bzip2": (_both(method=12), "UnsupportedCompression", "method 12"),
    "LZMA": (_both(method=14), "UnsupportedCompression", "method 14"),
    "Zstandard": (_both(method=93), "UnsupportedCompression", "method 93"),
    "a patch": (archive(File(flags=0x20)), "UnsupportedCompression", "flags 0x0020"),
    "an archive by its name": (_named(b"a.csv", b"b.tar.gz"), "NestedArchive", "unpack it"),
    "a workbook": (_named(b"a.xlsx"), "NotCsv", ".csv"),
    "a file without an ending": (_named(b"README"), "NotCsv", ".csv"),
    "a ZIP called CSV": (archive(File(data=SMALL, method=0)), "NestedArchive", "whatever its name"),
    "a gzip called CSV": (_stored(gzip.compress(CSV)), "NestedArchive", "whatever its name"),
    "a tar called CSV": (archive(File(data=_tar()[:2048])), "NestedArchive", "whatever its name"),
    "a binary called CSV": (_stored(b"MZ\x90\0\3\0\0\0" + CSV), "NotCsv", "binary"),
    "a CSV in UTF-16": (_stored(CSV.decode().encode("utf-16")), "NotCsv", "UTF-16"),
    # Entries that overlap, and headers that disagree.
    "two entries with one kernel": (_bomb(), "OverlappingEntries", "overlaps"),
    "an entry inside another": (_quoted(), "OverlappingEntries", "overlaps"),
    "an entry over the directory": (_both(packed=len(deflated(CSV)) + 1), "OverlappingEntries", "overlaps"),
    "an entry over another by its header": (_padded(), "OverlappingEntries", "overlaps"),
    "an entry beyond the file": (
        archive(File(), File(b"b.csv", central={"offset": GIB})),
        "OverlappingEntries",
        "overlaps",
    ),
    "a header that is missing": (b"\0" + SMALL[1:], "HeaderMismatch", "has no header"),
    "bytes between two entries": (
        archive(File(after=b"hidden"), File(b"b.csv")),
        "CorruptDirectory",
        "belong to no entry",
    ),
    "an entry that is not in the directory": (
        archive(File(after=SMALL[:-100])),
        "CorruptDirectory",
        "belong to no entry",
    ),
    "another name in the header": (_local(name=b"evil.bat.csv"), "HeaderMismatch", "the name"),
    "another flag in the header": (_local(flags=1), "HeaderMismatch", "the flags"),
    "another method in the header": (_local(method=0), "HeaderMismatch", "the method"),
    "another checksum in the header": (_local(crc=7), "HeaderMismatch", "the checksum"),
    "another packed size in the header": (_local(packed=7), "HeaderMismatch", "the packed size"),
    "another size in the header": (_local(size=7), "HeaderMismatch", "the size"),
    "a size of 0 without a descriptor": (_local(size=0), "HeaderMismatch", "the size"),
    "a descriptor that is missing": (archive(File(flags=8)), "CorruptDirectory", "belong to no entry"),
    "a descriptor that disagrees": (
        archive(File(flags=8, after=DESCRIPTOR[:-1] + b"\7")),
        "HeaderMismatch",
        "what follows its data",
    ),
    # Defects visible only in the data.
    "a wrong checksum": (_both(crc=7), "WrongCrc", "checksum"),
    "a smaller size than the data": (_both(size=7), "WrongSize", "7 bytes"),
    "a smaller size with its checksum": (_both(size=7, crc=zlib.crc32(CSV[:7])), "WrongSize", "7 bytes"),
    "a larger size than the data": (_both(size=len(CSV) + 1), "WrongSize", "declares"),
    "a stored entry with two sizes": (archive(File(method=0, central={"size": 7})), "WrongSize", "two sizes"),
    "data that is no Deflate": (archive(File(raw=b"\xff" * 100)), "CorruptData", "damaged"),
    "data that was cut": (archive(File(raw=deflated(CSV)[:-4])), "CorruptData", "damaged"),
    "data that goes on": (archive(File(raw=deflated(CSV) + b"more")), "CorruptData", "damaged"),
}
