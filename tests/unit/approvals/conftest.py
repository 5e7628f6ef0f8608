import pytest

from entities import backoff
from tests.kit.approvals import ApprovalWorld
from tests.unit import dynamodb


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff.time, "sleep", lambda _: None)


@pytest.fixture
def world() -> ApprovalWorld:
    return ApprovalWorld(dynamodb.client())
