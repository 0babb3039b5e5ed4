"""Tasks: data, goal, metric, and labels that no solution sees."""
