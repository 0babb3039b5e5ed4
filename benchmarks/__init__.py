"""Benchmarks: figures as ratios and counts of one run; each ends with one JSON line."""
