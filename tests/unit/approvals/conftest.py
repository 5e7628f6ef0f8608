import pytest

from tests.kit.approvals import ApprovalWorld
from tests.unit import dynamodb
from tests.unit.pauses import no_pause

__all__ = ["no_pause"]


@pytest.fixture
def world() -> ApprovalWorld:
    return ApprovalWorld(dynamodb.client())
