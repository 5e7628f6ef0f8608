"""process_order on Powertools: Logger, Tracer, idempotency by order_id, msgspec for the order.

Tuned for a fast start: Tracer patches only botocore, as we do. By default it tries every library that it knows.
"""

from typing import Annotated, Any, Literal

import msgspec
from aws_lambda_powertools import Logger, Tracer
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent

type Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,80}\Z")]
type Sku = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.-]{1,80}\Z")]
type Token = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,255}\Z")]


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sku: Sku
    quantity: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    unit_price: Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class PaymentMethod(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    method: Literal["card"]
    token: Token


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    order_id: Id
    customer_id: Id
    currency: Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}\Z")]
    items: Annotated[tuple[Item, ...], msgspec.Meta(min_length=1, max_length=90)]
    payment: PaymentMethod


logger = Logger(service="orders")
tracer = Tracer(service="orders", patch_modules=["botocore"])
records = DynamoDBPersistenceLayer(table_name="idempotency")
config = IdempotencyConfig(event_key_jmespath="order_id", raise_on_no_idempotency_key=True)


@logger.inject_lambda_context
@tracer.capture_lambda_handler
def process_order(event: dict[str, Any], context: Any) -> dict[str, Any]:
    order = msgspec.convert(event, Order)
    config.register_lambda_context(context)
    tracer.put_annotation("order_id", order.order_id)
    saved: dict[str, Any] = _save(event, context)
    return saved


@idempotent(persistence_store=records, config=config)
def _save(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    return {"order_id": event["order_id"], "status": "New"}
