"""Imported by each Python that `sam` runs for the local stack: read YAML with libyaml, which takes a tenth of the time.

sam reads each of the templates four times.
"""

from contextlib import suppress

with suppress(ImportError):
    import yaml

    yaml.SafeLoader = yaml.CSafeLoader  # type: ignore[misc, assignment]
