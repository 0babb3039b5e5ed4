"""Operators: what turns nodes into a new solution."""
