"""A status change, and the event that subscribers get of it."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct

from entities.command import TenantCode
from idempotency.payloads import json_text


class EventType(StrEnum):
    """The types that subscribers choose from."""

    COMMAND = "command"
    TASK = "task"
    IMPORT = "import"
    ORDER = "order"
    APPROVAL = "approval"


FOR_TENANTS = frozenset({EventType.COMMAND, EventType.TASK, EventType.IMPORT})
"""The others are about the whole stack, so only its operator subscribes to them."""
TEST = "webhook.test"

# A command's is its key with its version.
type Text = Annotated[str, Meta(min_length=1, max_length=1024)]


class Notice(Struct, frozen=True, kw_only=True):
    """A status change as its context publishes it. tenant_code: None for what belongs to the stack."""

    type: EventType
    tenant_code: TenantCode | None
    id: Text
    attempt: Annotated[int, Meta(ge=0)]
    status: Annotated[str, Meta(pattern=r"^[A-Za-z_]{1,64}\Z")]
    occurred_at: Annotated[datetime, Meta(tz=True)]
    data: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Event:
    """A message. id: the same for each notice of one status change. body: JSON, the same in each try."""

    id: str
    type: str
    body: str


def event_of(notice: Notice) -> Event:
    """The event of a status change."""
    key = [notice.type, notice.tenant_code, notice.id, notice.status, notice.attempt]
    name = f"{notice.type}.{notice.status.lower()}"
    common = {name: getattr(notice, name) for name in ("id", "tenant_code", "status", "attempt")}
    return Event(f"evt_{_digest(key)}", name, _body(name, notice.occurred_at, {**notice.data, **common}))


def try_out(call_id: str, at: datetime) -> Event:
    """An event without meaning, to test a receiver. call_id: of the function's call."""
    return Event(f"test_{_digest([call_id])}", TEST, _body(TEST, at, {}))


def _digest(key: list[Any]) -> str:
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:40]


def _body(name: str, at: datetime, data: dict[str, Any]) -> str:
    return json_text({"type": name, "timestamp": at.isoformat(), "data": data}, ensure_ascii=False)
