"""A simulator for a card processor: charge, look up and cancel by idempotency key, with faults on request.

`docs/gateway.md` is its protocol. `ledger` is its memory, without HTTP; `faults` wrap it.
"""
