"""`python -m stepwise`: the command line."""

from stepwise.cli.__main__ import main

main()
