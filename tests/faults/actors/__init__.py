"""Shared parts of the explorers of concurrent actors: turns, virtual time, the wire and the database."""
