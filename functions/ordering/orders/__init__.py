"""Orders: ProcessOrder saves an order, UpdateOrderStatus settles one that failed."""
