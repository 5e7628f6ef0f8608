"""A saga as data, and what is derived from it: the state of one saga, its finalization, and the sweep."""

from .definition import Parallel, Saga
from .step import SagaStep
from .steps import SagaSteps

__all__ = ["Parallel", "Saga", "SagaStep", "SagaSteps"]
