"""Reconciliation: a nightly run compares the payments of a day with its orders."""
