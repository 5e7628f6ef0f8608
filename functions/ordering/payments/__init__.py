"""Payments: ProcessPayment captures what an order costs, ProcessRefund gives it back."""
