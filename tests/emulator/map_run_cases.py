"""AWS behaviour of a Map Run, and its output files."""

import json
from collections.abc import Callable
from typing import Any

from tests.emulator.conformance import API, GUIDE, Case, Lab, Run, callback, machine, refuse, wait
from tests.emulator.dataset_cases import bucket, distributed, echo

_TOLERANCE = f"{GUIDE}, Setting failure thresholds for Distributed Map states"
_WRITER = f"{GUIDE}, ResultWriter"
_EXCEEDED = ("FAILED", "States.ExceedToleratedFailureThreshold")
_REDRIVES = f"{GUIDE}, Redriving Map Runs"
_STOPPED = f"{_REDRIVES}: a Map Run can continue to run after the parent workflow is stopped or timed out"
_ABORTED = f"{API}, MapRunExecutionCounts: aborted: stopped by Step Functions because the Map Run failed"


def judging(**fields: Any) -> Any:
    """A machine whose children fail for the item "no", take two seconds for "slow", and return the others."""
    choices = [
        {"Variable": "$.is", "StringEquals": "no", "Next": "Refuse"},
        {"Variable": "$.is", "StringEquals": "slow", "Next": "Wait"},
    ]
    choose = {"Type": "Choice", "Choices": choices, "Default": "Give"}
    child = machine(Choose=choose, Refuse=refuse(), Wait=wait(2), Give={"Type": "Pass"})
    selector = {"is.$": "$$.Map.Item.Value"}
    return machine(All=distributed(child, fields.pop("kind", "STANDARD"), ItemSelector=selector, **fields))


def judged(*items: str, given: Any = None, **fields: Any) -> Callable[[Lab], Any]:
    """Run an execution over these items. Returns its end."""
    return lambda lab: judge(lab, *items, given=given, **fields).end()


def judge(lab: Lab, *items: str, given: Any = None, **fields: Any) -> Run:
    return lab.start(judging(ItemsPath="$.all", **fields), {"all": items, **(given or {})})


def map_runs(run: Run) -> list[Any]:
    """The descriptions of its Map Runs, the oldest first."""
    found = run.lab.states.list_map_runs(executionArn=run.arn)["mapRuns"]
    described = [run.lab.states.describe_map_run(mapRunArn=one["mapRunArn"]) for one in found]
    return sorted(described, key=lambda one: one["startDate"])


def counts(run: Run, kind: str = "executionCounts") -> dict[str, int]:
    """The nonzero counters of its Map Run."""
    return {name: count for name, count in map_runs(run)[-1][kind].items() if count}


def counted(*items: str, **fields: Any) -> Callable[[Lab], Any]:
    """The counters of a Map Run at its end."""

    def observe(lab: Lab) -> Any:
        run = judge(lab, *items, **fields)
        run.ended()
        return counts(run)

    return observe


def children(run: Run) -> list[Run]:
    """The children of its newest Map Run, in the order of their start."""
    found = run.lab.states.list_executions(mapRunArn=map_runs(run)[-1]["mapRunArn"])["executions"]
    return [Run(run.lab, one["executionArn"]) for one in sorted(found, key=lambda one: one["startDate"])]


def live(lab: Lab) -> Any:
    run = judge(lab, "slow", "slow", "slow", given={"n": 2}, MaxConcurrencyPath="$.n")
    run.until(lambda run: bool(map_runs(run)) and counts(run).get("running", 0) > 1)
    return [counts(run), map_runs(run)[-1]["maxConcurrency"]]


def updated(lab: Lab) -> Any:
    run = judge(lab, "slow", "slow", "slow", MaxConcurrency=1)
    run.until(lambda run: bool(map_runs(run)) and counts(run).get("running") == 1)
    lab.states.update_map_run(mapRunArn=map_runs(run)[-1]["mapRunArn"], maxConcurrency=3)
    run.until(lambda run: counts(run).get("running") != 1)
    run.until(lambda run: counts(run).get("running") in {None, 3})
    return counts(run).get("running")


def stricter(lab: Lab) -> Any:
    run = judge(lab, "no", "slow", "slow", MaxConcurrency=1, ToleratedFailureCount=3)
    run.until(lambda run: bool(map_runs(run)) and counts(run).get("failed") == 1)
    lab.states.update_map_run(mapRunArn=map_runs(run)[-1]["mapRunArn"], toleratedFailureCount=0)
    return run.end()


