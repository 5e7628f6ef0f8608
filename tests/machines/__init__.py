"""The state machines without functions: every path with mocked tasks, on any engine."""
