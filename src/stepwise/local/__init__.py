"""The local stack: the emulator with its patches, the simulators, and deployment to them."""
