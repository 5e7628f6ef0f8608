"""Start settings of the console."""

from collections.abc import Callable
from dataclasses import dataclass

from stepwise import STACK_NAME
from stepwise.operations.stack import Stack


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings. open_stack: describes the stack; raises StackNotFound.

    command: the same stack's ./stepwise command, as text.
    changes: whether changes are allowed.
    """

    open_stack: Callable[[], Stack]
    command: Callable[..., str]
    aws: bool = False
    changes: bool = True
    stack_name: str = STACK_NAME

    @property
    def poll_seconds(self) -> float:
        """Seconds between two reads of one page. AWS throttles calls and charges for them."""
        return 5.0 if self.aws else 0.25

    @property
    def describe_seconds(self) -> float:
        """Seconds between two descriptions of the stack."""
        return 60.0 if self.aws else 5.0
