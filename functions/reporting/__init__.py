"""Reports: orders and revenue by day, status and currency, counted exactly from the stream of the Orders table."""
