"""All calls to S3: the bucket for files of users and for results."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from runtime.objects import answered, guarded

from .errors import NoImportFile

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class Source:
    """One version of one file. Its content never changes."""

    key: str
    version_id: str


@dataclass(frozen=True, slots=True)
class Stored:
    """An object in the bucket. metadata: the metadata that it was written with."""

    source: Source
    etag: str
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Bucket:
    """client: a `boto3.client("s3")`. name: of a versioned bucket."""

    client: "S3Client"
    name: str

    def source(self, key: str, version_id: str | None = None) -> Source:
        """The current version, or the given one. Raises NoImportFile, BucketUnavailable."""
        return self.stored(key, version_id).source

    def stored(self, key: str, version_id: str | None = None) -> Stored:
        """Like `source`, with the object's metadata."""
        version: Any = {"VersionId": version_id} if version_id else {}
        answer = answered(lambda: self.client.head_object(Bucket=self.name, Key=key, **version), key, _missing(key))
        return Stored(Source(key, answer["VersionId"]), answer["ETag"], answer["Metadata"])

    def keys(self, prefix: str) -> Iterator[str]:
        """Every key with this prefix. Raises BucketUnavailable."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix, Delimiter="/")
        for page in guarded(iter(pages), prefix):
            for found in page.get("Contents", []):
                yield found["Key"]

    def stream(self, source: Source) -> Iterator[bytes]:
        """The file, in chunks. Raises NoImportFile, BucketUnavailable (also while it is read)."""
        body = self._get(source)["Body"]
        yield from guarded(body.iter_chunks(_CHUNK), source.key)

    def part(self, source: Source, offset: int, length: int) -> bytes:
        """These bytes, or fewer at the end of the file. Raises NoImportFile, BucketUnavailable."""
        try:
            answer = self._get(source, Range=f"bytes={offset}-{offset + length - 1}")
        except ClientError as error:
            if error.response["Error"]["Code"] == "InvalidRange":
                return b""
            raise
        return b"".join(guarded(answer["Body"].iter_chunks(_CHUNK), source.key))

    def put(self, key: str, data: bytes, metadata: Mapping[str, str], **condition: Any) -> Source:
        """Write a CSV file, in one put. Raises BucketUnavailable."""
        answer = answered(
            lambda: self.client.put_object(
                Bucket=self.name,
                Key=key,
                Body=data,
                ContentType="text/csv; charset=utf-8",
                Metadata=dict(metadata),
                **condition,
            ),
            key,
        )
        return Source(key, answer["VersionId"])

    def replace(self, key: str, data: bytes, metadata: Mapping[str, str], old: Stored | None) -> Source | None:
        """Replace the object that was read at the key, or none. Returns None if the key has changed since."""
        try:
            return self.put(key, data, metadata, **({"IfMatch": old.etag} if old else {"IfNoneMatch": "*"}))
        except ClientError as error:
            if error.response["Error"]["Code"] in {"PreconditionFailed", "NoSuchKey"}:
                return None
            raise

    def _get(self, source: Source, **more: str) -> Any:
        return answered(
            lambda: self.client.get_object(
                Bucket=self.name,
                Key=source.key,
                VersionId=source.version_id,
                **more,  # type: ignore[arg-type]
            ),
            source.key,
            _missing(source.key),
        )


def date_in_name(key: str, prefix: str) -> str | None:
    """yyyymmdd of `<prefix>yyyymmdd.csv`, in any folder; None for another name or an invalid date."""
    match = re.fullmatch(rf"(?:.*/)?{re.escape(prefix)}([0-9]{{8}})\.csv", key, re.DOTALL)
    if match is None:
        return None
    try:
        datetime.strptime(match[1], "%Y%m%d")  # noqa: DTZ007 - a date, without a time
    except ValueError:
        return None
    return match[1]


def folder_of(key: str) -> str:
    """ "" or a path that ends with a slash."""
    return key[: key.rfind("/") + 1]


def _missing(key: str) -> NoImportFile:
    return NoImportFile(f"{key}: no such file, not in this version, or not for this function to read")
