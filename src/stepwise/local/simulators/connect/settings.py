"""Times and limits of the simulator."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

PREFIX = "CONNECT_SIMULATOR_"

type Count = Annotated[int, msgspec.Meta(ge=0)]
type Seconds = Annotated[float, msgspec.Meta(ge=0)]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings. The limits are the service's defaults. The times are shorter: on AWS an instance takes about a minute.

    requests_per_second, burst: limits per operation, for all callers together.
    activation_seconds: from CreateInstance to ACTIVE or CREATION_FAILED; profiles_seconds: from there to the profiles.
    deletion_seconds: from DeleteInstance until the instance is gone, and its place in the quota free.
    search_lag_seconds: from CreateUser until SearchUsers finds the user.
    instance_changes: creations and deletions of instances, together, within instance_changes_seconds.
    """

    requests_per_second: Annotated[float, msgspec.Meta(gt=0)] = 2
    burst: Annotated[int, msgspec.Meta(ge=1)] = 5
    activation_seconds: Seconds = 5
    profiles_seconds: Seconds = 2
    deletion_seconds: Seconds = 1
    search_lag_seconds: Seconds = 0
    failed_instance_seconds: Seconds = 24 * 3600
    instances: Count = 2
    users_per_instance: Count = 500
    instance_changes: Count = 100
    instance_changes_seconds: Seconds = 30 * 24 * 3600


def from_environment(variables: Mapping[str, str]) -> Settings:
    """Read settings from variables like CONNECT_SIMULATOR_BURST. Raises msgspec.ValidationError."""
    given = {name.removeprefix(PREFIX).lower(): value for name, value in variables.items() if name.startswith(PREFIX)}
    return msgspec.convert(given, Settings, strict=False)


def changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return the settings with some fields changed. Raises msgspec.ValidationError."""
    return msgspec.convert(msgspec.structs.asdict(settings) | dict(changes), Settings)
