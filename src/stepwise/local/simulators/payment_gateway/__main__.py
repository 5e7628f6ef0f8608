"""`python -m stepwise.local.simulators.payment_gateway`: serve on a free port, print it, end with standard input."""

from stepwise.local.simulators.simulators import serve

from .server import GatewayServer

serve(GatewayServer())
