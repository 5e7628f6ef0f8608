"""A replay's position in a file, so that an interrupted replay resumes without replaying an order twice.

A page's orders, with their revisions, are saved before the first of them is replayed. After a crash
each of them is either unchanged, and is replayed now, or has moved on, and needs nothing.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from stepwise.operations.errors import CommandError

from .fire import Outcome
from .orders import Position, Seen


class CheckpointMismatch(CommandError):
    """The file belongs to another replay, or is no checkpoint."""


@dataclass(frozen=True, slots=True)
class State:
    """State of a replay.

    page: orders that may have been replayed. after: start of the next page. last: whether there is none.
    counts: outcomes so far, without those of the page.
    """

    page: Sequence[Seen] = ()
    after: Position | None = None
    last: bool = False
    counts: Mapping[Outcome, int] = field(default_factory=Counter)

    @property
    def done(self) -> bool:
        return self.last and not self.page


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint file.

    path: None saves nothing. replay: its selection and place; the checkpoint of another replay is rejected.
    """

    path: Path | None
    replay: Mapping[str, str]

    def load(self) -> State:
        """Load the position of an earlier run, or the start. Raises CheckpointMismatch."""
        if self.path is None or not self.path.exists():
            return State()
        try:
            kept = json.loads(self.path.read_text())
            replay, page, counts = kept["replay"], kept["page"], kept["counts"]
            state = State(
                [Seen(**seen) for seen in page],
                kept["after"],
                kept["last"],
                Counter({Outcome(name): count for name, count in counts.items()}),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointMismatch(f"{self.path} is no checkpoint: {error}") from None
        if replay != self.replay:
            raise CheckpointMismatch(
                f"{self.path} belongs to another replay: {_words(replay)}, not {_words(self.replay)}"
            )
        return state

    def save(self, state: State) -> None:
        """Replace the file atomically; it is on disk when this returns."""
        if self.path is None:
            return
        document = {
            "replay": self.replay,
            "page": [asdict(seen) for seen in state.page],
            "after": state.after,
            "last": state.last,
            "counts": state.counts,
        }
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            with beside.open("w") as file:
                json.dump(document, file)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        finally:
            beside.unlink(missing_ok=True)


def _words(replay: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in replay.items())
