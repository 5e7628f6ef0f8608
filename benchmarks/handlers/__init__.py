"""Handlers for comparison with the deployed ones."""
