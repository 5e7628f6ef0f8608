"""The idempotency layer's contract with DynamoDB, on every available engine: its rules, then random histories."""
