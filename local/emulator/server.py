"""The emulator process: MiniStack 1.5.33 with the patches of `local/emulator/patches`, which close its gaps to AWS.

The process also runs the simulators for what MiniStack does not have, and points its functions to them.
"""

import os
import signal
import sys
import threading
from pathlib import Path

from local.simulators import simulators

from .patches import buckets, executions, functions, groups, stream_mapping, tasks

UNTIL_EOF = "--until-eof"

# Each changes what MiniStack has loaded; docs/local-engine.md lists them.
_PATCHES = (functions, executions, tasks, groups, buckets, stream_mapping)


def _end_with_parent() -> None:
    """End when standard input does: the pipe closes however the parent ends, a kill included."""
    sys.stdin.buffer.read()
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _listen(started: simulators.Started) -> None:
    """Put the endpoints of the simulators where the functions, and the commands of this checkout, look for them."""
    endpoints = simulators.listening(started)
    os.environ.update(simulators.variables(endpoints))
    simulators.record(Path.cwd(), endpoints)


def main() -> None:
    # The workers inherit this environment, and must not find the checkout beside what was deployed.
    os.environ.pop("PYTHONPATH", None)
    if UNTIL_EOF in sys.argv[1:]:
        sys.argv.remove(UNTIL_EOF)
        threading.Thread(target=_end_with_parent, daemon=True).start()
    started = simulators.start()
    for patch in _PATCHES:
        patch.apply()
    from ministack.app import main as serve

    _listen(started)
    serve()


if __name__ == "__main__":
    main()
