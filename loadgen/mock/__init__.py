"""A server that tells the truth about itself.

Imports nothing of loadgen, so that it can't share our mistakes.
"""
