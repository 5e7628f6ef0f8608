"""The order saga: orders, payments and inventory, and what they share: the order and the shape of a task."""
