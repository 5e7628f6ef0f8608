"""Documents of applicants, read from S3 by ranges."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.objects import BucketUnavailable, answered, guarded

from .errors import DocumentMissing

MAX_DOCUMENT = 10 * 1024 * 1024
"""Bytes of a document."""
_PIECE = 1024 * 1024
_FIRST_BYTES = (b"%PDF-", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")
# Errors for a range of an empty object.
_EMPTY = frozenset({"InvalidRange", "416"})
_REPLACED = frozenset({"PreconditionFailed", "412"})


@dataclass(frozen=True, slots=True)
class Document:
    """size: in bytes. known: whether its first bytes are those of a PDF, a JPEG or a PNG. digest: None if too large."""

    size: int
    known: bool
    digest: str | None


@dataclass(frozen=True, slots=True)
class Documents:
    """client: a `boto3.client("s3")`. bucket: its name."""

    client: Any
    bucket: str

    def find(self, key: str, version: str | None, pin: Callable[[str], str]) -> Document | None:
        """Read one version of a document whole, unless it is too large. None if it is not there.

        version: the one to read; None for the newest, which `pin` then stores. pin: returns the version that counts.
        Raises BucketUnavailable, and as `pin`.
        """
        try:
            return self._read(key, version, pin)
        except DocumentMissing:
            return None

    def _read(self, key: str, version: str | None, pin: Callable[[str], str]) -> Document:
        first, size, found = self._range(key, 0, **({"VersionId": version} if version else {}))
        if version is None and (newest := found.get("VersionId")) and (first_one := pin(newest)) != newest:
            # Another try of the check was faster.
            return self._read(key, first_one, pin)
        pinned = found.get("VersionId")
        same = {"VersionId": pinned} if pinned else {"IfMatch": found["ETag"]}
        known, hashed, read = first.startswith(_FIRST_BYTES), hashlib.sha256(first), len(first)
        if size > MAX_DOCUMENT:
            return Document(size, known, None)
        while read < size:
            piece, _, _ = self._range(key, read, **same)
            if not piece:
                raise BucketUnavailable(f"{key}: no bytes at {read} of {size}")
            hashed.update(piece)
            read += len(piece)
        return Document(size, known, hashed.hexdigest())

    def _range(self, key: str, start: int, **more: str) -> tuple[bytes, int, Mapping[str, Any]]:
        """Bytes from `start` on, the size of the object, and the response."""
        wanted = {"Bucket": self.bucket, "Key": key, "Range": f"bytes={start}-{start + _PIECE - 1}", **more}
        try:
            found = answered(lambda: self.client.get_object(**wanted), key, DocumentMissing(key))
        except Exception as error:
            if _code(error) in _REPLACED:
                raise BucketUnavailable(f"{key}: replaced while it was read") from None
            if _code(error) not in _EMPTY:
                raise
            del wanted["Range"]
            found = answered(lambda: self.client.get_object(**wanted), key, DocumentMissing(key))
            if found["ContentLength"]:
                raise BucketUnavailable(f"{key}: replaced while it was read") from None
            return b"", 0, found
        body = b"".join(guarded(found["Body"].iter_chunks(_PIECE), key))
        return body, int(found["ContentRange"].rpartition("/")[2]), found


def _code(error: Exception) -> str:
    response = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))
