"""`python -m stepwise.local.simulators.webhook_receiver`: serve on a free port, print it, end with standard input."""

from stepwise.local.simulators.simulators import serve

from .server import ReceiverServer

serve(ReceiverServer())
