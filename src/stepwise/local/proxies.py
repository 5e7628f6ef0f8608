"""Keeps requests to the local stack from going through the caller's proxy."""

import os

_STACK = "127.0.0.1"


def without_proxy() -> dict[str, str]:
    """Return the variables of hosts that need no proxy: those of the caller, and the local stack's."""
    hosts = [one for one in (os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").split(",") if one]
    # An asterisk means all hosts only if it is alone.
    told = ",".join(hosts if hosts == ["*"] or _STACK in hosts else [*hosts, _STACK])
    return {"NO_PROXY": told, "no_proxy": told}
