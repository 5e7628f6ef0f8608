"""boto3's own stub of Amazon Connect accepts the simulator's answers."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.stub import Stubber

from stepwise.local.simulators.connect.operations import OPERATIONS
from tests.kit.connect_simulator import Connect, Document, client, new_instance

MODEL = ServiceModel(Loader().load_service_model("connect", "service-2"))
ERRORS = {
    "InvalidParameterException": 400,
    "InvalidRequestException": 400,
    "ServiceQuotaExceededException": 402,
    "ResourceNotFoundException": 404,
    "DuplicateResourceException": 409,
    "LimitExceededException": 429,
    "ThrottlingException": 429,
    "InternalServiceException": 500,
}


def calls(connect: Connect) -> Iterator[tuple[str, Document]]:
    """Every operation at least once, in an order that satisfies their preconditions."""
    yield "CreateInstance", new_instance(Tags={"stack": "stepwise"}, ClientToken="token-1")
    instance_id = connect.control.instances()[0]["id"]
    instance = {"InstanceId": instance_id}
    yield "DescribeInstance", instance
    yield "ListInstances", {"MaxResults": 10}
    connect.clock.advance(10)
    yield "DescribeInstance", instance
    yield "ListSecurityProfiles", instance
    yield "ListSecurityProfiles", {**instance, "MaxResults": 2}
    yield "ListRoutingProfiles", instance
    phone = {"PhoneType": "SOFT_PHONE", "AutoAccept": False, "AfterContactWorkTimeLimit": 60}
    user = connect.user(instance_id, Tags={"row": "1"}, PhoneConfig=phone)
    yield "CreateUser", user
    yield "CreateUser", user | {"Username": "b"}
    yield "ListUsers", instance
    yield "ListUsers", {**instance, "MaxResults": 1}
    condition = {"FieldName": "Username", "Value": user["Username"], "ComparisonType": "EXACT"}
    yield "SearchUsers", {**instance, "SearchCriteria": {"StringCondition": condition}}
    found = connect.client.list_users(**instance)["UserSummaryList"][0]
    yield "DescribeUser", {**instance, "UserId": found["Id"]}
    yield "TagResource", {"resourceArn": found["Arn"], "tags": {"b": "2"}}
    yield "ListTagsForResource", {"resourceArn": found["Arn"]}
    yield "UntagResource", {"resourceArn": found["Arn"], "tagKeys": ["row", "b"]}
    yield "ListTagsForResource", {"resourceArn": found["Arn"]}
    yield "DeleteUser", {**instance, "UserId": found["Id"]}
    connect.control.fail_creation()
    yield "CreateInstance", new_instance(InstanceAlias="failing")
    connect.clock.advance(10)
    yield "DescribeInstance", {"InstanceId": connect.control.instances()[1]["id"]}
    yield "DeleteInstance", instance


def without_metadata(answer: Document) -> Document:
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def call(connect: Any, operation: str, parameters: Document) -> Document:
    return without_metadata(getattr(connect, xform_name(operation))(**parameters))


def test_every_response_passes_the_botocore_stub(connect: Connect) -> None:
    stubbed, done = client("http://127.0.0.1:9"), set()
    for operation, parameters in calls(connect):
        answer = call(connect.client, operation, parameters)
        with Stubber(stubbed) as stub:
            stub.add_response(xform_name(operation), answer, parameters)
            assert call(stubbed, operation, parameters) == answer
        done.add(operation)
    assert done == OPERATIONS.keys()


def test_answers_echo_the_request_fields(connect: Connect) -> None:
    """Responses about a resource contain every field of the request that they can."""
    user = connect.user(connect.instance(), Tags={"row": "1"}, PhoneConfig={"PhoneType": "SOFT_PHONE"})
    created = connect.client.create_user(**user)
    described = connect.client.describe_user(InstanceId=user["InstanceId"], UserId=created["UserId"])["User"]
    carried = MODEL.shape_for("CreateUserRequest").members.keys() & MODEL.shape_for("User").members.keys()
    assert {name: user[name] for name in carried & user.keys()} == {
        name: described[name] for name in carried & user.keys()
    }


@pytest.mark.parametrize(("code", "status"), ERRORS.items())
def test_every_error_is_raised_as_the_class_the_stub_raises(connect: Connect, code: str, status: int) -> None:
    connect.control.fail("ListUsers", code, message="on request")
    with pytest.raises(getattr(connect.client.exceptions, code)) as caught:
        connect.client.list_users(InstanceId="i-1")
    stubbed = client("http://127.0.0.1:9")
    with Stubber(stubbed) as stub:
        stub.add_client_error("list_users", code, "on request", status)
        with pytest.raises(getattr(stubbed.exceptions, code)) as expected:
            stubbed.list_users(InstanceId="i-1")
    for response in (caught.value.response, expected.value.response):
        assert response["Error"] == {"Code": code, "Message": "on request"}
        assert response["ResponseMetadata"]["HTTPStatusCode"] == status


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_simulator_returns_only_errors_of_the_operation(connect: Connect, operation: str) -> None:
    """For a missing resource, each operation returns an error that the model lists for it."""
    shape = MODEL.operation_model(operation).input_shape
    anything: Document = {"Username": "a", "tags": {"a": "1"}, "tagKeys": ["a"], "SecurityProfileIds": ["p"]}
    parameters = {name: anything.get(name, "nothing") for name in shape.required_members}
    if operation == "CreateInstance":
        parameters = new_instance(InstanceAlias="d-")
    if operation == "ListInstances":
        parameters = {"NextToken": "nothing"}
    with pytest.raises(ClientError) as caught:
        call(connect.client, operation, parameters)
    errors = {error.name for error in MODEL.operation_model(operation).error_shapes}
    assert caught.value.response["Error"]["Code"] in errors
