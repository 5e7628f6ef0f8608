"""A simulator for the receivers of webhooks: verifies, keeps a ledger, and fails, hangs or lies on request.

It speaks HTTPS only, with its own certificate, because webhooks are not sent without TLS. `POST /hooks/<name>` is a
receiver; `/_simulator/` has `secrets`, `faults`, `ledger` and `reset`.
"""
