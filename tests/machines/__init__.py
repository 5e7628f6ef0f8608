"""The state machines alone: every path with mocked tasks, on any engine."""
