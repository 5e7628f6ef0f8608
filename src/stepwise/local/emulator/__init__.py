"""The emulator: its process, and the patches that correct its differences from AWS."""
