"""Simulators of Amazon Connect and of a payment gateway."""
