"""Shows versions to others: targets of synchronous commands, from the stream of DataTable; notices of ends."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from entities.command import Key
from entities.document import document_of
from entities.lagging import Lagging
from entities.state import CommandRow
from entities.targets import Document, Target
from entities.types import Types
from runtime.backoff import pause
from runtime.notices import Notice
from runtime.streams import Record, images

_TRIES = 5

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Projection:
    """Projects versions. targets: by name."""

    types: Types
    targets: Mapping[str, Target]
    lagging: Lagging

    def follow(self, record: Record, time_left: Callable[[], bool], at: datetime) -> None:
        """Bring every target of a key to the version in the record; a newer target stays.

        A target that fails five times is listed, and does not stop the others.
        time_left: False if another try might be cut off, which would list nothing.
        """
        _, image = images(record)
        if image is None:
            return
        document = document_of(image)
        for name in self.types.of(document.type).targets:
            if not self._written(document, name, time_left):
                self.lagging.mark(Key(document.pk, document.sk), name, at)

    def _written(self, document: Document, name: str, time_left: Callable[[], bool]) -> bool:
        for number in range(1, _TRIES + 1):
            try:
                self.targets[name].write(document)
            except Exception as error:
                fields = {"pk": document.pk, "sk": document.sk, "version": document.version, "target": name}
                _logger.warning("target failed", extra={**fields, "try": number, "error": type(error).__name__})
            else:
                return True
            if not time_left():
                break
            pause(number)
        return False


def notice_of(record: Record) -> Notice | None:
    """Return the notice of a change of CommandsTable; None unless a command has ended.

    The caller of a synchronous command has its response.
    """
    _, after = images(record)
    if after is None or (command := CommandRow(after)).mode != "async":
        return None
    if not (command.has_ended or command.has_failed):
        return None
    attempt = command.newest
    # A message may quote the caller's input.
    error = {"error": command.error["type"]} if command.error else {}
    return Notice(
        type="command",
        tenant_code=command.value("tenant_code"),
        id=str(attempt),
        status=command.status.partition(":")[2],
        occurred_at=command.updated_at,
        attempt=attempt.number,
        data={"type": command.type, "sk": attempt.key.sk, "version": attempt.version, **error},
    )
