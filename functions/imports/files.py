"""All calls to S3: ImportsBucket."""

import io
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.csv_records import writer
from runtime.objects import BucketUnavailable, answered, guarded

from . import codes
from .errors import InvalidImport
from .requests import Pointer
from .state import Import, Source

CSV = "text/csv; charset=utf-8"
_CHUNK = 256 * 1024
# Between two rows that one read may cover: it costs less time than another read.
_MAX_GAP = 64 * 1024
# S3 takes parts from 5 MiB.
_PART = 5 * 1024 * 1024


type Contents = Mapping[int, bytes]
"""The bytes of rows by offset; none for a row that is too long."""


@dataclass(frozen=True, slots=True)
class Files:
    """client: a `boto3.client("s3")`. name: of a versioned bucket."""

    client: Any
    name: str

    def source(self, key: str) -> Source:
        """The current version. Raises InvalidImport, BucketUnavailable."""
        answer = answered(lambda: self.client.head_object(Bucket=self.name, Key=key), key, _missing(key))
        return Source(key, answer["VersionId"])

    def size(self, source: Source) -> int:
        """Bytes of a version. Raises InvalidImport, BucketUnavailable."""
        version = {"Key": source.key, "VersionId": source.version_id}
        answer = answered(
            lambda: self.client.head_object(Bucket=self.name, **version), source.key, _missing(source.key)
        )
        return int(answer["ContentLength"])

    def stream(self, source: Source, chunk: int = _CHUNK) -> Generator[bytes]:
        """The file, in chunks. Closing the iterator ends the download. Raises InvalidImport, BucketUnavailable."""
        body = self._get(source.key, VersionId=source.version_id)
        try:
            yield from guarded(body.iter_chunks(chunk), source.key)
        finally:
            body.close()

    def part(self, source: Source, offset: int, length: int) -> bytes:
        """These bytes. Raises InvalidImport, BucketUnavailable."""
        return b"".join(self.ranged(source, offset, length))

    def ranged(self, source: Source, offset: int, length: int) -> Iterator[bytes]:
        """These bytes, in chunks. Raises InvalidImport, BucketUnavailable."""
        body = self._get(source.key, VersionId=source.version_id, Range=f"bytes={offset}-{offset + length - 1}")
        return guarded(body.iter_chunks(_CHUNK), source.key)

    def read(self, key: str) -> bytes:
        """A whole object of our own. Raises InvalidImport, BucketUnavailable."""
        return b"".join(guarded(self._get(key).iter_chunks(_CHUNK), key))

    def own_stream(self, key: str) -> Iterator[bytes]:
        """An object of our own, in chunks. Raises InvalidImport, BucketUnavailable."""
        return guarded(self._get(key).iter_chunks(_CHUNK), key)

    def put(self, key: str, data: bytes, content_type: str = CSV) -> None:
        """Write an object. Raises BucketUnavailable."""
        self._call(self.client.put_object, key, Body=data, ContentType=content_type)

    def copy(self, key: str, to: str) -> None:
        """Copy an object of our own, of up to 5 GB, inside S3. Raises InvalidImport, BucketUnavailable."""
        source = {"Bucket": self.name, "Key": key}
        answered(lambda: self.client.copy_object(Bucket=self.name, Key=to, CopySource=source), to, _missing(key))

    def delete_all(self, prefix: str) -> None:
        """Delete every version of every object with this prefix. Raises BucketUnavailable."""
        while found := self._versions(prefix):
            done = self._of_bucket(self.client.delete_objects, prefix, Delete={"Objects": found, "Quiet": True})
            if done.get("Errors"):
                raise BucketUnavailable(f"{prefix}: S3 did not delete every object")

    def _versions(self, prefix: str) -> list[dict[str, str]]:
        """Up to 1,000 versions and delete markers."""
        page = self._of_bucket(self.client.list_object_versions, prefix, Prefix=prefix)
        listed = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        return [{"Key": version["Key"], "VersionId": version["VersionId"]} for version in listed]

    def writer(self, key: str) -> "Writer":
        """Writes an object of any size, in constant memory."""
        return Writer(self, key)

    def _get(self, key: str, **more: str) -> Any:
        found = answered(lambda: self.client.get_object(Bucket=self.name, Key=key, **more), key, _missing(key))
        return found["Body"]

    def _call(self, method: Callable[..., Any], key: str, **more: Any) -> Any:
        return self._of_bucket(method, key, Key=key, **more)

    def _of_bucket(self, method: Callable[..., Any], key: str, **more: Any) -> Any:
        return answered(lambda: method(Bucket=self.name, **more), key)


