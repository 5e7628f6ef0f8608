"""`python -m local.simulators.connect`: serves on a free port, which it prints, until standard input ends."""

import os

from local.simulators.simulators import serve

from .server import ConnectServer
from .settings import from_environment

serve(ConnectServer(from_environment(os.environ)))
