"""Specs as text: `name:value,key=value`, durations, lists of numbers."""
