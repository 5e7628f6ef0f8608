"""The explorer of webhooks: notices of the queue, sweeps, receivers of every kind, and operators, in virtual time."""