def batched(percentage: int) -> Callable[[Lab], Any]:
    """The status of an execution whose first of three batches fails, and the counters of its children and items."""
    judges = judging(ItemsPath="$.all", ToleratedFailurePercentage=percentage, ItemBatcher={"MaxItemsPerBatch": 2})
    child = judges["States"]["All"]["ItemProcessor"]["States"]
    for choice in child["Choose"]["Choices"]:
        choice["Variable"] = "$.Items[0].is"

    def observe(lab: Lab) -> Any:
        run = lab.start(judges, {"all": ["no", "yes", "yes", "yes", "yes"]})
        return [run.end()[0], counts(run), counts(run, "itemCounts")]

    return observe


def told(lab: Lab) -> Any:
    """The description of a Map Run by the API: its limits, which come from paths, and its number of listed children."""
    paths = {"MaxConcurrencyPath": "$.c", "ToleratedFailureCountPath": "$.n", "ToleratedFailurePercentagePath": "$.p"}
    run = judge(lab, "yes", "no", given={"c": 3, "n": 1, "p": 60}, **paths)
    run.ended()
    (one,) = map_runs(run)
    limits = [one[name] for name in ("maxConcurrency", "toleratedFailureCount", "toleratedFailurePercentage")]
    failed = lab.states.list_executions(mapRunArn=one["mapRunArn"], statusFilter="FAILED")["executions"]
    return [limits, one["status"], one["executionArn"] == run.arn, len(children(run)), len(failed)]


def timed_out(lab: Lab) -> Any:
    """As `stopped`, but the parent times out."""
    states = judging(ItemsPath="$.all", MaxConcurrency=1, kind="EXPRESS")
    run = lab.start({**states, "TimeoutSeconds": 1}, {"all": ["slow", "yes"]})
    status, right_after = run.end()[0], map_runs(run)[-1]["status"]
    run.until(lambda run: map_runs(run)[-1]["status"] != "RUNNING")
    return [status, right_after, map_runs(run)[-1]["status"], counts(run)]


def stopped(lab: Lab, kind: str) -> Any:
    """The status of a Map Run right after its parent is stopped and at the end, and its counters."""
    run = judge(lab, "slow", "yes", "yes", MaxConcurrency=1, kind=kind)
    run.until(lambda run: bool(map_runs(run)) and counts(run).get("running") == 1)
    run.stop()
    right_after = map_runs(run)[-1]["status"]
    run.until(lambda run: map_runs(run)[-1]["status"] != "RUNNING")
    return [run.described()["status"], right_after, map_runs(run)[-1]["status"], counts(run)]


def written(lab: Lab, *items: str, export: Any = None, **fields: Any) -> dict[str, Any]:
    """The output of a ResultWriter, by file name; and the end of the execution."""
    name, s3 = bucket(lab), lab.account.client("s3")
    target = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": name, "Prefix": "out"}}
    run = judge(lab, *items, ResultWriter={**target, **(export or {})}, **fields)
    found: dict[str, Any] = {"end": run.end(), "arn": map_runs(run)[-1]["mapRunArn"], "bucket": name}
    for one in s3.list_objects_v2(Bucket=name).get("Contents", []):
        key = one["Key"].replace(found["arn"].rpartition(":")[2], "RUN")
        found[key] = s3.get_object(Bucket=name, Key=one["Key"])["Body"].read().decode()
    return found


def layout(lab: Lab) -> Any:
    """The files, and two flags: the output names the manifest; it states their sizes."""
    found = written(lab, "yes", "no", ToleratedFailureCount=1)
    output = found["end"][1]
    manifest, details = json.loads(found["out/RUN/manifest.json"]), output["ResultWriterDetails"]
    files = {status: [one["Size"] for one in listed] for status, listed in manifest["ResultFiles"].items()}
    sizes = {status: [len(found[f"out/RUN/{status}_0.json"])] for status in ("FAILED", "SUCCEEDED")}
    places = output["MapRunArn"] == manifest["MapRunArn"] == found["arn"] and manifest["DestinationBucket"]
    at = details["Key"].replace(found["arn"].rpartition(":")[2], "RUN")
    return [sorted(output), at, places == details["Bucket"] == found["bucket"], files == {**sizes, "PENDING": []}]


