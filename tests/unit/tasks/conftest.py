import pytest

from tests.kit.tasks import TaskWorld
from tests.unit import dynamodb
from tests.unit.pauses import no_pause

__all__ = ["no_pause"]


@pytest.fixture
def world() -> TaskWorld:
    return TaskWorld(dynamodb.client())
