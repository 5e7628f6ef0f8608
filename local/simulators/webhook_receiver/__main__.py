"""`python -m local.simulators.webhook_receiver`: serves on a free port, which it prints, until standard input ends."""

from local.simulators.simulators import serve

from .server import ReceiverServer

serve(ReceiverServer())
