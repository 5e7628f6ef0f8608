from collections.abc import Iterator

import pytest

from tests.kit.connect_simulator import Connect as Simulator
from tests.unit.user_import.import_world import World, versioned_bucket
from user_import.bucket import Bucket


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with versioned_bucket() as made:
        yield made


@pytest.fixture
def world(connect: Simulator, bucket: Bucket) -> World:
    return World(connect, bucket, connect.instance())
