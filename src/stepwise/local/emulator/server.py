"""The emulator process: MiniStack 1.5.33 with the patches in `src/stepwise/local/emulator/patches`.

The process also runs the simulators for what MiniStack does not have, and points its functions to them.
"""

import os
import signal
import sys
import threading
from pathlib import Path

from stepwise.local.simulators import simulators

from .patches import (
    alarms,
    boundaries,
    buckets,
    callbacks,
    deployment_role,
    distributed_map,
    event_chain,
    executions,
    functions,
    groups,
    http_api,
    json_logs,
    limited_requests,
    limits,
    message_moves,
    nested_executions,
    nested_stacks,
    redrives,
    rollbacks,
    states,
    status_events,
    stream_mapping,
    tasks,
    transactions,
    workers,
)

UNTIL_EOF = "--until-eof"

# Each changes loaded modules of MiniStack; docs/local-engine.md lists them.
_PATCHES = (
    *(functions, workers, states, executions, redrives, status_events, tasks, callbacks, groups, distributed_map),
    *(buckets, stream_mapping, http_api, message_moves, nested_executions, nested_stacks),
    *(rollbacks, boundaries, deployment_role, json_logs, event_chain, alarms),
)
_LIMITS = (limits, limited_requests, transactions)


def _end_with_parent() -> None:
    """Exit when standard input ends: the pipe closes when the parent exits, even if it is killed."""
    sys.stdin.buffer.read()
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _listen(started: simulators.Started) -> None:
    """Publish the simulators' endpoints to the functions and to the commands of this checkout."""
    endpoints = simulators.listening(started)
    os.environ.update(simulators.variables(endpoints))
    simulators.record(Path.cwd(), endpoints)


def main() -> None:
    # Workers inherit this environment and must see only deployed code, not the checkout.
    os.environ.pop("PYTHONPATH", None)
    if UNTIL_EOF in sys.argv[1:]:
        sys.argv.remove(UNTIL_EOF)
        threading.Thread(target=_end_with_parent, daemon=True).start()
    started = simulators.start()
    for patch in (*_PATCHES, *(_LIMITS if limits.enabled() else ())):
        patch.apply()
    from ministack.app import main as serve

    _listen(started)
    serve()


if __name__ == "__main__":
    main()
