"""A simulator for a card processor: charge, look up and cancel by idempotency key, with faults on request.

`docs/gateway.md` is its protocol. `ledger` is what it remembers, with no HTTP in it; `faults` wrap it.
"""
