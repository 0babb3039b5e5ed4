"""One suite per interface, run over every implementation."""
