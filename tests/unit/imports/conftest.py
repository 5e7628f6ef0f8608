import pytest

from entities import backoff
from tests.kit.import_world import ImportWorld
from tests.unit import dynamodb


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff.time, "sleep", lambda _: None)


@pytest.fixture
def world() -> ImportWorld:
    return ImportWorld(dynamodb.client())
