"""Archives are refused with a reason, or return exactly their content."""

import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imports.archive import Archive
from imports.archive_directory import WINDOW, same
from imports.errors import ArchiveCutShort, ArchiveRefused
from tests.kit.zip_builder import CSV, File, archive, zip64

from .hostile_archives import HOSTILE

LONG = b"".join(b"p-%d,%d\n" % (number, number * 7919 % 10_007) for number in range(300_000))


class Object:
    """An object in a bucket that counts the bytes read from it."""

    def __init__(self, data: bytes) -> None:
        self.data, self.reads = data, list[tuple[int, int]]()

    def read(self, offset: int, length: int) -> bytes:
        assert length > 0
        assert offset + length <= len(self.data)
        self.reads.append((offset, length))
        return self.data[offset : offset + length]

    def archive(self) -> Archive:
        return Archive(self.read, len(self.data))


def contents(data: bytes) -> dict[str, bytes]:
    return {entry.name: b"".join(chunks) for entry, chunks in Object(data).archive().contents()}


def zipped(files: dict[str, bytes], *, seekable: bool = True, zip64: bool = False, method: int = 8) -> bytes:
    """An archive by the standard library; with data descriptors if the output is not seekable."""
    made = io.BytesIO()
    if not seekable:
        made.seekable = lambda: False  # type: ignore[method-assign]
        made.seek = made.tell = _no_place  # type: ignore[method-assign, assignment]
    with zipfile.ZipFile(made, "w", method) as out:
        for name, data in files.items():
            with out.open(name, "w", force_zip64=zip64) as entry:
                entry.write(data)
    return made.getvalue()


def _no_place(*_: int) -> int:
    raise io.UnsupportedOperation


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_archive_is_rejected_with_its_reason(what: str) -> None:
    data, code, says = HOSTILE[what]

    with pytest.raises(ArchiveRefused) as refused:
        contents(data)

    error = refused.value.error()
    assert (error["code"], error["column"]) == (code, "")
    assert says in error["message"]
    assert "; " in error["message"], "what to do comes after what is wrong"
    assert error["message"].isprintable()


@pytest.mark.parametrize("data", [b"x", CSV, bytes(100)])
def test_hostile_archive_with_an_honest_file_is_rejected(data: bytes) -> None:
    with pytest.raises(ArchiveRefused):
        contents(archive(File(b"a.csv"), File(b"../b.csv", data=data)))


def test_defect_in_the_directory_is_rejected_before_any_data_is_read() -> None:
    source = Object(archive(File(b"a.csv", bytes(range(256)) * 1000, 0), File(b"../b.csv")))

    with pytest.raises(ArchiveRefused):
        source.archive()

    assert min(offset for offset, _ in source.reads) > 100_000


@pytest.mark.slow
@pytest.mark.parametrize("seekable", [True, False])
@pytest.mark.parametrize("zip64", [True, False])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archives_of_the_standard_library_are_accepted(seekable: bool, zip64: bool, method: int) -> None:
    files = {"a.csv": CSV, "folder/b.csv": b"", "商品.csv": LONG}

    assert contents(zipped(files, seekable=seekable, zip64=zip64, method=method)) == files


def test_zip64_end_record_is_accepted() -> None:
    assert contents(zip64(File())) == {"products.csv": CSV}


def test_comment_is_accepted() -> None:
    assert contents(archive(File(), comment=b"c" * 0xFFFF)) == {"products.csv": CSV}


@pytest.mark.parametrize(
    ("stored", "name"),
    [
        ("商品_表.csv".encode("cp932"), "商品_表.csv"),  # The second byte of 表 is a backslash.
        ("ソ十.csv".encode("cp932"), "ソ十.csv"),
        ("商品.csv".encode(), "商品.csv"),  # macOS does not mark UTF-8.
        ("商品.csv", "商品.csv"),
        (b"PRODUCT.CSV", "PRODUCT.CSV"),
    ],
)
def test_names_are_read_in_utf_8_and_cp932(stored: bytes | str, name: str) -> None:
    assert contents(archive(File(stored))) == {name: CSV}


def test_entries_are_numbered_in_directory_order_and_only_files_count() -> None:
    data = archive(
        File(b"a/", b"", 0, mode=0o40755 << 16 | 0x10),
        File(b"a/b.csv"),
        *map(File, (b"__MACOSX/a/._b.csv", b"._b.csv", b"a/._b.csv", b"a/.DS_Store", b"Thumbs.db", b"a/desktop.ini")),
        File(b"c.csv"),
    )

    assert [(one.number, one.name, one.size) for one in Object(data).archive().entries] == [
        (1, "a/b.csv", len(CSV)),
        (2, "c.csv", len(CSV)),
    ]
    assert contents(data) == {"a/b.csv": CSV, "c.csv": CSV}


def test_partly_read_entry_is_still_checked() -> None:
    walk = Object(archive(File(local={"crc": 7}, central={"crc": 7}), File(b"b.csv"))).archive().contents()
    next(walk)

    with pytest.raises(ArchiveRefused, match="checksum"):
        next(walk)


def test_each_byte_of_the_data_is_fetched_once() -> None:
    source = Object(archive(*(File(b"%d.csv" % one, data=LONG, method=0) for one in range(10))))
    assert len(source.data) > 3 * WINDOW

    for _, chunks in source.archive().contents():
        for _ in chunks:
            pass

    assert sum(length for _, length in source.reads) < 1.02 * len(source.data)


def test_entry_arrives_in_chunks() -> None:
    walk = Object(archive(File(data=LONG))).archive().contents()
    lengths = [len(chunk) for _, chunks in walk for chunk in chunks]

    assert sum(lengths) == len(LONG)
    assert max(lengths) <= 1024 * 1024 + 4096


def test_read_without_an_answer_is_transient() -> None:
    with pytest.raises(ArchiveCutShort):
        Archive(lambda _offset, _length: b"", 1000)


NAMES = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20).map(lambda name: f"{name}.csv")
CELLS = st.text(st.characters(exclude_characters="\0", codec="utf-8")).map(str.encode)


@given(
    st.lists(st.tuples(NAMES, CELLS), min_size=1, unique_by=lambda one: same(one[0])),
    st.booleans(),
    st.booleans(),
)
def test_honest_archive_round_trips(files: list[tuple[str, bytes]], seekable: bool, zip64: bool) -> None:
    assert contents(zipped(dict(files), seekable=seekable, zip64=zip64)) == dict(files)


@pytest.mark.slow
@settings(max_examples=500)
@given(st.data())
def test_changed_byte_is_rejected_or_harmless(data: st.DataObject) -> None:
    honest = zip64(File(b"a.csv"), File("商品.csv", method=0))
    at = data.draw(st.integers(0, len(honest) - 1))
    changed = honest[:at] + bytes([data.draw(st.integers(0, 255))]) + honest[at + 1 :]

    try:
        found = contents(changed)
    except ArchiveRefused:
        return
    assert list(found.values()) == [CSV, CSV]


@given(st.binary(max_size=2000), st.integers(0, 3))
def test_random_bytes_are_rejected(noise: bytes, ends: int) -> None:
    with pytest.raises(ArchiveRefused):
        contents(noise + archive()[-22:] * ends)
