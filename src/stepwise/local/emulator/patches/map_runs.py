"""A Map Run: its child executions, its counters and its failure threshold, with its own life cycle.

When the threshold is exceeded, or the parent is stopped or times out, no further child starts. Standard children are
stopped; Express ones, which cannot be, run to their end. Then the results are written.
"""

import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from . import executions, redrives
from .child_executions import Child, started
from .result_writer import Export, results
from .scopes import Scope

type Execution = dict[str, Any]

_PHASES = {"SUCCEEDED": "succeeded", "FAILED": "failed", "TIMED_OUT": "timedOut", "ABORTED": "aborted"}
_UNSUCCESSFUL = ("failed", "timedOut", "aborted")
_TO_START = ("pending", "pendingRedrive")
_COUNTERS = (*_TO_START, "running", *_PHASES.values(), "total", "resultsWritten", "failuresNotRedrivable")
_EXPRESS_SECONDS = 300
# AWS runs up to 10,000 children at once, and promises at most MaxConcurrency, not as many. Here each function call has
# a process, so more at once take longer until they time out.
_MAX_AT_ONCE = 8
_THRESHOLD = ("toleratedFailureCount", "toleratedFailurePercentage")

_runs: dict[str, "MapRun"] = {}


class MapRun:
    """A Map Run. parent: the execution. machine: the parent's name.

    limits: maxConcurrency and the threshold, if given.
    """

    def __init__(
        self, parent: Execution, machine: str, label: str, processor: dict[str, Any], limits: dict[str, float]
    ) -> None:
        prefix = ":".join(parent["executionArn"].split(":")[:5])
        path = f"{machine}/{label}"
        self._machine, self._parent = machine, parent
        self._given = set(limits)
        self.id = str(uuid.uuid4())
        self.arn = f"{prefix}:mapRun:{path}:{self.id}"
        self.express = processor["ProcessorConfig"].get("ExecutionType") == "EXPRESS"
        self.definition = processor | ({"TimeoutSeconds": _EXPRESS_SECONDS} if self.express else {})
        self.children: Sequence[Child] = ()
        self.export: Export | None = None
        # Fields of DescribeMapRun's response.
        self.record: dict[str, Any] = {
            "mapRunArn": self.arn,
            "executionArn": parent["executionArn"],
            "status": "RUNNING",
            **dict.fromkeys(("maxConcurrency", *_THRESHOLD, "redriveCount"), 0),
            **limits,
            "itemCounts": dict.fromkeys(_COUNTERS, 0),
            "executionCounts": dict.fromkeys(_COUNTERS, 0),
            "_stateMachineArn": f"{prefix}:stateMachine:{path}",
        }
        self._scope, self._counting, self._working = Scope(), threading.Lock(), threading.Lock()
        self._running: set[int] = set()

    def begin(self, children: Sequence[Child]) -> None:
        """Register the Map Run for DescribeMapRun."""
        from ministack.services import stepfunctions

        self.children = children
        for child in children:
            self._count("total", child)
            self._count("pending", child)
        self.record["startDate"] = stepfunctions.now_iso()
        stepfunctions._map_runs[self.arn] = self.record
        _runs[self.arn] = self

    def work(self, stopped: threading.Event, transformation: str, redrive: bool = False) -> Any:
        """Run the children that have not succeeded, write the results, and return them or their location.

        redrive: another attempt; it waits for the previous one. Raises MiniStack's _ExecutionError.
        """
        from ministack.services import stepfunctions

        with self._working:
            if redrive:
                self._redriven()
            due = [child for child in self.children if child.phase in _TO_START]
            status = "FAILED"
            try:
                self._run_children(due, lambda: stopped.is_set() or self._exceeded())
                output: Any = self._written(self.export, due) if self.export else results(self.children, transformation)
                if not self._exceeded():
                    status = "SUCCEEDED"
            finally:
                status = "ABORTED" if stopped.is_set() else status
                self.record.update(status=status, stopDate=stepfunctions.now_iso())
            if status == "FAILED":
                cause = "The specified tolerated failure threshold was exceeded"
                raise stepfunctions._ExecutionError("States.ExceedToleratedFailureThreshold", cause)
            return output

    def stop(self, stopped: threading.Event) -> None:
        """Make an attempt end."""
        stopped.set()
        self._scope.wake()

    def look_again(self) -> None:
        """Apply changed limits."""
        self._scope.wake()

    def _redriven(self) -> None:
        from ministack.services import stepfunctions

        self.record.pop("stopDate", None)
        self.record["redriveCount"] += 1
        self.record.update(status="RUNNING", redriveDate=stepfunctions.now_iso())
        for child in self.children:
            if child.phase in _UNSUCCESSFUL:
                self._move(child, "pendingRedrive")

    def _run_children(self, due: Sequence[Child], over: Callable[[], bool]) -> None:
        from ministack.services import stepfunctions

        for index, child in enumerate(due):
            self._scope.wait(lambda: over() or self._has_room(), _no_end)
            if over():
                break
            self._start(index, child)
        self._scope.wait(lambda: over() or not self._running, _no_end)
        for index in () if self.express else tuple(self._running):
            execution = due[index].execution
            stepfunctions._stop_execution({"executionArn": execution and execution["executionArn"]})
        self._scope.wait(lambda: not self._running, _no_end)

    def _has_room(self) -> bool:
        return len(self._running) < min(self.record["maxConcurrency"] or _MAX_AT_ONCE, _MAX_AT_ONCE)

    def _start(self, index: int, child: Child) -> None:
        if child.execution is None or self.express:
            child.execution = started(self._parent, self.record, child.given, self.express)
        else:
            redrives.restart(child.execution)
        self._move(child, "running")
        self._running.add(index)
        self._scope.started(self._run, index, child, child.execution)

    def _run(self, index: int, child: Child, execution: Execution) -> None:
        try:
            executions.walk(execution, self._machine, self.definition)
        finally:
            self._move(child, _PHASES.get(execution["status"], "failed"))
            self._running.discard(index)

    def _exceeded(self) -> bool:
        record: dict[str, Any] = self.record
        counts: dict[str, int] = record["itemCounts"]
        failed = sum(counts[phase] for phase in _UNSUCCESSFUL)
        found = dict(zip(_THRESHOLD, (failed, failed * 100 / (counts["total"] or 1)), strict=True))
        limits = [name for name in _THRESHOLD if name in self._given or record[name]]
        return any(found[name] > record[name] for name in limits) if limits else failed > 0

    def _written(self, export: Export, due: Sequence[Child]) -> dict[str, Any]:
        details = export.write(due, self.record["redriveCount"])
        for child in due:
            self._count("resultsWritten", child)
        return {"MapRunArn": self.arn, "ResultWriterDetails": details}

    def _move(self, child: Child, phase: str) -> None:
        with self._counting:
            self._count(child.phase, child, -1)
            self._count(phase, child)
            child.phase = phase

    def _count(self, counter: str, child: Child, sign: int = 1) -> None:
        self.record["itemCounts"][counter] += sign * child.items
        self.record["executionCounts"][counter] += sign


def update(upstream: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap UpdateMapRun, so that it takes effect at once."""

    def update_map_run(data: Any) -> Any:
        answer = upstream(data)
        if run := _runs.get(data.get("mapRunArn", "")):
            run.look_again()
        return answer

    return update_map_run


def _no_end() -> None:
    return None
