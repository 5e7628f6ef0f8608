"""Cards at the simulator of a card processor: issued once, whatever is lost, and never after a cancel."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from accounts.errors import CardProcessorRefused, CardProcessorUnavailable
from accounts.processor import HttpProcessor
from idempotency import LeaseStore
from runtime.bearer import BearerSession
from runtime.secrets import Secret
from stepwise.local.simulators.card_processor.cards import CARDS
from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.local.simulators.payment_gateway.faults import AnswerLost, FailsBefore, Garbage, Injection, RequestLost
from stepwise.local.simulators.payment_gateway.server import GatewayServer
from tests.kit.accounts import AccountWorld
from tests.unit.dynamodb import Clock, client, new_table

FORWARD = ("RegisterCustomer", "IssueCard", "ActivateCard")


class Text(Secret):
    """A secret in this process."""

    def __init__(self, value: str) -> None:
        self.value = value

    def read(self) -> str:
        return self.value

    def forget(self) -> None:
        """Do nothing: there is no newer version."""


@dataclass
class Desk:
    world: AccountWorld
    processor: HttpProcessor
    simulator: GatewayClient
    clock: Clock
    secret: Text

    def cards(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.simulator.ledger()["cards"]
        return found

    def standing(self) -> int:
        return sum(card["status"] == "issued" for card in self.cards())

    def issue(self) -> str:
        """Retry until it is issued, as the state does; each time, the lease of the previous attempt has expired."""
        for _ in range(4):
            try:
                return self.processor.create("a-1", deadline=self.clock() + timedelta(seconds=15))
            except CardProcessorUnavailable:
                self.clock.sleep(60)
        raise AssertionError("not issued")


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A processor with Ada's submitted application; the simulator accepts the stack's secret."""
    with GatewayServer(CARDS).serving() as server:
        simulator, clock = GatewayClient(server.address, secret="token"), Clock()
        simulator.rotate("token")
        leases = LeaseStore(client(), new_table(client()), clock=clock, sleep=clock.sleep)
        secret, key = Text("token"), Text("stack")
        processor = HttpProcessor(server.address, leases, BearerSession(secret), key)
        world = AccountWorld(client(), processor, now=clock())
        world.submit()
        yield Desk(world, processor, simulator, clock, secret)


def test_setup_issues_one_card_and_its_row_names_it(desk: Desk) -> None:
    desk.world.call(*FORWARD)
    desk.world.call("IssueCard")

    (card,), (row,) = desk.cards(), desk.world.rows("CardsTable")
    assert (card["application_id"], card["status"], card["issued"]) == ("a-1", "issued", 1)
    assert row["processor_id"] == card["id"]


@pytest.mark.parametrize("fault", [AnswerLost(), RequestLost(), FailsBefore(), Garbage("not_json"), Garbage("empty")])
@pytest.mark.parametrize("times", [1, 2])
def test_lost_answer_creates_no_second_card(desk: Desk, fault: Any, times: int) -> None:
    desk.simulator.inject(Injection(fault, times=times))

    issued = desk.issue()

    (card,) = desk.cards()
    assert (card["id"], card["issued"]) == (issued, 1)


def test_wrong_secret_is_our_fault_and_the_card_can_still_be_issued(desk: Desk) -> None:
    desk.secret.value = "wrong"
    with pytest.raises(CardProcessorRefused, match="CardProcessorAlarm"):
        desk.processor.create("a-1", deadline=desk.clock() + timedelta(seconds=15))

    desk.secret.value = "token"
    desk.clock.sleep(60)
    assert desk.issue()
