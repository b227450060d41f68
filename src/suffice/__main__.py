"""`python -m suffice`: the command line."""

from suffice.cli import program

program()
