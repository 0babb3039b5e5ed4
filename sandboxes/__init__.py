"""Sandboxes: where a solution runs."""
