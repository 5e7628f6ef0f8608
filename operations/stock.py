"""Stock on hand: show and seed it."""

from collections.abc import Mapping

from botocore.exceptions import ClientError

from ordering.inventory.table import stock_key

from .stack import Stack

_PREFIX = stock_key("")


def on_hand(stack: Stack) -> dict[str, int]:
    """Pieces on hand by SKU, in the order of the SKUs."""
    rows = stack.rows("InventoryTable")
    stock = {row["pk"].removeprefix(_PREFIX): int(row["on_hand"]) for row in rows if row["pk"].startswith(_PREFIX)}
    return dict(sorted(stock.items()))


def seed(stack: Stack, pieces: Mapping[str, int]) -> list[str]:
    """Stock each SKU that has no stock yet. Returns the SKUs that had; their stock is unchanged."""
    return [sku for sku, count in pieces.items() if not _insert(stack, sku, count)]


def _insert(stack: Stack, sku: str, count: int) -> bool:
    try:
        stack.dynamodb.put_item(
            TableName=stack.outputs["InventoryTable"],
            Item={"pk": {"S": stock_key(sku)}, "on_hand": {"N": str(count)}},
            ConditionExpression="attribute_not_exists(pk)",
        )
    except ClientError as error:
        if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
            return False
        raise
    return True
