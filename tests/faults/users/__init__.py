"""The explorer of the user import: checks that each row's user is created once, and that each row has its outcome."""
