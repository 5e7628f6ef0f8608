"""`python -m local.simulators.card_processor`: serves on a free port, which it prints, until standard input ends."""

from local.simulators.payment_gateway.server import GatewayServer
from local.simulators.simulators import serve

from .cards import CARDS

serve(GatewayServer(CARDS))
