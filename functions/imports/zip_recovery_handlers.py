"""Lambda handlers for ZIPs whose execution was cut off, and for what was lost."""

from contextlib import suppress
from functools import cache, partial

from runtime.clients import client
from runtime.handler import Call, handler, unread
from runtime.machine import Machine

from . import zip_handlers
from .errors import StillRunning
from .executions import Machines
from .request import ImportEnded, parse_ended
from .zip_children import Children
from .zip_recovery import ZipSweep

# Ten reads of children, a few answers, and a write, with retries.
_MILLISECONDS_FOR_A_ZIP = 25_000


class Environment(zip_handlers.Environment):
    import_csv_arn: str
    import_zip_arn: str


@cache
def sweep() -> ZipSweep:
    environment = Environment()
    machines = Machines(partial(client, "stepfunctions"), environment.import_csv_arn, environment.import_zip_arn)
    return ZipSweep(Children(zip_handlers.rows(), machines), zip_handlers.end(), machines)


@handler(parse_ended, ids=("import_id",))
def zip_ended(ended: ImportEnded, call: Call) -> None:
    """Finalize a ZIP whose execution was cut off (event of its end), unless children still run: then the sweep does."""
    own = sweep()
    with suppress(StillRunning):
        if ended.job and not Machine(own.machines.client).was_redriven(ended.execution_arn):
            own.cut_off(ended.job.key, call.at)


@handler(unread)
def sweep_zips(_: None, call: Call) -> dict[str, int]:
    """Finalize the ZIPs and answer the tokens whose events were lost."""
    return sweep().run(call.at, lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_A_ZIP)
