"""Servers for what no emulator has: Amazon Connect and a payment gateway."""
