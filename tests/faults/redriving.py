"""RedriveExecution for the explorer's engine, which is MiniStack without the emulator's patches.

As on AWS, successful states do not run again, the state that ended the execution gets its input again, and retries
start over. A Parallel state runs all its branches again; on AWS, only the unsuccessful ones.
"""

import contextvars
import json
from collections.abc import Awaitable, Callable
from typing import Any

from ministack.services import stepfunctions

type Execution = dict[str, Any]
type Answer = tuple[int, dict[str, str], bytes]

_REDRIVABLE = frozenset({"FAILED", "TIMED_OUT", "ABORTED"})


def take_hold() -> None:
    """Patch the loaded MiniStack module, once."""
    if stepfunctions.handle_request.__module__ == __name__:
        return
    stepfunctions.handle_request = _knowing_redrives(stepfunctions.handle_request)


def _knowing_redrives(handle: Callable[..., Awaitable[Answer]]) -> Callable[..., Awaitable[Answer]]:
    async def handle_request(method: str, path: str, headers: dict[str, str], body: bytes, query: Any) -> Answer:
        target = headers.get("x-amz-target", "").rpartition(".")[2]
        if target == "RedriveExecution":
            return redrive(json.loads(body))
        answer = await handle(method, path, headers, body, query)
        return _described(json.loads(body)["executionArn"], answer) if target == "DescribeExecution" else answer

    return handle_request


def _described(arn: str, answer: Answer) -> Answer:
    """Add when an execution was redriven."""
    at = stepfunctions._executions.get(arn, {}).get("redriveDate")
    status, _, body = answer
    if not at or status != 200:
        return answer
    described: Answer = stepfunctions._finalize_response(
        stepfunctions.json_response({**json.loads(body), "redriveDate": at})
    )
    return described


def redrive(request: dict[str, Any], meanwhile: Callable[[], None] = lambda: None) -> Answer:
    """Start the execution again, in another thread. meanwhile: what happens before it enters a state."""
    execution = stepfunctions._executions.get(request.get("executionArn"))
    if execution is None:
        return _refusal("ExecutionDoesNotExist", f"Execution {request.get('executionArn')} not found")
    if execution["status"] not in _REDRIVABLE:
        return _refusal("ExecutionNotRedrivable", f"Execution is {execution['status']} and cannot be redriven")
    at = stepfunctions.now_iso()
    found = (event.get("stateEnteredEventDetails") for event in execution["events"])
    states = json.loads(stepfunctions._state_machines[execution["stateMachineArn"]]["definition"])["States"]
    # Without those of branches: their Parallel state runs again.
    entered = [one for one in found if one and one["name"] in states]
    # The stopped thread may still be waiting: it looks at its own record, which stays ended.
    execution = {**execution, "events": [*execution["events"]], "status": "RUNNING"}
    execution |= {"stopDate": None, "error": None, "cause": None, "redriveDate": at}
    stepfunctions._executions[request["executionArn"]] = execution
    stepfunctions._add_event(execution, "ExecutionRedriven", {"executionRedrivenEventDetails": {"redriveCount": 1}})
    stepfunctions._emit_execution_status_event(execution)
    meanwhile()
    run = contextvars.copy_context().run
    stepfunctions.threading.Thread(target=run, args=(_run, execution, entered[-1:]), daemon=True).start()
    answer: Answer = stepfunctions._finalize_response(stepfunctions.json_response({"redriveDate": at}))
    return answer


def _refusal(code: str, message: str) -> Answer:
    answer: Answer = stepfunctions.error_response_json(code, message, 400)
    return answer


def _run(execution: Execution, entered: list[dict[str, Any]]) -> None:
    machine = stepfunctions._state_machines[execution["stateMachineArn"]]
    definition, document = json.loads(machine["definition"]), json.loads(execution["input"])
    name, given = definition["StartAt"], document
    if entered:
        name, given = entered[0]["name"], json.loads(entered[0]["input"])
    context = {
        "QueryLanguage": definition.get("QueryLanguage", "JSONPath"),
        "Execution": {
            "Id": execution["executionArn"],
            "Input": document,
            "Name": execution["name"],
            "StartTime": execution["startDate"],
            "RedriveCount": 1,
        },
        "StateMachine": {"Id": execution["stateMachineArn"], "Name": machine["name"]},
        "variables": {},
    }
    try:
        output = _walk(definition["States"], name, given, execution, context)
    except stepfunctions._ExecutionError as error:
        stepfunctions._fail_execution(execution, error.error, error.cause)
    except Exception as error:  # as MiniStack ends what it does not understand
        stepfunctions._fail_execution(execution, "States.Runtime", str(error))
    else:
        _succeed(execution, output)


def _walk(states: dict[str, Any], name: str | None, given: Any, execution: Execution, context: dict[str, Any]) -> Any:
    """Run states until one ends the execution. Returns the output."""
    while name and execution["status"] == "RUNNING":
        state = states[name]
        context["State"] = {"Name": name, "EnteredTime": stepfunctions.now_iso(), "RetryCount": 0}
        details = {"name": name, "input": json.dumps(given)}
        stepfunctions._add_event(execution, f"{state['Type']}StateEntered", {"stateEnteredEventDetails": details})
        if state["Type"] == "Fail":
            raise stepfunctions._ExecutionError(*stepfunctions._fail_state_error(state, given, context))
        if state["Type"] == "Succeed":
            name = None
        else:
            run = getattr(stepfunctions, f"_execute_{state['Type'].lower()}")
            whole = [execution] if state["Type"] in {"Task", "Parallel", "Map"} else []
            given, name = run(state, given, *whole, context)
        exit_details = {"name": details["name"], "output": json.dumps(given)}
        stepfunctions._add_event(execution, f"{state['Type']}StateExited", {"stateExitedEventDetails": exit_details})
    return given


def _succeed(execution: Execution, output: Any) -> None:
    if execution["status"] != "RUNNING":
        return
    text = json.dumps(output)
    execution.update(status="SUCCEEDED", output=text, stopDate=stepfunctions.now_iso())
    stepfunctions._add_event(execution, "ExecutionSucceeded", {"executionSucceededEventDetails": {"output": text}})
    stepfunctions._emit_execution_status_event(execution)
