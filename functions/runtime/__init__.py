"""What every function needs of its surroundings: typed environment, AWS clients, tracing."""
