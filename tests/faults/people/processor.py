"""The card processor in this process: the simulator without its server."""

from stepwise.local.simulators.card_processor.cards import CARDS, document
from stepwise.local.simulators.payment_gateway.ledger import SUCCEEDED, Charge
from stepwise.local.simulators.payment_gateway.simulator import Simulator

ADDRESS = "http://cards.test"
SECRET = "secret-of-the-stack"
OPERATIONS = {"charge": "CreateCard", "lookup": "LookUpCard", "cancel": "CancelCard"}


class Processor:
    """A simulator, cleared before each run. It never forgets a key."""

    def __init__(self) -> None:
        self.simulator = Simulator(api=CARDS)
        self.simulator.access.rotate(SECRET)

    def made(self, application_id: str) -> list[Charge]:
        """Return every card that an application ever had."""
        cards, _ = self.simulator.ledger.snapshot()
        return [one for one in cards if one.request and one.request.order_id == application_id]

    def active(self, application_id: str) -> list[str]:
        """Return the ids of its cards that are not canceled."""
        return [document(one)["id"] for one in self.made(application_id) if one.status == SUCCEEDED]
