"""What every function needs: typed environment, Lambda context, AWS clients, tracing."""
