"""Orders whose rows contradict each other: some rows were deleted, edited or restored without the others.

No saga leaves such rows, so no index lists them. An audit compares confirmed orders with the rows of their steps, and
rows of steps that are in effect with their orders. Each sweep audits a part of the tables and notes what it finds.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import batched, chain, islice, takewhile
from typing import Any

from idempotency import StoreUnavailable
from idempotency.dynamodb import answered, put, read_rows
from idempotency.expressions import conditional_put
from idempotency.saga.step import Item, SagaStep
from idempotency.saga.table import UNSETTLED

from .definition import ORDER_SAGA
from .requests import Item as Line
from .requests import Order, PaymentMethod

# The number of rows that one call reads.
_AT_ONCE = 100
_TRIES = 6
_FIRST, *_LATER = ORDER_SAGA.all_steps
# Rows of each table in one sweep: see docs/costs.md.
_PAGE, _PAGES = 500, 4
# One call reads them all, and an operator does not read more.
_MAX_NOTED = 100
_NOTE = f"{ORDER_SAGA.name}#Audit"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A contradiction between an order's rows. table: the logical id of the table whose row is lost or differs."""

    order_id: str
    problem: str
    table: str


@dataclass(frozen=True, slots=True)
class Note:
    """The sweeps' findings, in one row. order_ids: up to 100 orders that contradicted their rows.

    places: by step, the last key read of each table whose end the sweeps have not reached.
    """

    order_ids: frozenset[str] = frozenset()
    places: Mapping[str, str] = field(default_factory=dict)
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Audit:
    """Audits orders.

    client: a `boto3.client("dynamodb")`. tables: physical names by logical id. records: the table with the note.
    """

    client: Any
    tables: Mapping[str, str]
    records: str

    def of_orders(self, order_ids: Iterable[str]) -> Iterator[Contradiction]:
        """Yield confirmed orders among these that lack the effect of a step.

        Raises StoreUnavailable, as all that follows.
        Orders are read first: the effects of a confirmed order existed before, and remain.
        """
        for some in batched(order_ids, _AT_ONCE, strict=False):
            orders = zip(some, self._rows(_FIRST, some), strict=True)
            confirmed = {order_id: row for order_id, row in orders if row and _status(row) == ORDER_SAGA.confirmed}
            for step in _LATER if confirmed else ():
                for (order_id, found), row in zip(confirmed.items(), self._rows(step, list(confirmed)), strict=True):
                    if defect := _defect(step, row, found):
                        yield Contradiction(order_id, f"Confirmed, but {step.name} {defect}", step.table)

    def of_effects(self, step: SagaStep, order_ids: Iterable[str]) -> Iterator[Contradiction]:
        """Yield orders among these that do not account for a step that is in effect.

        The step may have been undone since its row was found, so the row is read again, after the order's.
        """
        for some in batched(order_ids, _AT_ONCE, strict=False):
            orders = zip(some, self._rows(_FIRST, some), strict=True)
            suspected = {order_id: problem for order_id, found in orders if (problem := _unlisted(found))}
            rows = self._rows(step, list(suspected)) if suspected else []
            for (order_id, problem), row in zip(suspected.items(), rows, strict=True):
                if row and _status(row) in step.standing:
                    yield Contradiction(order_id, f"{step.name} is {_status(row)}, {problem}", _FIRST.table)

    def of_all(self) -> Iterator[Contradiction]:
        """Yield all effects of steps that no order accounts for."""
        for step in ORDER_SAGA.deployed[1:]:
            for order_ids, _ in self._pages(step):
                yield from self.of_effects(step, order_ids)

    def noted(self) -> list[Contradiction]:
        """Return the sweeps' findings that still hold."""
        return self._again(self._note())

    def sweep(self, time_left: Callable[[], bool]) -> int:
        """Audit the next rows of each table, and note findings. Returns how many orders contradict their rows.

        time_left: called before each page; False leaves the rest to the next sweep.
        """
        note, places = self._note(), dict[str, str]()
        found = {known.order_id for known in self._again(note)}
        for step in ORDER_SAGA.deployed:
            place = note.places.get(step.name)
            pages = takewhile(lambda _: time_left(), self._pages(step, place))
            for order_ids, last in islice(pages, _PAGES):
                for contradiction in self.of_orders(order_ids) if step is _FIRST else self.of_effects(step, order_ids):
                    if contradiction.order_id not in note.order_ids:
                        _logger.error("the rows of an order contradict each other", extra=asdict(contradiction))
                    found.add(contradiction.order_id)
                place = last
            if place:
                places[step.name] = place
        # The alarm's metric is derived from this line, so log it even if the count is 0.
        _logger.info("audited", extra={"contradictory": len(found)})
        kept = sorted(found, key=lambda order_id: (order_id not in note.order_ids, order_id))[:_MAX_NOTED]
        self._write(note, Note(frozenset(kept), places, note.revision + 1))
        return len(found)

    def _again(self, note: Note) -> list[Contradiction]:
        effects = [self.of_effects(step, note.order_ids) for step in ORDER_SAGA.deployed[1:]]
        return [*chain(self.of_orders(note.order_ids), *effects)]

    def _note(self) -> Note:
        (row,) = read_rows(self.client, [(self.records, {"pk": _NOTE})])
        if row is None:
            return Note()
        places = {name: place["S"] for name, place in row["places"]["M"].items()}
        return Note(frozenset(row.get("order_ids", {}).get("SS", ())), places, int(row["revision"]["N"]))

    def _write(self, before: Note, now: Note) -> None:
        """Write the note.

        If another sweep wrote meanwhile, its note is kept, and a later sweep reads these rows again.
        """
        if (before.order_ids, before.places) == (now.order_ids, now.places):
            return
        row = {"pk": _NOTE, "places": now.places, "revision": now.revision}
        row |= {"order_ids": now.order_ids} if now.order_ids else {}
        unchanged = "#revision = :seen" if before.revision else "attribute_not_exists(#pk)"
        put(self.client, conditional_put(self.records, row, unchanged, {"seen": before.revision}))

    def _pages(self, step: SagaStep, place: str | None = None) -> Iterator[tuple[list[str], str | None]]:
        """Yield pages of ids of orders with the step in effect, or of confirmed orders, each page with its last key.

        place: the last key before the first page. The last page has None.
        """
        wanted = (ORDER_SAGA.confirmed,) if step is _FIRST else step.standing
        statuses = {f":status{index}": {"S": status} for index, status in enumerate(wanted)}
        prefix = {":prefix": {"S": step.prefix}} if step.prefix else {}
        condition = f"#status IN ({', '.join(statuses)})" + (" AND begins_with(#key, :prefix)" if prefix else "")
        scan = partial(
            self.client.scan,
            TableName=self.tables[step.table],
            ProjectionExpression="#key",
            FilterExpression=condition,
            ExpressionAttributeNames={"#key": step.key, "#status": "status"},
            ExpressionAttributeValues={**statuses, **prefix},
            Limit=_PAGE,
        )
        while True:
            start = {"ExclusiveStartKey": {step.key: {"S": place}}} if place else {}
            page = answered(partial(scan, **start))
            place = page["LastEvaluatedKey"][step.key]["S"] if "LastEvaluatedKey" in page else None
            yield [item[step.key]["S"].removeprefix(step.prefix) for item in page["Items"]], place
            if place is None:
                return

    def _rows(self, step: SagaStep, order_ids: Sequence[str]) -> list[Item | None]:
        """Read the rows of a step consistently. DynamoDB omits some while it throttles."""
        wanted = [(self.tables[step.table], step.row_key(order_id)) for order_id in order_ids]
        for tries in range(_TRIES):
            try:
                return read_rows(self.client, wanted)
            except StoreUnavailable:
                if tries == _TRIES - 1:
                    raise
                time.sleep(0.2 * 2**tries)
        raise AssertionError("the last try returns or raises")


