"""Shared parts of every function: typed environment, Lambda context, AWS clients, tracing."""
