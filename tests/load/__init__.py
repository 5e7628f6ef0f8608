"""Many orders at once, on the deployed stack."""