def file_of(name: str, *items: str, **fields: Any) -> Callable[[Lab], Any]:
    """The entry of each child in a file: its input, status and, if there is one, output."""

    def observe(lab: Lab) -> Any:
        found = json.loads(written(lab, *items, **fields)[f"out/RUN/{name}_0.json"])
        return [[one["Input"], one["Status"], one.get("Output", one.get("Error", ""))] for one in found]

    return observe


def record_of(name: str) -> Callable[[Lab], Any]:
    def observe(lab: Lab) -> Any:
        return " ".join(sorted(json.loads(written(lab, "yes")[f"out/RUN/{name}_0.json"])[0]))

    return observe


def transformed(kind: str, **config: Any) -> Callable[[Lab], Any]:
    """The text of the file of two children whose outputs are arrays."""

    def observe(lab: Lab) -> Any:
        name, s3 = bucket(lab), lab.account.client("s3")
        target = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": name, "Prefix": "out/"}}
        writer = {**target, "WriterConfig": {"Transformation": kind, **config}}
        run = lab.start(echo(ItemsPath="$.all", ResultWriter=writer), {"all": [[1, 2], [3]]})
        folder = run.end()[1]["ResultWriterDetails"]["Key"].rpartition("/")[0]
        return s3.get_object(Bucket=name, Key=f"{folder}/SUCCEEDED_0.json")["Body"].read().decode()

    return observe


def redriven(lab: Lab) -> Any:
    """The inputs of the tasks before and after a redrive, its counters, and the redrive count of each child."""
    queue = lab.queue()
    child = machine(Ask=callback(queue))
    run = lab.start(machine(All=distributed(child, ItemsPath="$.all", MaxConcurrency=1)), {"all": ["a", "b", "c"]})
    if (error := run.redrive()) != "ExecutionNotRedrivable":
        return error
    asked = []
    for refused in (False, True, False, False):
        message = lab.message(queue)
        asked.append(message["input"])
        (lab.fail if refused else lab.succeed)(message["token"], "1")
        if refused:
            run.ended()
            run.redrive()
    status, output = run.end()
    redrives = [one.described().get("redriveCount", 0) for one in children(run)]
    return [asked, status, output, counts(run), redrives, map_runs(run)[-1]["redriveCount"]]


def redriven_express(lab: Lab) -> Any:
    run = judge(lab, "yes", "no", kind="EXPRESS")
    run.ended()
    run.redrive()
    run.ended()
    return [len(children(run)), [one.described().get("redriveCount", 0) for one in children(run)], counts(run)]


def child_alone(lab: Lab) -> Any:
    run = judge(lab, "no")
    run.ended()
    (child,) = children(run)
    return [child.described().get("redriveStatus"), child.redrive()]


def retried(lab: Lab) -> Any:
    again = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    run = judge(lab, "no", "yes", Retry=again)
    run.ended()
    return [(one["status"], one["executionCounts"]["total"], one["redriveCount"]) for one in map_runs(run)]


def named(lab: Lab, kind: str) -> Any:
    """The second to last part of the Map Run's ARN, and the kind and the label in its child's."""
    run = judge(lab, "yes", Label="rows", kind=kind)
    run.ended()
    machine_name = run.arn.split(":")[6]
    own = map_runs(run)[-1]["mapRunArn"].split(":")
    child = children(run)[0].arn.split(":")
    return [own[5], own[6] == child[6] == f"{machine_name}/rows", child[5]]


def history(lab: Lab) -> Any:
    run = judge(lab, "yes")
    run.ended()
    return [" ".join(run.kinds()[1:-1]), " ".join(children(run)[0].kinds())]


def failed_output(lab: Lab) -> Any:
    status, output = judge(lab, "yes", "no", ToleratedFailurePercentage=50).end()
    return [status, output[0], output[1]["Status"], output[1]["Input"], output[1]["Error"]]


