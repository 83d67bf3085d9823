"""A recording to a summary: pure numpy and scipy, no I/O."""
