"""Payments: ProcessPayment captures an order's total, ProcessRefund refunds it."""