def _defect(step: SagaStep, row: Item | None, found: Item) -> str:
    """Describe what is wrong with the row of a step of a confirmed order; empty if nothing is."""
    if row is None:
        # An older order never had the step.
        return "has no row" if found.get("created_at", {}).get("S", "") >= step.joined_at else ""
    if _status(row) not in step.standing:
        return f"is {_status(row) or 'without a status'}"
    try:
        return "" if step.is_of(row, _request(found)) else "has a row that differs from the order"
    except (KeyError, TypeError, ValueError):
        return "cannot be compared: the order's row is damaged"


def _unlisted(found: Item | None) -> str:
    """Say why nothing accounts for a step of this order; empty if its saga, its finalization or `attention` does."""
    if found is None:
        return "but there is no order"
    if _status(found) == ORDER_SAGA.failed and UNSETTLED not in found:
        return "but the order failed, and no recovery knows of it"
    return ""


def _status(row: Item) -> str:
    """Return the status of a row; empty if the attribute is missing, so that one row does not end an audit."""
    return str(row.get("status", {}).get("S", ""))


def _request(found: Item) -> Order:
    """Rebuild the request of an order's row, with another payment method."""
    items = tuple(
        Line(line["M"]["sku"]["S"], int(line["M"]["quantity"]["N"]), int(line["M"]["unit_price"]["N"]))
        for line in found["items"]["L"]
    )
    order_id, customer_id, currency = (found[name]["S"] for name in ("order_id", "customer_id", "currency"))
    return Order(order_id, customer_id, currency, items, PaymentMethod("card", "unknown"))
