"""The expected result of each sample event, and the state that it needs."""
