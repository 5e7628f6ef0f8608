"""What every function needs of its surroundings: typed environment, Lambda's context, AWS clients, tracing."""
