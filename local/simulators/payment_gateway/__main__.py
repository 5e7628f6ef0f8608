"""`python -m local.simulators.payment_gateway`: serves on a free port, which it prints, until standard input ends."""

from local.simulators.simulators import serve

from .server import GatewayServer

serve(GatewayServer())
