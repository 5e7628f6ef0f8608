"""What the console is started with."""

from collections.abc import Callable
from dataclasses import dataclass

from stepwise import STACK_NAME
from stepwise.operations.stack import Stack


@dataclass(frozen=True, slots=True)
class Settings:
    """open_stack: describes the stack; raises StackNotFound. command: the same stack's command of ./stepwise, as text.

    changes: whether changes are allowed.
    """

    open_stack: Callable[[], Stack]
    command: Callable[..., str]
    aws: bool = False
    changes: bool = True
    stack_name: str = STACK_NAME

    @property
    def poll_seconds(self) -> float:
        """Between two reads of one page. AWS throttles, and charges for, calls."""
        return 5.0 if self.aws else 0.25

    @property
    def describe_seconds(self) -> float:
        """Between two descriptions of the stack."""
        return 60.0 if self.aws else 5.0
