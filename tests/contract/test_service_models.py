"""The service models in the build contain what the code calls, as botocore has it."""

from collections.abc import Iterator
from pathlib import Path

import botocore
import pytest
from botocore import xform_name
from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HeadersDict
from botocore.exceptions import ClientError
from botocore.loaders import create_loader
from botocore.session import Session, get_session

from runtime import clients
from service_models import BY_BOTOCORE, OPERATIONS, cut_down, write


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The models reduced from the installed botocore, the version in service_models.txt, in the clients' path."""
    folder = tmp_path_factory.mktemp("service_models")
    write(Path(botocore.__file__).parent / "data", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clients, "_SERVICE_MODELS", folder)
        yield folder


def _new_session() -> Session:
    """Like `clients.session`, but new each time, because clients change their session's models."""
    made: Session = clients.session.__wrapped__()
    return made


@pytest.mark.parametrize("service", OPERATIONS)
def test_functions_client_has_exactly_these_operations(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = _new_session().create_client(service)

    assert set(client.meta.service_model.operation_names) == {*OPERATIONS[service], *BY_BOTOCORE.get(service, ())}
    assert callable(getattr(client, xform_name(OPERATIONS[service][0])))


def test_botocore_can_look_up_the_region_of_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "us-east-1")
    client = _new_session().create_client("s3")
    asked = []

    def refuse(request: AWSPreparedRequest, **_: object) -> AWSResponse:
        asked.append(request.method)
        response = AWSResponse(str(request.url), 400, HeadersDict(), None)
        response._content = b""
        return response

    client.meta.events.register("before-send", refuse)
    with pytest.raises(ClientError, match="400"):
        client.head_object(Bucket="bucket", Key="key", VersionId="no version")
    assert asked == ["HEAD", "HEAD"]


def test_reduced_model_keeps_shapes_and_a_member_named_documentation() -> None:
    model = {
        "operations": {"Kept": {"input": {"shape": "In"}, "documentation": "-"}, "Other": {"input": {"shape": "Gone"}}},
        "shapes": {
            "In": {"type": "structure", "members": {"documentation": {"shape": "Text", "documentation": "-"}}},
            "Text": {"type": "string"},
            "Gone": {"type": "string"},
        },
    }

    assert cut_down(model, ("Kept",)) == {
        "operations": {"Kept": {"input": {"shape": "In"}}},
        "shapes": {
            "In": {"type": "structure", "members": {"documentation": {"shape": "Text"}}},
            "Text": {"type": "string"},
        },
    }


@pytest.mark.parametrize("service", OPERATIONS)
def test_reduced_model_equals_botocores(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A client of S3 changes the model, which other tests share.
    monkeypatch.setattr("botocore.session.create_loader", create_loader)
    whole, kept = (one.get_service_model(service) for one in (get_session(), _new_session()))
    for name in kept.operation_names:
        ours, theirs = kept.operation_model(name), whole.operation_model(name)
        assert ours.input_shape is not None
        assert theirs.input_shape is not None
        assert ours.http == theirs.http
        assert set(ours.input_shape.members) == set(theirs.input_shape.members)
        assert [shape.name for shape in ours.error_shapes] == [shape.name for shape in theirs.error_shapes]