class Writer:
    """An object that is written in pieces: in one put if it is small, otherwise in parts."""

    def __init__(self, files: Files, key: str) -> None:
        self._files, self._key = files, key
        self._pending = bytearray()
        self._upload: str | None = None
        self._parts: list[dict[str, Any]] = []
        self._text = io.StringIO(newline="")
        self._write = writer(self._text)

    @property
    def key(self) -> str:
        return self._key

    def row(self, cells: Sequence[object]) -> None:
        """Write a row of CSV, whose texts no spreadsheet runs. Raises BucketUnavailable."""
        self._write(cells)
        if self._text.tell() >= _CHUNK:
            self._flush()

    def write(self, data: bytes) -> None:
        """Write bytes. Raises BucketUnavailable."""
        self._pending += data
        if len(self._pending) >= _PART:
            self._send()

    def abort(self) -> None:
        """Drop what was written. Raises BucketUnavailable."""
        if self._upload is not None:
            self._files._call(self._files.client.abort_multipart_upload, self._key, UploadId=self._upload)

    def close(self) -> str:
        """Write what is left. Returns the key. Raises BucketUnavailable."""
        self._flush()
        if self._upload is None:
            self._files.put(self._key, bytes(self._pending))
            return self._key
        if self._pending:
            self._send()
        client = self._files.client
        parts = {"Parts": self._parts}
        self._files._call(client.complete_multipart_upload, self._key, UploadId=self._upload, MultipartUpload=parts)
        return self._key

    def _flush(self) -> None:
        self._pending += self._text.getvalue().encode()
        self._text.seek(0)
        self._text.truncate()
        if len(self._pending) >= _PART:
            self._send()

    def _send(self) -> None:
        client, number = self._files.client, len(self._parts) + 1
        if self._upload is None:
            started = self._files._call(client.create_multipart_upload, self._key, ContentType=CSV)
            self._upload = str(started["UploadId"])
        sent = self._files._call(
            client.upload_part, self._key, UploadId=self._upload, PartNumber=number, Body=bytes(self._pending)
        )
        self._parts.append({"ETag": sent["ETag"], "PartNumber": number})
        self._pending.clear()


def read_rows(files: Files, import_: Import, pointers: Sequence[Pointer]) -> Contents:
    """The bytes of these rows, in one read for a batch whose rows follow each other."""
    found: dict[int, bytes] = {}
    for run in _runs([pointer for pointer in pointers if pointer.length <= codes.MAX_ROW]):
        start, end = run[0].offset, run[-1].offset + run[-1].length
        data = files.part(import_.source, start, end - start)
        found |= {row.offset: data[row.offset - start : row.offset - start + row.length] for row in run}
    return found


def rows_left(files: Files, import_: Import, pointers: Sequence[Pointer]) -> Contents:
    """As `read_rows`; none if the file was removed since it was read: the import must end all the same."""
    try:
        return read_rows(files, import_, pointers)
    except InvalidImport:
        return {}


def lines_left(files: Files, import_: Import, offset: int, length: int) -> int:
    """Count the lines of a row that is too long to keep; 1 if the file was removed since it was read."""
    try:
        return 1 + sum(chunk.count(b"\n") for chunk in files.ranged(import_.source, offset, length)) if length else 1
    except InvalidImport:
        return 1


def _runs(pointers: Sequence[Pointer]) -> list[list[Pointer]]:
    """Pointers whose rows lie next to each other."""
    runs: list[list[Pointer]] = []
    for pointer in pointers:
        if runs and pointer.offset - runs[-1][-1].offset - runs[-1][-1].length <= _MAX_GAP:
            runs[-1].append(pointer)
        else:
            runs.append([pointer])
    return runs


def _missing(key: str) -> InvalidImport:
    return InvalidImport(f"key: {key}: no such object, or not in this version")
