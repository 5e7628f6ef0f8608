"""AWS behaviour of executions, callbacks, Parallel and inline Map states."""

import json
import time
from collections.abc import Callable
from typing import Any

from tests.emulator.conformance import (
    API,
    GUIDE,
    SPEC,
    Case,
    Definition,
    Lab,
    Run,
    callback,
    each,
    give,
    machine,
    parallel,
    refuse,
    wait,
)
from tests.emulator.dataset_cases import distributed

RAISE = """
class Refused(Exception): pass

def handler(event, context):
    raise Refused("no")
"""
WRITE_LATE = """
import boto3, time

def handler(event, context):
    time.sleep(1)
    boto3.client("sqs").send_message(QueueUrl=event["queue"], MessageBody='"late"')
"""


def started(lab: Lab, given: Any = None, **fields: Any) -> tuple[Run, str, str]:
    """An execution that waits for a token, the queue, and the token."""
    queue = lab.queue()
    run = lab.start(machine(Ask=callback(queue, **fields)), given)
    return run, queue, lab.message(queue)["token"]


def closed(how: Callable[[Lab, Run, str], Any]) -> Callable[[Lab], list[str]]:
    """The responses for a token to success, failure and heartbeat once its task is closed."""

    def observe(lab: Lab) -> list[str]:
        run, _, token = started(lab)
        how(lab, run, token)
        run.ended()
        return [lab.succeed(token), lab.fail(token), lab.answer("send_task_heartbeat", taskToken=token)]

    return observe


def function_raises(lab: Lab) -> Any:
    function = lab.account.function(RAISE)
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "Parameters": {"FunctionName": function.arn, "Payload": {"token.$": "$$.Task.Token"}},
        "TimeoutSeconds": 5,
    }
    return lab.start(machine(Ask=task)).end()


def heartbeats(lab: Lab) -> Any:
    run, _, token = started(lab, HeartbeatSeconds=2)
    for _ in range(30):
        time.sleep(0.1)
        lab.answer("send_task_heartbeat", taskToken=token)
    lab.succeed(token)
    return run.end()


def timeout_with_heartbeats(lab: Lab) -> Any:
    run, _, token = started(lab, HeartbeatSeconds=2, TimeoutSeconds=3)
    began = time.monotonic()
    while run.described()["status"] == "RUNNING" and time.monotonic() < began + 9:
        lab.answer("send_task_heartbeat", taskToken=token)
        time.sleep(0.2)
    return run.end()


