"""One module at a time, in this process: no emulator is started."""
