"""Bulk imports of CSV files and of ZIPs of them."""
