"""One entry of the inbox."""

from dataclasses import dataclass

from stepwise.operations.errors import Word


@dataclass(frozen=True, slots=True)
class Concern:
    """context: a name of the command line, such as "orders". problem: what is wrong. cause: why, as far as is known.

    since: ISO 8601; empty if unknown. see: a command of `stepwise`, without the options that choose the stack.
    """

    context: str
    id: str
    problem: str
    cause: str
    see: tuple[Word, ...]
    since: str = ""
