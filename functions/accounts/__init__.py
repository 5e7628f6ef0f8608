"""Accounts: applications, their checks, and the saga that sets an account up."""
