"""The task types of this application: docs/tasks.md adds one."""

from .checksum import CHECKSUM_OBJECT
from .read_models import REBUILD_READ_MODEL
from .types import TaskTypes

TYPES = TaskTypes([CHECKSUM_OBJECT, REBUILD_READ_MODEL])
