"""`python -m stepwise.local.simulators.card_processor`: serve on a free port, print it, end with standard input."""

from stepwise.local.simulators.payment_gateway.server import GatewayServer
from stepwise.local.simulators.simulators import serve

from .cards import CARDS

serve(GatewayServer(CARDS))
