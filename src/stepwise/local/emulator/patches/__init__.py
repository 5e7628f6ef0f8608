"""Patches of MiniStack, one module per part; docs/local-stack.md lists them."""
