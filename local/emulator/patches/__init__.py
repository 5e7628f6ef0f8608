"""One module for each part of MiniStack that is patched from outside."""
