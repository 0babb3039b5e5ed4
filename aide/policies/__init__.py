"""Selectors: which node to work on next, with which operator."""
