"""A tree search over machine-learning solutions."""
