"""`python -m aide`."""

from aide.cli import main

main()
