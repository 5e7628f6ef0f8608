"""CatalogBucket: one JSON object per product."""

import json
import secrets
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from idempotency import Contention
from idempotency.dynamodb import Action, LeaseClient
from runtime.transient import transient_as

from .errors import StaleCommand, TargetUnavailable
from .products import facts
from .tables import Rows
from .targets import Document, is_shown

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# A round is lost if another version was written, or a response was lost.
_ROUNDS = 3
# Without s3:ListBucket, S3 answers "denied" if the key is missing.
_MISSING = frozenset({"AccessDenied", "NoSuchKey", "403", "404"})
_CHANGED = frozenset({"ConditionalRequestConflict", "NoSuchKey", "OperationAborted", "PreconditionFailed"})
_TRANSIENT = frozenset({"RequestTimeout", "SlowDown"})


@dataclass(frozen=True, slots=True)
class _Object:
    """An object: its version and its ETag."""

    version: int
    etag: str


@dataclass(frozen=True, slots=True)
class CatalogBucket:
    """The bucket as a target.

    client: a `boto3.client("s3")`. name: the bucket's name. gates: a `boto3.client("dynamodb")`.
    """

    client: "S3Client"
    name: str
    gates: LeaseClient

    def version(self, pk: str, sk: str) -> int:
        """Return the version that the object shows. One call."""
        found = self._read(_key(pk, sk))
        return found.version if found else 0

    def write(self, document: Document, turn: Action | None = None, /, *, skipped: int = 0) -> None:
        """Show the document. Reads the object and the gate, then puts on the condition that the object is unchanged.

        S3 cannot check whose turn it is, so the bucket may show a version that is skipped later. After a skip, a late
        put of that version must not overwrite what a rebuild wrote or left: each put makes another ETag, the gate is
        read after the object, and a rebuild writes even if the object shows the document already.
        """
        key = _key(document.pk, document.sk)
        for _ in range(_ROUNDS):
            found = self._read(key)
            shown = found.version if found else 0
            if is_shown(document, shown, skipped) and not shown == document.version < skipped:
                return
            if turn and not Rows.is_turn(self.gates, turn):
                raise StaleCommand(f"{document.sk}@{document.version}: it is not its turn")
            if self._put(key, document, found):
                return
        raise Contention(f"{key} is being written by other calls")

    def _read(self, key: str) -> _Object | None:
        try:
            with _answers():
                answer = self.client.get_object(Bucket=self.name, Key=key)
                return _Object(_version(answer["Body"].read()), answer["ETag"])
        except ClientError as error:
            if error.response["Error"]["Code"] in _MISSING:
                return None
            raise

    def _put(self, key: str, document: Document, old: _Object | None) -> bool:
        """Put the object if it has not changed since it was read. Returns whether it did."""
        unchanged: Any = {"IfMatch": old.etag} if old else {"IfNoneMatch": "*"}
        body = json.dumps(_shown(document), ensure_ascii=False).encode() + _salt()
        try:
            with _answers():
                self.client.put_object(
                    Bucket=self.name, Key=key, Body=body, ContentType="application/json", **unchanged
                )
        except ClientError as error:
            if error.response["Error"]["Code"] in _CHANGED:
                return False
            raise
        return True


def _key(pk: str, sk: str) -> str:
    """Name the object of a key. pk: `TENANT#<tenant>`. sk: `PRODUCT#<code>`."""
    return f"{pk.partition('#')[2]}/products/{sk.partition('#')[2]}.json"


def _shown(document: Document) -> dict[str, Any]:
    if document.deleted:
        return {"deleted": True, "version": document.version}
    return {"code": document.code, "category": document.attributes["category"], **facts(document)}


def _salt() -> bytes:
    """Return white space for the end of the text, so that the same document has another ETag each time."""
    return bytes(b" \n"[bit == "1"] for bit in f"{secrets.randbits(64):064b}")


def _version(body: bytes) -> int:
    """Read the version; 0 for an object that CatalogBucket did not write: the next write replaces it."""
    try:
        return int(json.loads(body)["version"])
    except (ValueError, TypeError, LookupError):
        return 0


def _answers() -> AbstractContextManager[None]:
    return transient_as(TargetUnavailable, "S3", _TRANSIENT)
