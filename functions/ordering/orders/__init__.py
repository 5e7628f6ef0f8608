"""Orders: ProcessOrder saves an order, UpdateOrderStatus finalizes one that failed."""
