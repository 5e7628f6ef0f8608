"""Commands on the running stack: order, ends, retry and skip, targets, synchronous publishing."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from stepwise.operations.stack import Row, Stack
from tests.kit.belongings import RUN
from tests.kit.deployed_commands import Refused, Versions
from tests.kit.injection import Resources, denied, eventually, no_concurrency, through_proxy

pytestmark = pytest.mark.local_only("publish versions, whose keys nothing may remove")

PRODUCT = {"category": "tea", "price": 1500, "currency": "JPY"}


@pytest.fixture
def key(stack: Stack) -> Versions:
    """A new key of an unregistered type."""
    return Versions(stack, RUN, uuid.uuid4().hex)


@pytest.fixture
def product(stack: Stack) -> Versions:
    return Versions(stack, RUN, uuid.uuid4().hex, "PRODUCT")


def category_row(product: Versions, category: str) -> Row | None:
    return product.stack.row("ProductsTable", pk=f"{product.pk}#CATEGORY#{category}", sk=product.sk)


def catalog(product: Versions) -> Any:
    """The product's object; None if there is none."""
    s3 = product.stack.client("s3")
    try:
        name = f"{product.tenant}/products/{product.name}.json"
        found = s3.get_object(Bucket=product.stack.outputs["CatalogBucket"], Key=name)
    except s3.exceptions.NoSuchKey:
        return None
    return json.loads(found["Body"].read())


@contextmanager
def running_version(key: Versions, resources: Resources, version: int = 1) -> Iterator[None]:
    """Publish a version and hold it in history_copy for the length of the block."""
    with through_proxy(key.stack, resources, "HistoryCopy") as proxy:
        proxy.held.clear()
        key.publish(version)
        eventually(lambda: "set_ttl_command" in key.row(version)["status"])
        try:
            yield
        finally:
            proxy.held.set()


def test_command_reaches_data_and_the_next_one_history(key: Versions) -> None:
    answer = key.publish(1)
    again = key.publish(1)
    key.reaches(1)
    key.publish(2, attributes={"status": "shipped"})
    key.reaches(2)

    assert answer == {"pk": key.pk, "sk": f"{key.sk}@1", "version": 1, "status": "published"}
    assert again == {**answer, "status": "duplicate"}
    assert (key.data["version"], key.data["attributes"], key.data["deleted"]) == (2, {"status": "shipped"}, False)
    assert key.history == [1]
    assert key.row(2)["status"] == "finish:FINISHED"
    assert int(key.row(2)["expires_at"]) > time.time() + 80 * 86_400
    assert key.ended(2)["status"] == "SUCCEEDED"
    history = key.stack.stepfunctions.get_execution_history(executionArn=key.arn(2))
    assert "shipped" not in str((key.ended(2), history["events"]))
    assert "pending_since" not in key.gate


def test_synchronous_command_is_finished_when_it_returns(key: Versions) -> None:
    answer = key.publish(1, mode="sync")

    assert answer["status"] == "finished"
    assert (key.data["version"], key.row(1)["status"]) == (1, "finish:FINISHED")
    with pytest.raises(key.stack.stepfunctions.exceptions.ExecutionDoesNotExist):
        key.ended(1)


def test_version_that_arrives_first_waits_for_its_predecessor(key: Versions, resources: Resources) -> None:
    with no_concurrency(key.stack, resources, "StartCommands"):
        key.publish(1)
        key.publish(2)
        key.start(2)
        key.waits(2)
        assert key.finished == 0
    key.reaches(2)

    assert [key.ended(version)["status"] for version in (1, 2)] == ["SUCCEEDED", "SUCCEEDED"]
    assert (key.data["version"], key.history) == (2, [1])
    assert "tokens" not in key.row(2)


def test_dead_version_is_listed_by_its_event_and_can_be_retried(key: Versions, resources: Resources) -> None:
    with running_version(key, resources):
        key.publish(2)
        key.waits(2)
        key.stop(1)
        eventually(lambda: key.blocked, seconds=300)
    assert key.row(1)["status"].endswith(":FAILED")
    assert "expires_at" not in key.row(1)
    listed = key.stack.rows("GatesTable", index="pending_since")
    assert [row["dead"] for row in listed if row["sk"] == key.sk] == [{1}]
    with pytest.raises(Refused, match="PendingCommand"):
        key.publish(3, mode="sync")

    key.decide("RetryCommand")
    key.reaches(2)
    assert int(key.row(1)["attempt"]) == 2
    assert (key.data["version"], key.history, key.dead) == (2, [1], set())


def test_failing_target_blocks_its_key_until_it_is_retried(
    product: Versions, resources: Resources, alerts: Callable[[str], list[Any]]
) -> None:
    with denied(product.stack, resources, "SyncData"):
        product.publish(1, attributes=PRODUCT)
        eventually(lambda: product.blocked)
    assert product.ended(1)["error"] == "UnexpectedFailure"
    told: list[Any] = []
    eventually(lambda: bool(told.extend(alerts(product.execution(1))) or told))
    assert (told[0]["version"], told[0]["error"]) == (1, "UnexpectedFailure")
    assert "tea" not in str(told)

    product.decide("RetryCommand")
    product.reaches(1)
    row = category_row(product, "tea")
    assert row is not None
    assert (row["version"], row["price"]) == (1, 1500)
    assert catalog(product)["version"] == 1


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_targets_follow_a_category_change_a_deletion_and_a_revival(product: Versions, mode: str) -> None:
    product.publish(1, attributes=PRODUCT, mode=mode)
    product.reaches(1)
    product.publish(2, attributes={"category": "coffee"}, merge=True, mode=mode)
    eventually(lambda: (catalog(product) or {}).get("category") == "coffee")
    eventually(lambda: category_row(product, "coffee") is not None)
    assert category_row(product, "tea") is None

    product.reaches(2)
    product.publish(3, attributes={}, deleted=True, mode=mode)
    eventually(lambda: catalog(product) == {"deleted": True, "version": 3})
    eventually(lambda: category_row(product, "coffee") is None)
    product.reaches(3)
    assert (product.data["deleted"], product.data["version"]) == (True, 3)

    product.publish(4, attributes=PRODUCT, mode=mode)
    eventually(lambda: catalog(product)["version"] == 4)
    eventually(lambda: category_row(product, "tea") is not None)
    product.reaches(4)
    assert product.history == [1, 2, 3]
