"""Lambda's context object."""

from typing import Protocol


class LambdaContext(Protocol):
    """The part of Lambda's context object that is used."""

    @property
    def aws_request_id(self) -> str: ...

    def get_remaining_time_in_millis(self) -> int: ...
