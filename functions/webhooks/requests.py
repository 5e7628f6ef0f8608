"""The input of the functions of webhooks."""

from typing import Annotated

from msgspec import Meta, Struct

from entities.command import TenantCode
from runtime.queues import message_parser
from runtime.validation import parser

from .errors import InvalidWebhook
from .event import Notice
from .state import WebhookKey

type WebhookId = Annotated[str, Meta(pattern=r"^wh_[0-9a-f]{24}\Z")]
type EventId = Annotated[str, Meta(pattern=r"^evt_[0-9a-f]{40}\Z")]


class SendRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """tenant_code: without it, the operator's. event_id: of the delivery to send again; without it, a test is sent."""

    webhook_id: WebhookId
    tenant_code: TenantCode | None = None
    event_id: EventId | None = None

    @property
    def key(self) -> WebhookKey:
        return WebhookKey(self.tenant_code, self.webhook_id)


class SubscribeRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """reveal: only the secret of the subscription that there is."""

    tenant_code: TenantCode
    url: str
    events: list[str]
    reveal: bool = False


class RemoveRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    tenant_code: TenantCode
    webhook_id: WebhookId


parse_notice = message_parser(Notice)
parse_send = parser(SendRequest, InvalidWebhook, "the request")
parse_subscribe = parser(SubscribeRequest, InvalidWebhook, "the request")
parse_remove = parser(RemoveRequest, InvalidWebhook, "the request")
