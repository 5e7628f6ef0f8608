"""`python -m stepwise.local.simulators.connect`: serve on a free port, print it, end with standard input."""

import os

from stepwise.local.simulators.simulators import serve

from .server import ConnectServer
from .settings import from_environment

serve(ConnectServer(from_environment(os.environ)))
