"""Entities: types and targets, the gate of each key, and the publication of commands."""
