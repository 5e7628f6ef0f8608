"""The state machines alone: every path with mocked tasks, and every state by itself, on any engine."""
