"""What the services of the order saga share: the order as it comes in, and the shape of a task."""
