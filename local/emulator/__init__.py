"""The emulator: its process, and the patches that close its gaps to AWS."""
