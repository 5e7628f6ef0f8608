import pytest

from tests.kit.import_world import ImportWorld
from tests.unit import dynamodb
from tests.unit.pauses import no_pause

__all__ = ["no_pause"]


@pytest.fixture
def world() -> ImportWorld:
    return ImportWorld(dynamodb.client())
