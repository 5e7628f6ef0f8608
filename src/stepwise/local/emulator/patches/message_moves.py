"""`StartMessageMoveTask` and `ListMessageMoveTasks` of SQS, which MiniStack 1.5.33 does not have.

A task has ended when its call returns. A moved message gets a new id, and its receive count restarts at zero.
"""

import time
import uuid
from typing import Any

_MAX_LISTED = 10

_tasks: dict[str, list[dict[str, Any]]] = {}


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import sqs

    sqs._HANDLERS["StartMessageMoveTask"] = _start
    sqs._HANDLERS["ListMessageMoveTasks"] = _list


def _start(request: dict[str, Any], _: str) -> dict[str, Any]:
    from ministack.services import sqs

    arn = request["SourceArn"]
    with sqs._queues_lock:
        queue = _dead_letter_queue(arn)
        moved = [message for message in queue["messages"] if _move(message, request.get("DestinationArn", ""))]
        queue["messages"] = [message for message in queue["messages"] if message not in moved]
    handle = str(uuid.uuid4())
    _tasks.setdefault(arn, []).insert(
        0,
        {
            "Status": "COMPLETED",
            "SourceArn": arn,
            "ApproximateNumberOfMessagesMoved": len(moved),
            "ApproximateNumberOfMessagesToMove": len(moved),
            "StartedTimestamp": int(time.time() * 1000),
        },
    )
    sqs.esm_wake.set()
    return {"TaskHandle": handle}


def _list(request: dict[str, Any], _: str) -> dict[str, Any]:
    most = min(int(request.get("MaxResults", 1)), _MAX_LISTED)
    return {"Results": _tasks.get(request["SourceArn"], [])[:most]}


def _dead_letter_queue(arn: str) -> dict[str, Any]:
    """Return the queue of an ARN, if it is another queue's dead-letter queue."""
    from ministack.services import sqs

    queue = sqs._queue_by_arn(arn)
    if queue is None:
        raise sqs._Err("ResourceNotFoundException", "The resource that you specified for the SourceArn does not exist.")
    if not any(arn in own["attributes"].get("RedrivePolicy", "") for own in sqs._queues.values()):
        raise sqs._Err("InvalidParameterValue", "Source queue must be configured as a Dead Letter Queue.")
    found: dict[str, Any] = queue
    return found


def _move(message: dict[str, Any], destination: str) -> bool:
    """Send a visible message to the destination, or back to its source queue. Returns whether there is one."""
    from ministack.services import sqs

    target = sqs._queue_by_arn(destination or message.get("sys", {}).get("DeadLetterQueueSourceArn", ""))
    now = time.time()
    if target is None or message["visible_at"] > now:
        return False
    sent = {"id": str(uuid.uuid4()), "sent_at": now, "enqueued_at": now, "visible_at": now, "receipt_handle": None}
    system = {name: value for name, value in message["sys"].items() if name != "DeadLetterQueueSourceArn"}
    target["messages"].append({**message, **sent, "receive_count": 0, "first_receive_at": None, "sys": system})
    return True
