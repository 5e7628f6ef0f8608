"""The explorer of approvals and account opening: people decide, branches run side by side, and all faults hit."""
