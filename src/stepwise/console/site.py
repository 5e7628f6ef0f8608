"""Every page, in the order of the navigation, and every change."""

from . import (
    applications,
    approvals,
    attention,
    import_pages,
    keys,
    leases,
    orders,
    reports,
    runs,
    stock,
    tasks,
)
from .changes import Change
from .pages import Page

PAGES: tuple[Page, ...] = (
    *runs.PAGES,
    *orders.PAGES,
    *attention.PAGES,
    *import_pages.PAGES,
    *keys.PAGES,
    *approvals.PAGES,
    *applications.PAGES,
    *tasks.PAGES,
    *stock.PAGES,
    *leases.PAGES,
    *reports.PAGES,
)
CHANGES: tuple[Change, ...] = (
    *orders.CHANGES,
    *attention.CHANGES,
    *import_pages.CHANGES,
    *keys.CHANGES,
    *approvals.CHANGES,
    *applications.CHANGES,
    *tasks.CHANGES,
    *stock.CHANGES,
    *leases.CHANGES,
)
