"""Quantiles, intervals, trends and fits over plain numbers: knows nothing of requests."""
