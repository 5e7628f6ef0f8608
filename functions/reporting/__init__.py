"""Reports: orders and revenue by day, status and currency, kept exact from the stream of the Orders table."""
