"""The one alarm of a task that ended with failures, or died."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.transient import transient_as

from .errors import AlertUnsent
from .state import Item, Task

MAX_MESSAGE = 1024
_SHOWN = 10
_THROTTLED = frozenset(
    {"KMSThrottlingException", "Throttled", "ThrottledException", "Throttling", "ThrottlingException"}
)


@dataclass(frozen=True, slots=True)
class Alerts:
    """client: answers with a `boto3.client("sns")`. topic: the ARN."""

    client: Callable[[], Any]
    topic: str

    def send(self, table: str, task: Task, failed: Sequence[Item]) -> None:
        """Publish the alarm of a task that has ended. It names items and error types, never messages.

        Raises AlertUnsent.
        """
        key = task.key.row
        content = {"error_message": _message(task, failed)[:MAX_MESSAGE], "execution": task.key.execution(task.attempt)}
        document = {
            "action": "sfn-alarm",
            "id": f"{key['pk']}#{key['sk']}",
            "table": table,
            **key,
            "tenant_code": task.key.tenant_code,
            "content": content,
        }
        with transient_as(AlertUnsent, "SNS", _THROTTLED):
            self.client().publish(TopicArn=self.topic, Message=json.dumps(document))


def _message(task: Task, failed: Sequence[Item]) -> str:
    named = ", ".join(f"{item.number:04} {item.error.type if item.error else ''}" for item in failed[:_SHOWN])
    more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
    died = task.values.get("error")
    reason = f"; the task died of {died['type']}" if died else ""
    return f"{task.status}: {len(failed)} of {task.total_items} items failed{reason}: {named}{more}"
