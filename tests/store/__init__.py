"""The idempotency layer's contract with DynamoDB, on every engine at hand: its own rules, then any history of calls."""
