"""What a search can learn from its own journal, and from those of others, without a model."""
