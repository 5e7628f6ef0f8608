"""Lambda's context object."""

from typing import Protocol


class LambdaContext(Protocol):
    """The parts of Lambda's context object that the functions use."""

    @property
    def aws_request_id(self) -> str: ...

    def get_remaining_time_in_millis(self) -> int: ...
