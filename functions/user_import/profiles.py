"""Security and routing profiles: names from the rows, ids from Connect."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from runtime.text import is_blank

from .errors import TooManyProfiles

# The state data of each row carries them, about 170 bytes each.
_MAX_PROFILES = 40


@dataclass(frozen=True, slots=True)
class ProfileNames:
    """Which security profile and which routing profile, by name."""

    security: str
    routing: str


@dataclass(frozen=True, slots=True)
class ProfileIds:
    """Ids of an instance's profiles, by name."""

    security: Mapping[str, str]
    routing: Mapping[str, str]

    def have(self, names: ProfileNames) -> bool:
        return names.security in self.security and names.routing in self.routing


def profile_names(row: Mapping[str, str], defaults: ProfileNames) -> ProfileNames:
    """The profiles that a row names, or the defaults."""
    return ProfileNames(
        _named(row.get("security_profile", "")) or defaults.security,
        _named(row.get("routing_profile", "")) or defaults.routing,
    )


def _named(cell: str) -> str:
    return "" if is_blank(cell) else unicodedata.normalize("NFC", cell.strip())


def listed_names(names: str) -> frozenset[str]:
    """The names in a comma-separated list."""
    return frozenset(map(_named, names.split(","))) - {""}


def used(profiles: ProfileIds, names: frozenset[ProfileNames]) -> ProfileIds:
    """The ids of the named profiles that exist. Raises TooManyProfiles."""
    security = {pair.security for pair in names}
    routing = {pair.routing for pair in names}
    ids = ProfileIds(
        {name: profile for name, profile in profiles.security.items() if name in security},
        {name: profile for name, profile in profiles.routing.items() if name in routing},
    )
    if len(ids.security) + len(ids.routing) > _MAX_PROFILES:
        raise TooManyProfiles(f"the file names more than {_MAX_PROFILES} profiles; split it by profile")
    return ids
