"""Handlers to compare the deployed ones with."""
