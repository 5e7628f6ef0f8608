"""Webhooks: status changes of commands, tasks, imports, orders and approvals, sent to subscribers at HTTPS addresses.

A delivery is a row. It is sent under a lease, retried for a day under the same id, and then listed as failed.
"""
