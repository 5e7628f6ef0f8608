"""Starts an import for a message."""

from runtime.stores import message_work

from .errors import InvalidImport
from .executions import Machines
from .keys import ImportKey
from .state import Status
from .table import ImportsTable

START_IMPORT = message_work("StartImport")


def start(table: ImportsTable, machines: Machines, key: ImportKey) -> str:
    """Start the machine of an import that is CREATED. A DIRECT one has none: the call that creates it runs it.

    Returns the status that was found. Raises InvalidImport, ExecutionsUnavailable.
    """
    made = table.find(key)
    if made is None:
        raise InvalidImport("import_id: no such import of this tenant")
    if made.status is Status.CREATED and not made.direct:
        machines.start(made)
    return str(made.status)
