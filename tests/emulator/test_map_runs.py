"""Behaviour of a Map Run and its children that is too slow or too fast to be observed."""

from typing import Any

import pytest

from stepwise.local.emulator.patches import executions
from stepwise.local.emulator.patches.map_runs import MapRun

PARENT = {"executionArn": "arn:aws:states:eu-west-1:123456789012:execution:m:e"}


@pytest.mark.parametrize(("kind", "seconds"), [("EXPRESS", 300), ("STANDARD", None)])
def test_express_child_may_run_for_five_minutes(kind: str, seconds: int | None) -> None:
    processor = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": kind}}
    assert MapRun(PARENT, "m", "rows", processor, {}).definition.get("TimeoutSeconds") == seconds


def test_child_stopped_before_it_runs_enters_no_state() -> None:
    child: dict[str, Any] = {"executionArn": "child", "status": "ABORTED", "events": []}
    executions.walk(child, "m", {"StartAt": "Give", "States": {"Give": {"Type": "Pass", "End": True}}})
    assert child["events"] == []
