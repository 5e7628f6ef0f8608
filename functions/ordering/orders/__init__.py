"""Orders: ProcessOrder saves an order, UpdateOrderStatus sets a failed one to Pending."""