def token_of_a_retry(lab: Lab) -> Any:
    again = [{"ErrorEquals": ["Refused"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    run, queue, first = started(lab, Retry=again)
    lab.fail(first)
    second = lab.message(queue)["token"]
    return [lab.succeed(first), lab.succeed(second), run.end()[0]]


def stopped_waiter(lab: Lab) -> Any:
    run, _, token = started(lab)
    run.stop()
    return [lab.succeed(token), run.described()["status"], "TaskSucceeded" in run.kinds()]


def wrong_output(lab: Lab) -> Any:
    run, _, token = started(lab)
    return [lab.succeed(token, "no JSON"), lab.succeed(token, '{"a": 1}'), run.end()]


def ended_within(run: Run, seconds: float) -> bool:
    began = time.monotonic()
    run.ended()
    return time.monotonic() - began < seconds


def timed_out(**state: Any) -> Callable[[Lab], Any]:
    return lambda lab: lab.start({**machine(A=state, B=give(1)), "TimeoutSeconds": 1}).end()


def last_event_of_a_timeout(lab: Lab) -> str:
    run = lab.start({**machine(A=wait()), "TimeoutSeconds": 1})
    run.ended()
    return run.kinds()[-1]


def status_events(lab: Lab, definition: Definition, act: Callable[[Run], Any]) -> list[str]:
    """The statuses in the events of an execution."""
    queue, events = lab.queue(), lab.account.client("events")
    sqs, name = lab.account.client("sqs"), queue.rpartition("/")[2]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    statement = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn}
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": json.dumps(policy)})
    made = lab.machine(definition)
    pattern = {"source": ["aws.states"], "detail": {"stateMachineArn": [made]}}
    events.put_rule(Name=name, EventPattern=json.dumps(pattern))
    events.put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": arn}])
    run = lab.run(made)
    run.ended()
    act(run)
    found = [lab.message(queue)["detail"]["status"] for _ in range(2 if act is _nothing else 4)][1:]
    events.remove_targets(Rule=name, Ids=["queue"])
    events.delete_rule(Name=name)
    return found


def _nothing(_: Run) -> None:
    pass


def branch_fails(lab: Lab) -> Any:
    slow = machine(Slow=wait(3), Never=give(1))
    began = time.monotonic()
    run = lab.start(machine(Both=parallel(slow, machine(Bad=refuse()))))
    end = run.end()
    soon = time.monotonic() - began < 2.5
    time.sleep(3.2 - min(3, time.monotonic() - began))
    return [end, soon, "Never" in run.entered()]


def first_error_in_time(lab: Lab) -> Any:
    late = machine(Wait=wait(1), Late=refuse("Late"))
    return lab.start(machine(Both=parallel(late, machine(Bad=refuse("Early"))))).end()


def branch_is_caught(lab: Lab) -> Any:
    catch = [{"ErrorEquals": ["Refused"], "ResultPath": "$.error", "Next": "Caught"}]
    both = parallel(machine(Slow=wait()), machine(Bad=refuse()), Catch=catch)
    run = lab.start(machine(Both=both, Caught={"Type": "Pass", "OutputPath": "$.error.Error"}))
    return run.end()


def running_function_goes_on(lab: Lab) -> Any:
    queue, function = lab.queue(), lab.account.function(WRITE_LATE, may="sqs:SendMessage")
    # The function's first start takes a while.
    function.call({"queue": queue})
    lab.message(queue)
    task = {"Type": "Task", "Resource": function.arn, "Parameters": {"queue": queue}}
    soon = machine(Wait=wait(0.5), Bad=refuse())
    end = lab.start(machine(Both=parallel(machine(Write=task), soon))).end()
    return [end, lab.message(queue)]


def iteration_fails(lab: Lab) -> Any:
    choice = {
        "Type": "Choice",
        "Choices": [{"Variable": "$", "NumericEquals": 2, "Next": "Bad"}],
        "Default": "Slow",
    }
    states = {"Which": choice, "Bad": refuse(), "Slow": {**wait(3), "Next": "Never"}, "Never": {**give(1), "End": True}}
    began = time.monotonic()
    run = lab.start(
        machine(Each=each({"StartAt": "Which", "States": states}, ItemsPath="$.items")), {"items": [1, 2, 3]}
    )
    return [run.end(), time.monotonic() - began < 2.5, "Never" in run.entered()]


def most_at_once(**fields: Any) -> Callable[[Lab], int]:
    """The maximum number of concurrent iterations."""

    def observe(lab: Lab) -> int:
        each_waits = each(machine(Wait=wait(0.3)), ItemsPath="$.items", **fields)
        run = lab.start(machine(Each=each_waits), {"items": list(range(6)), "most": 2})
        run.ended()
        inside, most = 0, 0
        for kind in run.kinds():
            inside += (kind == "WaitStateEntered") - (kind == "WaitStateExited")
            most = max(most, inside)
        return most

    return observe


def indexes(lab: Lab) -> Any:
    selector = {"index.$": "$$.Map.Item.Index", "value.$": "$$.Map.Item.Value"}
    own = each(machine(Same={"Type": "Pass"}), ItemsPath="$.items", ItemSelector=selector)
    return lab.start(machine(Each=own), {"items": ["a", "b"]}).end()


def redriven(lab: Lab) -> tuple[Run, str]:
    """A redriven execution whose second state had failed, and the queue of its messages."""
    queue = lab.queue()
    run = lab.start(machine(First=give({"n": 1}), Ask=callback(queue), Last={"Type": "Pass"}))
    lab.fail(lab.message(queue)["token"])
    run.ended()
    run.redrive()
    return run, queue


def redrive_goes_on(lab: Lab) -> Any:
    run, queue = redriven(lab)
    message = lab.message(queue)
    lab.succeed(message["token"], '{"n": 2}')
    return [message["input"], run.end(), run.entered()]


def redrive_count(lab: Lab) -> Any:
    run, queue = redriven(lab)
    lab.succeed(lab.message(queue)["token"])
    run.ended()
    return [run.described()["redriveCount"], run.described()["redriveStatus"], run.kinds().count("ExecutionRedriven")]


def redrive_count_in_context(lab: Lab) -> Any:
    queue = lab.queue()
    count = {"Type": "Pass", "Parameters": {"count.$": "$$.Execution.RedriveCount"}}
    run = lab.start(machine(Ask=callback(queue), Count=count))
    lab.fail(lab.message(queue)["token"])
    run.ended()
    run.redrive()
    lab.succeed(lab.message(queue)["token"])
    return run.end()


def redrive_of(end: Callable[[Lab, Run, str], Any], **fields: Any) -> Callable[[Lab], Any]:
    def observe(lab: Lab) -> Any:
        queue = lab.queue()
        run = lab.start({**machine(Ask=callback(queue)), **fields})
        end(lab, run, lab.message(queue)["token"])
        status = run.ended()["status"]
        if refused := run.redrive():
            return [status, refused]
        lab.succeed(lab.message(queue)["token"])
        return [status, run.end()[0]]

    return observe


def redrive_of_branches(lab: Lab) -> Any:
    queue = lab.queue()
    both = parallel(machine(Done=give(1)), machine(Before=give(2), Ask=callback(queue)))
    run = lab.start(machine(Both=both))
    token = lab.message(queue)["token"]
    run.until(lambda run: run.kinds().count("PassStateExited") == 2)
    lab.fail(token)
    run.ended()
    run.redrive()
    lab.succeed(lab.message(queue)["token"], "3")
    return [run.end(), sorted(run.entered())]


def redrive_of_iterations(lab: Lab) -> Any:
    queue = lab.queue()
    ask = callback(queue)
    run = lab.start(machine(Each=each(machine(Ask=ask), ItemsPath="$.items")), {"items": ["a", "b"]})
    messages = {message["input"]: message["token"] for message in (lab.message(queue) for _ in range(2))}
    lab.succeed(messages["a"], '"a done"')
    run.until(lambda run: "MapIterationSucceeded" in run.kinds() or "TaskSucceeded" in run.kinds())
    lab.fail(messages["b"])
    run.ended()
    run.redrive()
    again = lab.message(queue)
    lab.succeed(again["token"], '"b done"')
    return [again["input"], run.end()]


def retried_map_starts_over(lab: Lab) -> Any:
    queue = lab.queue()
    again = [{"ErrorEquals": ["Refused"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    run = lab.start(
        machine(Each=each(machine(Ask=callback(queue)), ItemsPath="$.items", Retry=again)), {"items": ["a", "b"]}
    )
    messages = {message["input"]: message["token"] for message in (lab.message(queue) for _ in range(2))}
    lab.succeed(messages["a"])
    run.until(lambda run: "TaskSucceeded" in run.kinds())
    lab.fail(messages["b"])
    again_asked = sorted(message["input"] for message in (lab.message(queue) for _ in range(2)))
    run.stop()
    return again_asked


def parameters_in_history(lab: Lab) -> Any:
    run, queue, token = started(lab)
    lab.succeed(token)
    run.ended()
    (event,) = [event for event in run.events() if event["type"] == "TaskScheduled"]
    found = json.loads(event["taskScheduledEventDetails"].get("parameters", "{}"))
    return [found.get("QueueUrl") == queue, found.get("MessageBody", {}).get("token") == token]


def integration_in_history(lab: Lab) -> Any:
    run, _, token = started(lab)
    lab.succeed(token)
    run.ended()
    details = [
        event[f"task{kind}EventDetails"]
        for event in run.events()
        for kind in ("Scheduled", "Succeeded")
        if event["type"] == f"Task{kind}"
    ]
    return [(one.get("resourceType"), one["resource"]) for one in details]


def event_of_a_timeout(lab: Lab) -> Any:
    run, _, _ = started(lab, TimeoutSeconds=1)
    return [run.end(), "TaskTimedOut" in run.kinds()]


def expressions(lab: Lab, **seconds: str) -> Any:
    """Run a task whose seconds are JSONata expressions. Returns its end."""
    body = {"token": "{% $states.context.Task.Token %}"}
    ask = callback(lab.queue(), **seconds)
    ask["Arguments"] = {**ask.pop("Parameters"), "MessageBody": body}
    return lab.start({**machine(Ask=ask), "QueryLanguage": "JSONata"}).end()


def worker(act: Callable[[Lab, Run, str], Any]) -> Callable[[Lab], Any]:
    """The responses for an activity's token once its task is closed."""

    def observe(lab: Lab) -> Any:
        activity = lab.states.create_activity(name=lab.queue().rpartition("/")[2])["activityArn"]
        run = lab.start(machine(Do={"Type": "Task", "Resource": activity}))
        token = lab.states.get_activity_task(activityArn=activity)["taskToken"]
        act(lab, run, token)
        run.ended()
        return lab.succeed(token)

    return observe


def token_of_a_stopped_branch(lab: Lab) -> Any:
    queue, catch = lab.queue(), [{"ErrorEquals": ["Refused"], "Next": "Wait"}]
    both = parallel(machine(Ask=callback(queue)), machine(Pause=wait(1), Bad=refuse()), Catch=catch)
    run = lab.start(machine(Both=both, Wait=wait(3)))
    token = lab.message(queue)["token"]
    run.until(lambda run: "Wait" in run.entered() or run.described()["status"] != "RUNNING")
    return [lab.succeed(token), lab.fail(token)]


def uncaught(error: Definition, *names: str) -> Callable[[Lab], Any]:
    """Run an execution whose inner state fails inside a catcher for these names. Returns its end."""
    catch = [{"ErrorEquals": list(names), "Next": "Caught"}]
    definition = machine(Try=parallel(machine(Bad=error), Catch=catch, Next="Caught"), Caught=give("caught"))
    return lambda lab: lab.start(definition, {"number": 1, "all": ["more than a few bytes"]}).end()


def redefined(lab: Lab) -> Any:
    """The output of a redrive after an update of the machine."""
    queue = lab.queue()
    run = lab.start(machine(Ask=callback(queue), Last=give("old")))
    lab.fail(lab.message(queue)["token"])
    machine_arn = run.ended()["stateMachineArn"]
    text = json.dumps(machine(Ask=callback(queue), Last=give("new")))
    lab.states.update_state_machine(stateMachineArn=machine_arn, definition=text)
    run.redrive()
    lab.succeed(lab.message(queue)["token"])
    return run.end()


def express(lab: Lab) -> str:
    text, name = json.dumps(machine(Bad=refuse())), lab.queue().rpartition("/")[2]
    created = lab.states.create_state_machine(name=name, definition=text, roleArn=lab.role, type="EXPRESS")
    run = Run(lab, lab.states.start_execution(stateMachineArn=created["stateMachineArn"])["executionArn"])
    run.ended()
    return run.redrive()


def failed_intrinsic(lab: Lab) -> Any:
    catch = [{"ErrorEquals": ["States.IntrinsicFailure"], "Next": "Caught"}]
    bad = {"Type": "Pass", "Parameters": {"n.$": "States.StringToJson('{')"}}
    run = lab.start(machine(Both=parallel(machine(Bad=bad), Catch=catch, Next="Caught"), Caught=give("caught")))
    return run.end()


def first_events_of_branches(lab: Lab) -> Any:
    """The events before the first one of each branch, and before the second state of each."""
    branch = {"StartAt": "A", "States": {"A": {**wait(0.2), "Next": "B"}, "B": {"Type": "Pass", "End": True}}}
    other = {"StartAt": "C", "States": {"C": {**wait(0.1), "Next": "D"}, "D": {"Type": "Pass", "End": True}}}
    run = lab.start(machine(Both=parallel(branch, other)))
    run.ended()
    events = {event["id"]: event for event in run.events()}
    before = {
        event["stateEnteredEventDetails"]["name"]: events.get(event.get("previousEventId", 0), {"type": ""})
        for event in events.values()
        if "stateEnteredEventDetails" in event
    }
    after = {name: before[name].get("stateExitedEventDetails", {}).get("name") for name in "BD"}
    return [before["Both"]["type"], before["A"]["type"], before["C"]["type"], after]


def definition_of_an_execution(lab: Lab) -> Any:
    """The first state of an execution's definition after an update of its machine."""
    run, _, token = started(lab)
    machine_arn = run.described()["stateMachineArn"]
    lab.states.update_state_machine(stateMachineArn=machine_arn, definition=json.dumps(machine(New=give(1))))
    found = lab.states.describe_state_machine_for_execution(executionArn=run.arn)
    lab.succeed(token)
    return json.loads(found["definition"])["StartAt"]


# An error's name must be a string, which this input is not.
_RUNTIME = {"Type": "Fail", "ErrorPath": "$.number"}
_TOO_LARGE = {
    **distributed(machine(Give={"Type": "Pass"}), ItemsPath="$.all"),
    "ItemBatcher": {"MaxInputBytesPerBatch": 9},
}
_TASK_TIMED_OUT = (
    "TaskTimedOut: The task token has either expired or the task associated with the token has already been closed."
)
_UNSUCCESSFUL = (
    "When you redrive an execution, Step Functions continues the failed execution from the unsuccessful step"
)
_PARALLEL = (
    "If any branch fails, because of an unhandled error or by transitioning to a Fail state, the entire Parallel state "
    "is considered to have failed and all its branches are stopped."
)

CASES = [
    Case(
        "each event names the one before it in its branch",
        f"{API}, HistoryEvent: previousEventId, the id of the previous event",
        first_events_of_branches,
        ["", "ParallelStateStarted", "ParallelStateStarted", {"B": "A", "D": "C"}],
    ),
    Case(
        "an execution keeps the definition that it started with",
        f"{API}, DescribeStateMachineForExecution: provides information about a state machine's definition",
        definition_of_an_execution,
        "Ask",
    ),
    Case(
        "a function that raises fails a callback task at once",
        f"{GUIDE}, Wait for a callback: Lambda invoke returns FunctionError as the task's error",
        function_raises,
        ("FAILED", "Refused"),
    ),
    Case(
        "a task without a heartbeat fails",
        f"{SPEC}, HeartbeatSeconds: fail with States.HeartbeatTimeout if more time "
        "than specified elapses between heartbeats",
        lambda lab: started(lab, HeartbeatSeconds=1, TimeoutSeconds=9)[0].end(),
        ("FAILED", "States.HeartbeatTimeout"),
    ),
    Case(
        "heartbeats keep a task alive",
        f"{API}, SendTaskHeartbeat: resets the HeartbeatSeconds clock",
        heartbeats,
        ("SUCCEEDED", {}),
        lacking=False,
    ),
    Case(
        "States.Timeout matches a missing heartbeat",
        f"{GUIDE}, Error names: States.Timeout: a Task state either ran "
        "longer than TimeoutSeconds or failed to send a heartbeat",
        lambda lab: lab.start(
            machine(
                Ask=callback(
                    lab.queue(),
                    HeartbeatSeconds=1,
                    TimeoutSeconds=9,
                    Catch=[{"ErrorEquals": ["States.Timeout"], "Next": "Caught"}],
                ),
                Caught=give("caught"),
            )
        ).end(),
        ("SUCCEEDED", "caught"),
        lacking=False,
    ),
    Case(
        "heartbeats do not extend TimeoutSeconds",
        f"{API}, SendTaskHeartbeat: does not reset the TimeoutSeconds clock",
        timeout_with_heartbeats,
        ("FAILED", "States.Timeout"),
        lacking=False,
    ),
    Case(
        "a heartbeat's seconds come from a path",
        f"{SPEC}, HeartbeatSecondsPath: a Reference Path to the number",
        lambda lab: started(lab, {"s": 1}, HeartbeatSecondsPath="$.s", TimeoutSeconds=9)[0].end(),
        ("FAILED", "States.HeartbeatTimeout"),
    ),
    Case(
        "a timeout's seconds come from a path",
        f"{SPEC}, TimeoutSecondsPath: a Reference Path to the number",
        lambda lab: ended_within(started(lab, {"s": 1}, TimeoutSecondsPath="$.s")[0], 4),
        True,
    ),
    Case(
        "a token is answered once",
        f"{API}, SendTaskSuccess: {_TASK_TIMED_OUT}",
        closed(lambda lab, _, token: lab.succeed(token)),
        ["TaskTimedOut"] * 3,
    ),
    Case(
        "a failed task's token is closed",
        f"{API}, SendTaskFailure: {_TASK_TIMED_OUT}",
        closed(lambda lab, _, token: lab.fail(token)),
        ["TaskTimedOut"] * 3,
    ),
    Case(
        "a stopped execution's token is closed",
        f"{API}, SendTaskHeartbeat: {_TASK_TIMED_OUT}",
        closed(lambda _, run, __: run.stop()),
        ["TaskTimedOut"] * 3,
    ),
    Case(
        "an answer after a stop changes nothing",
        f"{API}, SendTaskSuccess: {_TASK_TIMED_OUT}",
        stopped_waiter,
        ["TaskTimedOut", "ABORTED", False],
    ),
    Case(
        "a stopped branch's token is closed",
        f"{API}, SendTaskSuccess: {_TASK_TIMED_OUT}",
        token_of_a_stopped_branch,
        ["TaskTimedOut"] * 2,
    ),
    Case(
        "an activity's token is answered once",
        f"{API}, SendTaskSuccess: {_TASK_TIMED_OUT}",
        worker(lambda lab, _, token: lab.succeed(token)),
        "TaskTimedOut",
    ),
    Case(
        "a stopped execution's activity is closed",
        f"{API}, SendTaskSuccess: {_TASK_TIMED_OUT}",
        worker(lambda _, run, __: run.stop()),
        "TaskTimedOut",
    ),
    Case(
        "seconds may be expressions",
        f"{SPEC}, TimeoutSeconds, HeartbeatSeconds: a positive integer or a JSONata string",
        lambda lab: [expressions(lab, HeartbeatSeconds="{% 1 %}")[1], expressions(lab, TimeoutSeconds="{% 1 %}")[1]],
        ["States.HeartbeatTimeout", "States.Timeout"],
    ),
    Case(
        "States.ALL does not match States.Runtime",
        f"{GUIDE}, Error names: a retry or catch on States.ALL won't catch States.Runtime errors",
        uncaught(_RUNTIME, "States.ALL"),
        ("FAILED", "States.Runtime"),
    ),
    Case(
        "nothing matches States.Runtime",
        f"{GUIDE}, Error names: States.Runtime isn't retriable, and will always cause the execution to fail",
        uncaught(_RUNTIME, "States.Runtime"),
        ("FAILED", "States.Runtime"),
    ),
    Case(
        "States.ALL does not match States.DataLimitExceeded",
        f"{GUIDE}, Error names: States.DataLimitExceeded: a terminal error that can't be caught by States.ALL",
        uncaught(_TOO_LARGE, "States.ALL"),
        ("FAILED", "States.DataLimitExceeded"),
    ),
    Case(
        "States.TaskFailed does not match States.DataLimitExceeded",
        f"{GUIDE}, Error names: States.DataLimitExceeded: a terminal error",
        uncaught(_TOO_LARGE, "States.TaskFailed"),
        ("FAILED", "States.DataLimitExceeded"),
    ),
    Case(
        "States.DataLimitExceeded is caught by its name",
        f"{GUIDE}, Error names: States.DataLimitExceeded: can't be caught by States.ALL",
        uncaught(_TOO_LARGE, "States.DataLimitExceeded"),
        ("SUCCEEDED", "caught"),
        lacking=False,
    ),
    Case(
        "an output must be JSON",
        f"{API}, SendTaskSuccess: InvalidOutput: the provided JSON output data is not valid",
        wrong_output,
        ["InvalidOutput", "", ("SUCCEEDED", {"a": 1})],
    ),
    Case(
        "a retry has a new token",
        f"{GUIDE}, Wait for a callback: each attempt creates a unique token",
        token_of_a_retry,
        ["TaskTimedOut", "", "SUCCEEDED"],
    ),
    Case(
        "a machine's timeout ends an execution",
        f"{SPEC}, TimeoutSeconds: if the state machine runs longer, the interpreter fails it with States.Timeout",
        timed_out(**wait()),
        ("TIMED_OUT", None),
    ),
    Case(
        "a machine's timeout is not caught",
        f"{GUIDE}, Error handling: a Catch belongs to a state, not to the execution",
        timed_out(**parallel(machine(Slow=wait()), Catch=[{"ErrorEquals": ["States.ALL"], "Next": "B"}])),
        ("TIMED_OUT", None),
    ),
    Case(
        "a machine's timeout ends its iterations",
        f"{SPEC}, TimeoutSeconds",
        lambda lab: lab.start({**machine(A=each(machine(Slow=wait()))), "TimeoutSeconds": 1}, [1]).end(),
        ("TIMED_OUT", None),
    ),
    Case(
        "a timeout is the history's last event",
        f"{API}, HistoryEvent: ExecutionTimedOut",
        last_event_of_a_timeout,
        "ExecutionTimedOut",
    ),
    Case(
        "a timeout has its event",
        f"{GUIDE}, EventBridge: status TIMED_OUT",
        lambda lab: status_events(lab, {**machine(B=wait(5)), "TimeoutSeconds": 2}, _nothing),
        ["TIMED_OUT"],
    ),
    Case(
        "a failed branch fails its state at once",
        f"{SPEC}, Parallel: {_PARALLEL}",
        branch_fails,
        [("FAILED", "Refused"), True, False],
    ),
    Case("the first error in time counts", f"{SPEC}, Parallel: {_PARALLEL}", first_error_in_time, ("FAILED", "Early")),
    Case(
        "a failed branch is caught",
        f"{SPEC}, Parallel: Catch",
        branch_is_caught,
        ("SUCCEEDED", "Refused"),
        lacking=False,
    ),
    Case(
        "a function that runs goes on",
        f"{GUIDE}, Parallel: a Lambda function that runs is not stopped",
        running_function_goes_on,
        [("FAILED", "Refused"), "late"],
        lacking=False,
    ),
    Case(
        "a failed iteration fails its state at once",
        f"{SPEC}, Map: if any iteration fails, the Map state fails and all iterations are terminated",
        iteration_fails,
        [("FAILED", "Refused"), True, False],
    ),
    Case(
        "MaxConcurrency bounds the iterations",
        f"{SPEC}, MaxConcurrency",
        most_at_once(MaxConcurrency=3),
        3,
        lacking=True,
    ),
    Case(
        "MaxConcurrencyPath bounds the iterations",
        f"{SPEC}, MaxConcurrencyPath",
        most_at_once(MaxConcurrencyPath="$.most"),
        2,
    ),
    Case(
        "an iteration knows its index",
        f"{GUIDE}, Context object: Map.Item.Index",
        indexes,
        ("SUCCEEDED", [{"index": 0, "value": "a"}, {"index": 1, "value": "b"}]),
        lacking=False,
    ),
    Case(
        "a retried Map starts over",
        f"{GUIDE}, Map: Retry runs all iterations again",
        retried_map_starts_over,
        ["a", "b"],
        lacking=False,
    ),
    Case(
        "a redrive goes on with the failed state",
        f"{GUIDE}, Redriving: {_UNSUCCESSFUL}",
        redrive_goes_on,
        [{"n": 1}, ("SUCCEEDED", {"n": 2}), ["First", "Ask", "Ask", "Last"]],
    ),
    Case("a redrive is counted", f"{API}, DescribeExecution: redriveCount", redrive_count, [1, "NOT_REDRIVABLE", 1]),
    Case(
        "the context object counts redrives",
        f"{GUIDE}, Context object: Execution.RedriveCount",
        redrive_count_in_context,
        ("SUCCEEDED", {"count": 1}),
    ),
    Case(
        "a redrive runs unfinished branches only",
        f"{GUIDE}, Redriving Parallel: only the branches that failed or aborted",
        redrive_of_branches,
        [("SUCCEEDED", [1, 3]), ["Ask", "Ask", "Before", "Both", "Both", "Done"]],
    ),
    Case(
        "a redrive runs unfinished iterations only",
        f"{GUIDE}, Redriving inline Map: only the failed iterations",
        redrive_of_iterations,
        ["b", ("SUCCEEDED", ["a done", "b done"])],
    ),
    Case(
        "a stopped execution is redriven",
        f"{API}, RedriveExecution: FAILED, ABORTED, TIMED_OUT",
        redrive_of(lambda _, run, __: run.stop()),
        ["ABORTED", "SUCCEEDED"],
    ),
    Case(
        "a timed out execution is redriven",
        f"{API}, RedriveExecution: FAILED, ABORTED, TIMED_OUT; the timeout starts over",
        redrive_of(lambda *_: None, TimeoutSeconds=2),
        ["TIMED_OUT", "SUCCEEDED"],
    ),
    Case(
        "an execution that succeeded is not redriven",
        f"{API}, RedriveExecution: ExecutionNotRedrivable",
        redrive_of(lambda lab, _, token: lab.succeed(token)),
        ["SUCCEEDED", "ExecutionNotRedrivable"],
    ),
    Case(
        "a redrive keeps the definition",
        f"{API}, RedriveExecution: uses the definition and execution ARN of the original execution attempt",
        redefined,
        ("SUCCEEDED", "old"),
    ),
    Case(
        "an Express execution is not redriven",
        f"{API}, RedriveExecution: restarts unsuccessful executions of Standard workflows",
        express,
        "ExecutionNotRedrivable",
    ),
    Case(
        "an execution that runs is not redriven",
        f"{API}, RedriveExecution: ExecutionNotRedrivable",
        lambda lab: started(lab)[0].redrive(),
        "ExecutionNotRedrivable",
    ),
    Case(
        "a redrive has its event",
        f"{GUIDE}, EventBridge: status RUNNING at a redrive",
        lambda lab: status_events(lab, machine(B=refuse()), lambda run: run.redrive()),
        ["FAILED", "RUNNING", "FAILED"],
    ),
    Case(
        "a history has the parameters of a task",
        f"{API}, TaskScheduledEventDetails: parameters, required",
        parameters_in_history,
        [True, True],
    ),
    Case(
        "a history names the integration of a task",
        f"{API}, TaskSucceededEventDetails: resource, resourceType: the service of the resource",
        integration_in_history,
        [("sqs", "sendMessage.waitForTaskToken")] * 2,
    ),
    Case(
        "a task that times out has its event",
        f"{API}, HistoryEvent: TaskTimedOut",
        event_of_a_timeout,
        [("FAILED", "States.Timeout"), True],
    ),
    Case(
        "a failed intrinsic function has its error",
        f"{SPEC}, Error names: States.IntrinsicFailure",
        failed_intrinsic,
        ("SUCCEEDED", "caught"),
    ),
]