CASES = [
    Case(
        "no failure is tolerated by default",
        f"{_TOLERANCE}: the default is zero: the Map Run fails if any one of its children fails or times out",
        judged("yes", "no"),
        _EXCEEDED,
        lacking=False,
    ),
    Case(
        "a run fails above its percentage, not at it",
        f"{_TOLERANCE}: the Map Run automatically fails if it exceeds this percentage",
        judged("no", "yes", ToleratedFailurePercentage=49),
        _EXCEEDED,
        lacking=False,
    ),
    Case(
        "the tolerated number comes from a path",
        f"{_TOLERANCE}: ToleratedFailureCountPath",
        lambda lab: judged("no", "yes", given={"n": 1}, ToleratedFailureCountPath="$.n")(lab)[0],
        "SUCCEEDED",
    ),
    Case(
        "the tolerated percentage comes from a path",
        f"{_TOLERANCE}: ToleratedFailurePercentagePath",
        lambda lab: judged("no", "yes", given={"n": 50}, ToleratedFailurePercentagePath="$.n")(lab)[0],
        "SUCCEEDED",
    ),
    Case(
        "each of two thresholds counts",
        f"{_TOLERANCE}: with both, the Map Run fails when either threshold is exceeded",
        judged("no", "yes", ToleratedFailurePercentage=100, ToleratedFailureCount=0),
        _EXCEEDED,
        lacking=False,
    ),
    Case(
        "no child starts above the threshold",
        f"{_WRITER}: PENDING_n.json: children that weren't started because the Map Run failed or aborted",
        counted("no", "yes", "yes", MaxConcurrency=1),
        {"total": 3, "failed": 1, "pending": 2},
    ),
    Case(
        "running children end above the threshold",
        _ABORTED,
        counted("slow", "slow", "no"),
        {"total": 3, "failed": 1, "aborted": 2},
    ),
    Case(
        "a child that failed is told unchanged",
        f"{_WRITER}: if a child workflow execution fails, Step Functions returns its execution result unchanged",
        failed_output,
        ["SUCCEEDED", {"is": "yes"}, "FAILED", '{"is":"no"}', "Refused"],
    ),
    Case(
        "a Map Run tells its counters while it runs",
        f"{API}, DescribeMapRun: executionCounts; {GUIDE}: MaxConcurrencyPath",
        live,
        [{"total": 3, "running": 2, "pending": 1}, 2],
    ),
    Case(
        "a Map Run that runs takes another concurrency",
        f"{API}, UpdateMapRun: updates an in-progress Map Run's configuration",
        updated,
        3,
    ),
    Case(
        "a Map Run that runs takes another threshold",
        f"{API}, UpdateMapRun: toleratedFailureCount",
        stricter,
        _EXCEEDED,
    ),
    Case(
        "items and children are counted",
        f"{API}, DescribeMapRun: itemCounts, executionCounts",
        batched(40),
        [
            "SUCCEEDED",
            {"total": 3, "failed": 1, "succeeded": 2},
            {"total": 5, "failed": 2, "succeeded": 3},
        ],
    ),
    Case(
        "a percentage is one of items",
        f"{_TOLERANCE}: the percentage of failed items to tolerate",
        lambda lab: batched(39)(lab)[0],
        "FAILED",
    ),
    Case(
        "a Map Run and its children are listed",
        f"{API}, DescribeMapRun; ListExecutions: mapRunArn, statusFilter",
        told,
        [[3, 1, 60.0], "SUCCEEDED", True, 2, 1],
    ),
    Case(
        "a Map Run outlives a parent that timed out",
        _STOPPED,
        timed_out,
        ["TIMED_OUT", "RUNNING", "ABORTED", {"total": 2, "succeeded": 1, "pending": 1}],
    ),
    Case(
        "a stopped parent's Express children run on",
        f"{_STOPPED}: it waits for child workflow executions of type Express to complete",
        lambda lab: stopped(lab, "EXPRESS"),
        ["ABORTED", "RUNNING", "ABORTED", {"total": 3, "succeeded": 1, "pending": 2}],
    ),
    Case(
        "a stopped parent's Standard children end",
        f"{_STOPPED}: it cancels in-progress child workflow executions of type Standard",
        lambda lab: stopped(lab, "STANDARD")[2:],
        ["ABORTED", {"total": 3, "aborted": 1, "pending": 2}],
    ),
    Case(
        "results are in a folder of the Map Run",
        f"{_WRITER}: the state returns the Map Run ARN and data about the Amazon S3 export location",
        layout,
        [["MapRunArn", "ResultWriterDetails"], "out/RUN/manifest.json", True, True],
    ),
    Case(
        "no items have a manifest",
        f"{_WRITER}: manifest.json: the export location, the Map Run ARN, and the result files",
        lambda lab: json.loads(written(lab)["out/RUN/manifest.json"])["ResultFiles"],
        {"FAILED": [], "PENDING": [], "SUCCEEDED": []},
    ),
    Case(
        "a result has its execution's data",
        f"{_WRITER}: all child workflow execution data, such as execution input and output, ARN, and status",
        record_of("SUCCEEDED"),
        "ExecutionArn Input InputDetails Name Output OutputDetails RedriveCount RedriveStatus RedriveStatusReason"
        " StartDate StateMachineArn Status StopDate",
    ),
    Case(
        "a failed child keeps its input",
        f"{_WRITER}: the results would be equivalent to having set Transformation to NONE",
        file_of("FAILED", "no", "yes", ToleratedFailureCount=1, export={"WriterConfig": {"Transformation": "COMPACT"}}),
        [['{"is":"no"}', "FAILED", "Refused"]],
    ),
    Case(
        "children that never started are written",
        f"{_WRITER}: PENDING_n.json: children that weren't started because the Map Run failed or aborted",
        file_of("PENDING", "no", "yes", MaxConcurrency=1),
        [['{"is":"yes"}', "PENDING", ""]],
    ),
    Case(
        "children that were stopped have failed",
        f"{_WRITER}: FAILED_n.json: all failed, timed out, and aborted child workflow executions",
        lambda lab: sorted(one[1] for one in file_of("FAILED", "slow", "no")(lab)),
        ["ABORTED", "FAILED"],
    ),
    Case(
        "compact results are the outputs",
        f"{_WRITER}: COMPACT: returns the output of the child workflow executions",
        lambda lab: json.loads(transformed("COMPACT")(lab)),
        [[1, 2], [3]],
    ),
    Case(
        "flat results are the outputs' items",
        f"{_WRITER}: FLATTEN: flattens the array; JSONL: formats the results as JSON Lines",
        transformed("FLATTEN", OutputType="JSONL"),
        "1\n2\n3\n",
    ),
    Case(
        "results without a place are the output",
        f"{_WRITER}: only WriterConfig: the results are passed on to the next state",
        lambda lab: lab.start(
            echo(ItemsPath="$.all", ResultWriter={"WriterConfig": {"Transformation": "FLATTEN"}}),
            {"all": [[1, 2], [3]]},
        ).end(),
        ("SUCCEEDED", [1, 2, 3]),
    ),
    Case(
        "results that cannot be written fail the state",
        f"{GUIDE}, Error names: States.ResultWriterFailed: it couldn't write all the results to the destination",
        judged(
            "yes",
            ResultWriter={"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "none", "Prefix": "p"}},
        ),
        ("FAILED", "States.ResultWriterFailed"),
    ),
    Case(
        "a label names the Map Run and its children",
        f"{GUIDE}, Label: prepended to the ARNs of Map Runs and child executions",
        lambda lab: named(lab, "STANDARD"),
        ["mapRun", True, "execution"],
        lacking=False,
    ),
    Case(
        "an Express child has an Express ARN",
        f"{GUIDE}, Express workflows: arn:aws:states:region:account:express:machine:name:id",
        lambda lab: named(lab, "EXPRESS"),
        ["mapRun", True, "express"],
    ),
    Case(
        "a parent and its child have their own histories",
        f"{GUIDE}, Distributed mode: each child workflow execution has its own, separate execution history",
        history,
        [
            "MapStateEntered MapStateStarted MapRunStarted MapRunSucceeded MapStateSucceeded MapStateExited",
            "ExecutionStarted ChoiceStateEntered ChoiceStateExited PassStateEntered PassStateExited ExecutionSucceeded",
        ],
    ),
    Case(
        "a redrive goes on with what did not succeed",
        f"{_REDRIVES}: redrives the unsuccessful children with RedriveExecution, and starts those that never ran",
        redriven,
        [["a", "b", "b", "c"], "SUCCEEDED", [1, 1, 1], {"total": 3, "succeeded": 3}, [0, 1, 0], 1],
    ),
    Case(
        "an Express child is started again",
        f"{_REDRIVES}: Express child workflows are rerun using the StartExecution API action",
        redriven_express,
        [3, [0, 0, 0], {"total": 2, "succeeded": 1, "failed": 1}],
    ),
    Case(
        "a child is redriven by its Map Run only",
        f"{API}, DescribeExecution: redriveStatus REDRIVABLE_BY_MAP_RUN",
        child_alone,
        ["REDRIVABLE_BY_MAP_RUN", "ExecutionNotRedrivable"],
    ),
    Case(
        "a retry runs all children again",
        f"{GUIDE}, Map state: Retry: a retry of the state starts a new Map Run",
        retried,
        [("FAILED", 2, 0), ("FAILED", 2, 0)],
        lacking=False,
    ),
]
