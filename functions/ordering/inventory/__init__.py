"""Inventory: ReserveInventory takes an order's stock, ReleaseInventory returns it."""
