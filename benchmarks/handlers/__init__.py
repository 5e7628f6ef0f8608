"""What the deployed handlers are compared with."""
