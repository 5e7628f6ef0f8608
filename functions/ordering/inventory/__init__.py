"""Inventory: ReserveInventory takes the stock of an order, ReleaseInventory gives it back."""
