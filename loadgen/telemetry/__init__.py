"""What a machine tells of itself while a run goes on, sampled off the hot path.

Knows nothing of requests. What a platform does not tell is None, never 0.
"""
