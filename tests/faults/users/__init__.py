"""The explorer of the user import: each row's user is created once, and has its outcome."""
