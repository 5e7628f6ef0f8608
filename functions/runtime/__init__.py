"""Code shared by all functions: typed environment, Lambda context, AWS clients, tracing."""
