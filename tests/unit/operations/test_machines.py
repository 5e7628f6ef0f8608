"""Executions of several machines: merged by their last change, filtered, a page at a time."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from stepwise.operations import machines
from stepwise.operations.runs import RunNotFound
from stepwise.operations.stack import Stack

BEGIN = datetime(2026, 11, 23, 12, tzinfo=UTC)
A, B = "arn:aws:states:us-east-1:000000000000:stateMachine:a", "arn:aws:states:us-east-1:000000000000:stateMachine:b"


def at(minutes: int) -> datetime:
    return BEGIN + timedelta(minutes=minutes)


@dataclass
class Client:
    """A client of ListExecutions with Step Functions' order, and at most two per page. sizes: requested page sizes."""

    runs: list[tuple[str, str, str, datetime, datetime | None]]
    sizes: list[int] = field(default_factory=list)

    def list_executions(
        self, *, stateMachineArn: str, maxResults: int, statusFilter: str = "", nextToken: str = "0"
    ) -> Any:
        self.sizes.append(maxResults)
        mine = [one for one in self.runs if one[0] == stateMachineArn and statusFilter in ("", one[2])]
        mine.sort(key=lambda one: one[4] or one[3], reverse=True)
        first = int(nextToken)
        page: dict[str, Any] = {"executions": [_listed(one) for one in mine[first : first + 2]]}
        return page | ({"nextToken": str(first + 2)} if len(mine) > first + 2 else {})

    def describe_execution(self, *, executionArn: str) -> Any:
        for machine, name, status, started, ended in self.runs:
            if executionArn == f"{machine.replace(':stateMachine:', ':execution:')}:{name}":
                error = {"error": "Refused", "cause": '{"errorMessage": "why"}'} if status == "FAILED" else {}
                return {**_listed((machine, name, status, started, ended)), "input": "{}", **error}
        raise ClientError({"Error": {"Code": "ExecutionDoesNotExist"}}, "DescribeExecution")


def _listed(one: tuple[str, str, str, datetime, datetime | None]) -> dict[str, Any]:
    _, name, status, started, ended = one
    return {"name": name, "status": status, "startDate": started, **({"stopDate": ended} if ended else {})}


RUNS = [
    (A, "o-1", "SUCCEEDED", at(0), at(9)),
    (A, "o-2", "FAILED", at(1), at(2)),
    (A, "o-3", "RUNNING", at(3), None),
    (B, "t-1", "SUCCEEDED", at(4), at(5)),
    (B, "o-1", "ABORTED", at(6), at(7)),
]


def stack(client: Client) -> Stack:
    made = Stack(cast("Any", None), None, {"FirstArn": A, "SecondArn": B, "OrdersTable": "orders"})
    made._clients["stepfunctions"] = client
    return made


def names(client: Client, *among: str, **filters: Any) -> list[str]:
    return [
        f"{one.machine}/{one.name}" for one in machines.recent(stack(client), among or ["First", "Second"], **filters)
    ]


def test_machines_of_a_stack_are_its_outputs() -> None:
    assert machines.machines(stack(Client([]))) == ["First", "Second"]


def test_runs_of_all_machines_are_merged_by_their_last_change() -> None:
    assert names(Client(RUNS)) == ["First/o-1", "Second/o-1", "Second/t-1", "First/o-3", "First/o-2"]


def test_runs_are_filtered_by_machine_status_and_name() -> None:
    assert names(Client(RUNS), "Second") == ["Second/o-1", "Second/t-1"]
    assert names(Client(RUNS), statuses=["FAILED", "ABORTED"]) == ["Second/o-1", "First/o-2"]
    assert names(Client(RUNS), parts=["t-", "x"]) == ["Second/t-1"]


def test_runs_are_limited_by_time() -> None:
    assert names(Client(RUNS), before=at(5)) == ["First/o-3", "First/o-2"]
    assert names(Client(RUNS), since=at(5)) == ["First/o-1", "Second/o-1", "Second/t-1"]


def test_only_the_requested_number_is_read() -> None:
    client = Client([(A, f"o-{number}", "SUCCEEDED", at(number), at(number)) for number in range(100)])

    assert names(client, "First", last=2) == ["First/o-99", "First/o-98"]
    assert client.sizes == [2]


def test_pages_for_a_rare_name_are_large() -> None:
    client = Client([(A, f"o-{number}", "SUCCEEDED", at(number), at(number)) for number in range(6)])

    assert names(client, "First", parts=["o-0"], last=2) == ["First/o-0"]
    assert client.sizes == [2, 1000, 1000]


def test_single_run_has_its_cause() -> None:
    found = machines.described(stack(Client(RUNS)), "First", "o-2")

    assert (found.listed.status, found.error, found.cause, found.input) == ("FAILED", "Refused", "why", "{}")
    assert found.arn == A.replace(":stateMachine:", ":execution:") + ":o-2"


@pytest.mark.parametrize(("machine", "name"), [("First", "o-9"), ("Third", "o-1"), ("Orders", "o-1")])
def test_unknown_run_is_reported(machine: str, name: str) -> None:
    with pytest.raises(RunNotFound):
        machines.described(stack(Client(RUNS)), machine, name)
    assert machines.find(stack(Client(RUNS)), machine, name) is None


def test_arn_belongs_to_this_stack_or_another_one() -> None:
    own = stack(Client(RUNS))

    assert machines.named(own, A.replace(":stateMachine:", ":execution:") + ":o-1") == ("First", "o-1")
    assert machines.named(own, "arn:aws:states:us-east-1:000000000000:execution:c:o-1") is None
