"""Page of all executions, by business key, machine, status and time."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stepwise.console.cache import Recent
from stepwise.console.filters import moment, one_of
from stepwise.console.pages import Visit
from stepwise.operations import business_keys, machines
from stepwise.operations.machines import Listed
from stepwise.operations.runs import FAILED
from stepwise.operations.stack import Stack

STATUSES = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")
NOT_SUCCEEDED = "not succeeded"
_PAGE, _AT_ONCE = 50, 4
_known: Recent[str] = Recent(5000)


def view(visit: Visit) -> Mapping[str, Any]:
    known = machines.machines(visit.stack)
    machine, status = one_of(visit, "machine", known), one_of(visit, "status", [*STATUSES, NOT_SUCCEEDED])
    found = machines.recent(
        visit.stack,
        [machine] if machine else known,
        FAILED if status == NOT_SUCCEEDED else [status] if status else [],
        before=moment(visit, "before"),
        since=moment(visit, "since"),
        parts=business_keys.names(visit.asked("name")),
        last=_PAGE + 1,
    )
    shown = found[:_PAGE]
    return {
        "machines": known,
        "statuses": [*STATUSES, NOT_SUCCEEDED],
        "runs": list(zip(shown, _keys(visit.stack, shown), strict=True)),
        "older": shown[-1].changed.isoformat() if len(found) > _PAGE else "",
    }


def _keys(stack: Stack, runs: Sequence[Listed]) -> list[str]:
    """Return the business keys of executions. Those with other names are described, once."""

    def key(run: Listed) -> str:
        if run.machine not in business_keys.DIGESTED:
            return run.name
        return _known.get((run.machine, run.name, run.started), lambda: _read(stack, run))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(key, runs))


def _read(stack: Stack, run: Listed) -> str:
    found = machines.find(stack, run.machine, run.name)
    return business_keys.of(run.machine, run.name, found.input if found else "")
