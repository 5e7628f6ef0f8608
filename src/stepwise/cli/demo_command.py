"""`stepwise demo`."""

from . import demo as shown


def demo() -> None:
    """Deploy to a temporary local stack, run real orders, show what happened, and stop it."""
    shown.run_demo()
