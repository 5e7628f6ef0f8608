"""Starts an import when its file is uploaded, once for each upload."""

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from runtime.validation import parser

from .bucket import date_in_name
from .errors import UploadNameInvalid

if TYPE_CHECKING:
    from runtime.machine import Machine


@dataclass(frozen=True, slots=True)
class Upload:
    """A version of a file that was put into a bucket."""

    bucket: str
    key: str
    version_id: str


class _Bucket(Struct):
    name: str


class _Object(Struct, rename="kebab"):
    key: str
    version_id: str


class _Detail(Struct):
    bucket: _Bucket
    object: _Object


class _Event(Struct):
    detail: _Detail


_parse = parser(_Event)


def parse_upload(event: Any) -> Upload:
    """Read an event *Object Created* of S3. Raises InvalidEvent."""
    detail = _parse(event).detail
    return Upload(detail.bucket.name, detail.object.key, detail.object.version_id)


@dataclass(frozen=True, slots=True)
class Uploads:
    """machine: user-import. prefix: of the files to import."""

    machine: "Machine"
    prefix: str

    def start(self, bucket: str, key: str, version_id: str) -> str:
        """Start the import of an uploaded file, unless it was started before. Returns the execution's name.

        Raises UploadNameInvalid, ExecutionsUnavailable.
        """
        date = date_in_name(key, self.prefix) if key.startswith(self.prefix) else None
        if date is None:
            raise UploadNameInvalid(
                f"{key}: must end in {self.prefix}<yyyymmdd>.csv, with a valid date, and be in no folder"
            )
        name = execution_name(bucket, key, version_id, date)
        self.machine.start(name, {"key": key, "version_id": version_id})
        return name


def execution_name(bucket: str, key: str, version_id: str, date: str) -> str:
    """Derives from the upload, because S3 and EventBridge may deliver its event twice. At most 80 characters."""
    digest = hashlib.sha256(json.dumps([bucket, key, version_id]).encode()).hexdigest()
    return f"upload-{date}-{digest[:32]}"
