"""Where the simulator is reached."""

HOST, LOOPBACK = "localhost", "127.0.0.1"
HOOKS, CONTROL = "/hooks/", "/_simulator/"
