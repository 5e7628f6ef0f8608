"""Unit tests: one module at a time, in this process, without an emulator."""
