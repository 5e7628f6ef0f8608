"""Executions of the state machines: the list of all, and one as a graph with its timeline."""

from stepwise.console.pages import Page

from . import listing, one

PAGES = (
    Page("/runs", "runs.html", listing.view, title="Runs", live=True),
    Page("/runs/{machine}/{name}", "run.html", one.view, live=True),
)
