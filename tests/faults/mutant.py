"""Mutants: deliberately broken variants, as found in public samples. The explorer must see each one fail.

Each is a small patch of loaded code or of a loaded definition, applied and removed in a worker's process. A mutant's
docstring says what goes wrong.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from tests.faults.engine import SAGA, Engine
from tests.faults.scenario import ORDERS
from tests.faults.seams import Document

type Patch = Callable[[Engine], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A patch. invariants: one of these must break first. orders: to search in. at: its place.

    edges: kinds of faults at the edges to search with, instead of the others. inside: if set, each of them is combined
    with each fault at a place with this prefix.
    """

    patch: Patch
    invariants: frozenset[str]
    orders: Sequence[str]
    at: str
    edges: frozenset[str]
    inside: str


MUTANTS: dict[str, Mutant] = {}


BY_GATEWAY = tuple(name for name, kind in ORDERS.items() if kind.gateway and kind.price)
WITHOUT_GATEWAY = tuple(name for name, kind in ORDERS.items() if not kind.gateway)


def mutant(
    name: str,
    *broken: str,
    orders: Sequence[str] = WITHOUT_GATEWAY,
    at: str = "",
    edges: Sequence[str] = (),
    inside: str = "",
) -> Callable[[Patch], Patch]:
    def register(patch: Patch) -> Patch:
        MUTANTS[name] = Mutant(patch, frozenset(broken), orders, at, frozenset(edges), inside)
        return patch

    return register


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def edited(engine: Engine, edit: Callable[[dict[str, Document]], None]) -> Iterator[None]:
    definition = copy.deepcopy(engine.machines[SAGA])
    edit(definition["States"])
    with engine.redefined(SAGA, definition):
        yield


def without_condition(action: Mapping[str, Any]) -> dict[str, Any]:
    ((kind, parameters),) = action.items()
    return {kind: {key: value for key, value in parameters.items() if key != "ConditionExpression"}}
