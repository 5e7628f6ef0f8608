"""One run of a schedule of a ZIP: two machines, the tokens between them, and the sweeps of both."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ministack.services import s3, stepfunctions

from tests.faults import faults as f
from tests.faults.actors.acting import Visit
from tests.faults.actors.executing import branch_context
from tests.faults.actors.schedule import HELD
from tests.faults.actors.simulation import Flag, Gone
from tests.faults.engine import execution_error
from tests.faults.imports.ledger import FINAL_STATUSES
from tests.faults.imports.plan import File
from tests.faults.imports.run import Run
from tests.faults.invocation import Invocation
from tests.faults.seams import Document
from tests.faults.zips import schedule as s
from tests.faults.zips.judge import ZipJudge
from tests.faults.zips.plan import Plan, plan

_WAITS = "trigger_single_csv"


@dataclass
class ZipRun(Run):
    """A run.

    cut_short: ZIPs of which an unzip crashed, or wrote, after their end; S3's lifecycle deletes what it left.
    """

    cut_short: set[str] = field(default_factory=set)
    plan: Plan = field(init=False)

    def make_plan(self) -> Plan:
        return plan(self.schedule)

    def make_judge(self) -> ZipJudge:
        return ZipJudge(self)

    def label(self, import_id: str) -> str:
        """Return a short name; a child has that of its ZIP, and its number."""
        parent, dash, number = import_id.partition("-")
        return super().label(parent) + (f"-{int(number)}" if dash else "")

    def upload(self, key: str, file: File) -> str:
        """Upload the archive."""
        self.files[key] = file
        answer = s3._put_object(self.engine.bucket, key, self.plan.archive, {})
        return str(answer[1]["x-amz-version-id"])

    def file_of(self, row: Document) -> File:
        return self.first_file(row["import_id"])

    def first_file(self, import_id: str) -> File:
        return self.plan.entries[int(import_id.partition("-")[2]) - 1]

    def sweep(self) -> None:
        super().sweep()
        self.invoke("SweepZipsFunction", {"source": "aws.events"}, "SweepZips")

    def run_invocation(self, invocation: Invocation) -> Document:
        answer = super().run_invocation(invocation)
        if invocation.function == "UnzipFunction":
            held = any(one.kind == HELD and one.at.startswith("unzip@") for one in self.faults.injected)
            error = answer["body"]["errorType"] if answer.get("error") else ""
            if held or error not in {"", "ImportCutOff"}:
                ended = (one for one, row in self.judge.imports.items() if row["status"] in FINAL_STATUSES or held)
                self.cut_short.update(ended)
        return answer

    # The machine of ZIPs.

    def item(self, execution: Document, context: Document) -> str:
        return f":{context['Map']['Item']['Value']}" if "Map" in context else super().item(execution, context)

    def state_kinds(self, state: str) -> Iterable[str]:
        return [*f.STATE_KINDS, *s.WAIT_KINDS] if state == _WAITS else super().state_kinds(state)

    def fault_at(self, place: str, kinds: Any, weight: float = 1) -> str:
        kind = super().fault_at(place, kinds, weight)
        if kind in s.WAIT_KINDS and self.simulation.current:
            self.simulation.current.notes["waits"] = kind
        return kind

    def callback(self, _: str, document: Document, token: str, __: Document) -> Any:
        """Run waitForTaskToken: each attempt has a separate token, and fails if the function fails."""
        visit, actor = self.visit, self.simulation.current
        assert visit is not None
        assert actor is not None
        kind = actor.notes.pop("waits", "")
        answered: Flag = self.hand_out(token, document, visit)["event"]
        if kind == s.ANSWERED_TWICE:
            self.spawn(partial(self._answered_again, answered), bare=True)
        waited = answered.wait(self.late() if kind == s.TIMED_OUT_WAITING else None)
        self.go_on(visit)
        stepfunctions._task_tokens.pop(token, None)
        if not waited:
            raise execution_error("States.Timeout", "nobody answered")
        return {}

    def _answered_again(self, answered: Flag) -> None:
        """Answer a token again, which may be dead by then, or forgotten."""
        answered.wait()
        for pause in (0, self.late()):
            self.simulation.sleep(pause)
            self.invoke("SweepZipsFunction", {"source": "aws.events"}, "SweepZips")

    def items(self, state: Document, document: Any, execution: Document, context: Document) -> Any:
        """Run an inline Map, some iterations at a time; or the Distributed Map of a child."""
        if state["ItemProcessor"]["ProcessorConfig"]["Mode"] != "INLINE":
            return super().items(state, document, execution, context)
        place = f"trigger_csv_jobs@{self.label(context['Execution']['Name'])}"
        kind = self.state_fault(place, "trigger_csv_jobs", f.STATE_KINDS, 5)
        cancelled, done = Flag(self.simulation), Flag(self.simulation)
        visit = Visit(place, execution, context, cancelled)
        self.end(visit, kind if kind in f.BEFORE_STATE else "")
        left = list(enumerate(stepfunctions._resolve_path(state["ItemsPath"], document)))
        lanes = min(len(left), stepfunctions._resolve_path(state["MaxConcurrencyPath"], document))
        failures: list[Exception] = []
        ended: list[int] = []

        def lane() -> None:
            while left and not failures:
                self._iterate(state, document, execution, context, left.pop(0), failures)
            ended.append(1)
            if failures or len(ended) == lanes:
                done.set()

        for _ in range(lanes):
            self.spawn(lane, visit=visit)
        if lanes:
            done.wait()
        if execution["status"] != "RUNNING":
            raise Gone
        if failures:
            cancelled.set()
            raise failures[0]
        self.end(visit, "" if kind in f.BEFORE_STATE else kind)
        output = stepfunctions._apply_result_path(state, document, [])
        return output, stepfunctions._next_or_end(state)

    def _iterate(
        self,
        state: Document,
        document: Any,
        execution: Document,
        context: Document,
        item: tuple[int, Any],
        failures: list[Exception],
    ) -> None:
        inner = branch_context(context)
        inner["Map"] = {"Item": dict(zip(("Index", "Value"), item, strict=True))}
        given = stepfunctions._resolve_params_obj(state["ItemSelector"], document, inner)
        processor = state["ItemProcessor"]
        try:
            stepfunctions._run_sub_machine(processor["States"], processor["StartAt"], given, execution, inner)
        except stepfunctions._ExecutionError as error:
            failures.append(error)
