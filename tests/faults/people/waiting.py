"""Waits of a machine: for the answer to a token, and for the end of its child."""

import json
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ministack.services import stepfunctions

from tests.faults.actors.simulation import Flag
from tests.faults.engine import execution_error
from tests.faults.people import schedule as s
from tests.faults.people.executing import Executing
from tests.faults.seams import Document

# Step Functions' errors for the token of a closed task. On AWS it is usually the first, whatever has closed it.
_CLOSED = ("TaskTimedOut", "TaskTimedOut", "TaskTimedOut", "TaskDoesNotExist", "InvalidToken")


@dataclass
class Waiting(Executing):
    """The waits of a run. ended: flags of executions, by ARN."""

    ended: dict[str, Flag] = field(default_factory=dict)

    def callback(self, _: str, document: Document, token: str, state: Document) -> Any:
        """Run waitForTaskToken: each attempt has a separate token, and fails if the function fails."""
        visit = self.visit
        assert visit is not None
        began = self.simulation.now
        info = self.hand_out(token, document, visit, execution=visit.execution)
        waited = info["event"].wait(max(0, state["TimeoutSeconds"] - (self.simulation.now - began)))
        stepfunctions._task_tokens.pop(token, None)
        self.go_on(visit)
        if not waited:
            self.judge.waited_in_vain(visit.execution["name"])
            raise execution_error("States.Timeout", "nobody answered")
        return json.loads(info["result"])

    def answer_token(self, request: Document) -> Any:
        """Run SendTaskSuccess: a waiting task accepts the first answer, and no other."""
        info = stepfunctions._task_tokens.get(request["taskToken"])
        if info is None or info["event"].is_set:
            return stepfunctions.error_response_json(self.chance.choice(_CLOSED), "the task is closed", 400)
        info["result"] = request["output"]
        details = {"resource": "invoke.waitForTaskToken", "output": request["output"]}
        stepfunctions._add_event(info["execution"], "TaskSucceeded", {"taskSucceededEventDetails": details})
        info["event"].set()
        self.judge.resumed(json.loads(request["output"]))
        return stepfunctions.json_response({})

    # Parent and child.

    def child(self, document: Document) -> Any:
        """Run startExecution.sync:2. Starting a running execution with the same name and input waits for that one."""
        visit = self.visit
        assert visit is not None
        request = stepfunctions._nested_start_execution_request(document)
        self.judge.passes("the input of an execution", request["input"])
        status, _, body = stepfunctions._start_execution(request)
        machine = request["stateMachineArn"]
        arn = f"{machine.replace(':stateMachine:', ':execution:')}:{request['name']}"
        child = stepfunctions._executions[arn]
        if status >= 400 and (child["status"] != "RUNNING" or child["input"] != request["input"]):
            raise execution_error(f"StepFunctions.{json.loads(body)['__type']}Exception", "it exists already")
        visit.execution["child"] = child
        kind = self.fault_at(f"{visit.place}:child", [*s.CHILD_KINDS], 6)
        if kind == s.CHILD_ABORTED_AT:
            self.spawn(partial(self.stop, child, "ABORTED"), self.later.uniform(0, 4))
        waited = self.flag(arn).wait(self.later.uniform(0, 4) if kind == s.CHILD_TIMED_OUT else None)
        self.go_on(visit)
        if not waited:
            self._stop_later(child)
            raise execution_error("States.Timeout", "the child runs on")
        if child["status"] != "SUCCEEDED":
            raise execution_error("States.TaskFailed", json.dumps({"Name": child["name"], "Status": child["status"]}))
        return {
            "ExecutionArn": arn,
            "Name": child["name"],
            "Status": "SUCCEEDED",
            "Output": json.loads(child["output"]),
        }

    def flag(self, arn: str) -> Flag:
        """Return a flag that is set when the execution ends."""
        return self.ended.setdefault(arn, Flag(self.simulation))

    def stop(self, execution: Document, status: str) -> None:
        """Stop an execution. For a parent, Step Functions tries to stop its child, too, and may fail to."""
        if execution["status"] == "RUNNING" and "child" in execution:
            self._stop_later(execution["child"])
        super().stop(execution, status)

    def _stop_later(self, child: Document) -> None:
        moment = self.later.choice((0, 0.5, self.late(), None))
        if moment is not None:
            self.spawn(partial(self.engine.stop, child, "ABORTED"), moment)
