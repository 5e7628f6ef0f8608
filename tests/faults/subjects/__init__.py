"""The sagas that the explorer can explore, one module for each.

Each has a `SUBJECT`: a saga's definition, its inputs, and the functions around its machines.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idempotency.saga import Saga

type Document = dict[str, Any]

# How the branches of a parallel group run: each to its end, in this order or reversed; or without those after a failed
# one.
IN_ORDER, REVERSED, STOPPED = "in order", "reversed", "stopped"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of input. gateway: whether the stack has a payment gateway. branches: how a group's branches run."""

    gateway: bool = False
    branches: str = IN_ORDER

    def document(self, saga_id: str) -> Document:
        """Return the saga's input."""
        raise NotImplementedError

    def other(self, saga_id: str) -> Document:
        """Return another payload under the same id."""
        return self.document(saga_id)

    def neighbor(self, neighbor_id: str, saga_id: str) -> Document:
        """Return the input of another saga that uses the resources of `saga_id`."""
        del saga_id
        return self.document(neighbor_id)

    def stock(self, saga_id: str) -> dict[str, int]:
        """Return the pieces on hand by SKU before the saga starts."""
        del saga_id
        return {}


@dataclass(frozen=True, slots=True)
class Subject:
    """An explored saga.

    finalizer, sweeper: the logical ids of the two functions that finalize.
    accepts: whether the functions accept an input. notice, topic: the state that publishes a success, and its topic.
    caches: to clear when the functions are deployed with other parameters. invariants: the module of the saga's own
    invariants. gateway: creates the gateway that charges the cards, if there is one. audit: of the stack of an
    operator, if the saga has one.
    """

    saga: Saga
    kinds: Mapping[str, Kind]
    finalizer: str
    sweeper: str
    accepts: Callable[[Document], bool]
    notice: str
    topic: str
    caches: Sequence[Any]
    invariants: str = ""
    gateway: Callable[[], Any] = lambda: None
    audit: Callable[[Any], Any] | None = None

    @property
    def outside_a_machine(self) -> tuple[str, str]:
        return self.finalizer.removesuffix("Function"), self.sweeper.removesuffix("Function")
