"""A simulator for the receivers of webhooks: verifies, keeps a ledger, and fails, hangs or lies on request.

It speaks HTTPS only, with a certificate of its own, because webhooks are not sent without TLS. `POST /hooks/<name>` is
a receiver; `/_simulator/` has `secrets`, `faults`, `ledger` and `reset`.
"""
