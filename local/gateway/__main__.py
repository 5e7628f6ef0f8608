"""`python -m local.gateway`: serves on a free port, which it prints, until standard input ends."""

from local.stand_ins import serve

from .server import GatewayServer

serve(GatewayServer())
