"""The explorer of a hot SKU: a few orders of it at once, its shards, and operators, in virtual time."""
