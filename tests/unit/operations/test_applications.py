"""An application submitted by an operator with its document."""

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from accounts.errors import InvalidApplication
from idempotency import IdempotencyError, PayloadMismatch
from stepwise.operations import applications
from stepwise.operations.stack import Stack
from tests.kit.openings import PDF, OpeningWorld, application
from tests.unit.dynamodb import client

OTHER = application(name="Grace Hopper")


@dataclass
class Function:
    """A Lambda client that runs SubmitApplication."""

    world: OpeningWorld

    def invoke(self, *, FunctionName: str, Payload: str) -> Any:
        assert FunctionName == "SubmitApplication"
        try:
            body, failed = self.world.submit(json.loads(Payload)), {}
        except IdempotencyError as error:
            body = {"errorType": type(error).__name__, "errorMessage": str(error)}
            failed = {"FunctionError": "Unhandled"}
        return {"Payload": io.BytesIO(json.dumps(body).encode()), **failed}


class Desk:
    def __init__(self, folder: Path) -> None:
        any_session: Any = None
        self.world, self.folder = OpeningWorld(client()), folder
        outputs = {"ApplicationsTable": self.world.applications.name, "DocumentsBucket": self.world.bucket}
        self.stack = Stack(any_session, None, {**outputs, "SubmitApplicationFunctionArn": "SubmitApplication"})
        self.stack._clients.update({"dynamodb": client(), "s3": self.world.s3, "lambda": Function(self.world)})

    def submit(self, document: Any, content: bytes) -> str:
        file = self.folder / "document"
        file.write_bytes(content)
        return applications.submit(self.stack, document, file)["status"]

    @property
    def document(self) -> bytes:
        body: bytes = self.world.s3.get_object(Bucket=self.world.bucket, Key="documents/a-1")["Body"].read()
        return body


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_document_of_another_application_is_not_replaced(desk: Desk) -> None:
    assert desk.submit(application(), PDF) == "SUBMITTED"
    with pytest.raises(PayloadMismatch):
        desk.submit(OTHER, b"%PDF-1.7 another passport")

    assert desk.document == PDF


def test_application_document_may_be_replaced_until_the_decision(desk: Desk) -> None:
    desk.submit(application(), b"no document")
    assert desk.submit(application(), PDF) == "duplicate"
    assert desk.document == PDF

    desk.world.write("a-1", status="APPROVED")
    assert desk.submit(application(), b"too late") == "duplicate"
    assert desk.document == PDF


@pytest.mark.parametrize("uploaded", [b"", b"no document"])
def test_document_submitted_meanwhile_is_not_replaced(desk: Desk, uploaded: bytes) -> None:
    """Another call uploads and submits after this one has found no application."""
    if uploaded:
        desk.world.s3.put_object(Bucket=desk.world.bucket, Key="documents/a-1", Body=uploaded)
    find = desk.stack.row

    def found_before(*place: Any, **key: Any) -> Any:
        row = find(*place, **key)
        with mock.patch.object(Stack, "row", lambda _, *place, **key: find(*place, **key)):
            desk.submit(application(), PDF)
        desk.world.write("a-1", status="APPROVED")
        return row

    with (
        mock.patch.object(Stack, "row", lambda _, *place, **key: found_before(*place, **key)),
        pytest.raises(applications.DocumentChanged, match="repeat the command"),
    ):
        desk.submit(application(), b"%PDF-1.7 another passport")

    assert desk.document == PDF


def test_nothing_is_uploaded_for_an_unknown_application(desk: Desk) -> None:
    with pytest.raises(InvalidApplication):
        desk.submit({**application(), "document_key": "documents/a-2"}, PDF)

    assert "Contents" not in desk.world.s3.list_objects_v2(Bucket=desk.world.bucket)
