"""The laptop: the emulator with its fixes, deployment to it, and the command line (the same for AWS)."""
