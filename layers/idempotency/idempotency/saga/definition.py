"""A saga as data: its state machines, its steps in order, and the compensation of each."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from idempotency.dynamodb import Action

from .step import SagaStep, check


@dataclass(frozen=True, slots=True)
class Parallel:
    """Branches that run side by side, each a sequence of steps."""

    branches: tuple[tuple[SagaStep, ...], ...]


@dataclass(frozen=True, slots=True)
class Saga:
    """A saga. The row of its first step says whether it is decided.

    name: for people. machine, recovery: the logical ids of its two state machines.
    id_field: the name of the saga's id. parse: reads the input; raises a BusinessError.
    id_path: where the input has the id; by default in the field `id_field`.
    open, confirmed, failed: the statuses of the first step's row. pending: other statuses of a row that is not decided.
    joining: steps that are deployed, but that executions of the previous version lack. They join `steps` when every
        such execution has ended; until then a saga is confirmed without them. A failed saga is undone with them.
    on_interruption: what finalization does with an execution that was stopped or timed out. "backward": undo it.
        "hold": bar nothing, and leave it to an operator, who recovers it backward or forward.
    ordered: whether a step runs only while its parents stand, and is undone only when none of its children stands,
        whatever calls arrive. Otherwise only the state machines keep the order.
    """

    name: str
    machine: str
    recovery: str
    id_field: str
    parse: Callable[[Any], Any]
    steps: tuple[SagaStep | Parallel, ...]
    open: str
    confirmed: str
    failed: str
    id_path: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    joining: tuple[SagaStep, ...] = ()
    on_interruption: Literal["backward", "hold"] = "backward"
    ordered: bool = False

    def __post_init__(self) -> None:
        names = [name for step in self.deployed for name in (step.name, step.compensation)]
        if len(set(names)) < len(names):
            raise ValueError(f"saga {self.name}: a name is there twice among {names}")
        if not isinstance(self.steps[0], SagaStep):
            raise TypeError(f"saga {self.name}: the first step has the saga's row, so it cannot be a parallel group")

    @property
    def all_steps(self) -> tuple[SagaStep, ...]:
        """Every step, including those of branches."""
        return tuple(step for part in self.steps for branch in _branches(part) for step in branch)

    @property
    def deployed(self) -> tuple[SagaStep, ...]:
        """Every step, including the joining ones."""
        return self.all_steps + self.joining

    def step(self, name: str) -> SagaStep:
        """Return the step of this name. Raises KeyError."""
        return {step.name: step for step in self.deployed}[name]

    @property
    def step_names(self) -> tuple[str, ...]:
        return tuple(step.name for step in self.all_steps)

    @property
    def first(self) -> SagaStep:
        """The step that owns the saga's row."""
        return self.all_steps[0]

    @property
    def undone(self) -> tuple[SagaStep, ...]:
        """Every step in the order of compensation: each branch backward, a whole group before its ancestors."""
        parts = reversed(self.steps)
        return tuple(step for part in parts for branch in _branches(part) for step in reversed(branch))

    @property
    def compensations(self) -> tuple[str, ...]:
        """Names of the compensations, in their order."""
        return tuple(step.compensation for step in self.undone)

    def parents(self, step: SagaStep) -> tuple[SagaStep, ...]:
        """Return the steps directly before this one."""
        before: tuple[SagaStep, ...] = ()
        for part in self.steps:
            branches = list(_branches(part))
            for branch in branches:
                if step in branch:
                    index = branch.index(step)
                    return branch[index - 1 : index] if index else before
            before = tuple(branch[-1] for branch in branches)
        return ()

    def children(self, step: SagaStep) -> tuple[SagaStep, ...]:
        """Return the steps directly after this one."""
        return tuple(child for child in self.all_steps if step in self.parents(child))

    @property
    def leases(self) -> tuple[SagaStep, ...]:
        """Steps that work outside DynamoDB, including the joining ones."""
        return tuple(step for step in self.deployed if step.outside)

    def still_open(self, table: str, saga_id: str) -> Action:
        """Check that the saga is not decided: its row is open or missing. No step may run under a decided saga.

        table: the physical name of the first step's table.
        """
        return self._by_row(table, saga_id, "#status IN", self.undecided)

    def not_confirmed(self, table: str, saga_id: str) -> Action:
        """Check that the saga has not succeeded. Nothing of a saga that succeeded may be undone."""
        return self._by_row(table, saga_id, "NOT #status IN", (self.confirmed,))

    @property
    def undecided(self) -> tuple[str, ...]:
        """Statuses of the first step's row while the saga is not decided."""
        return (self.open, *self.pending)

    @property
    def noun(self) -> str:
        """Noun for the subject of the saga, for messages: `order`, for an `order_id`."""
        return self.id_field.removesuffix("_id")

    def called(self, saga_id: str) -> str:
        """Name a saga in a message: `order o-1001`."""
        return f"{self.noun} {saga_id}"

    def id_of(self, document: Any) -> str | None:
        """Read the saga's id from an input.

        Reads leniently: what an earlier deployment accepted must be finalized too.
        """
        found = document
        for name in self.id_path or (self.id_field,):
            found = found.get(name) if isinstance(found, dict) else None
        return found if isinstance(found, str) and found else None

    def named(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the steps with these names, in the order of the saga."""
        wanted = set(names)
        return tuple(name for name in self.step_names if name in wanted)

    def _by_row(self, table: str, saga_id: str, relation: str, statuses: tuple[str, ...]) -> Action:
        values = {f"status{index}": status for index, status in enumerate(statuses)}
        condition = f"attribute_not_exists({self.first.key}) OR {relation} ({', '.join(f':{name}' for name in values)})"
        return check(table, self.first.row_key(saga_id), condition, ["status"], values)


def _branches(part: SagaStep | Parallel) -> Iterator[tuple[SagaStep, ...]]:
    yield from part.branches if isinstance(part, Parallel) else [(part,)]
