import pytest

from tests.kit.commands import World
from tests.unit import dynamodb
from tests.unit.pauses import no_pause

__all__ = ["no_pause"]


@pytest.fixture
def world() -> World:
    return World(dynamodb.client())
