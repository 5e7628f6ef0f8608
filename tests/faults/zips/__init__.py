"""The explorer of ZIPs: imports whose children are imports."""
