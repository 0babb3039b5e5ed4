"""Models: what writes the solutions."""
