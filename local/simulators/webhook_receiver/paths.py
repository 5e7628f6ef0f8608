"""Where the simulator is reached."""

HOST = "localhost"
HOOKS, CONTROL = "/hooks/", "/_simulator/"
